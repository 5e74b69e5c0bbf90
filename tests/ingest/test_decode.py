from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text, decode_bytes

ENC = Path(__file__).parents[1] / "data" / "cases" / "enc"

SAMPLES = {
    "gbk": ["陈明", "北京大学", "name,备注\n1,水表\n2,阀门", "价格：１２元", "第一章 总则"],
    "gb18030": ["𠮷田与㐂屋签约。青石公司成立于2009年。"],
    "big5": [
        "陳明",
        "你好，世界",
        "青石公司的總部設在臨江市",
        "臺北市政府",
        "設備名稱,數量\n水錶,3",
    ],
    "cp932": ["こんにちは世界", "テスト", "株式会社青石", "日本語"],
    "euc_jp": ["東京都の人口は多い。", "エラーが発生しました"],
    "cp949": ["안녕하세요", "대한민국의 수도는 서울이다."],
    "cp1252": ["café", "Müller’s naïve résumé – “quoted” text", "Größe: 5 µm", "50 °C"],
    "cp1251": ["Москва является столицей России и крупнейшим городом страны."],
    "iso2022_jp": ["東京都の人口"],
    "utf-16-le": ["hello world, this is text", "陈明是工程师，他在公司工作"],
    "utf-16": ["陈明 reads."],
    "utf-32": ["陈明 reads."],
    "utf-8-sig": ["青石公司"],
}


@pytest.mark.parametrize(
    ("encoding", "text"), [(name, text) for name, texts in SAMPLES.items() for text in texts]
)
def test_encoding_is_found_from_the_content(encoding, text):
    decoded = decode_bytes(text.encode(encoding))
    assert decoded.text == text
    assert (decoded.note is None) == (decoded.encoding == "utf-8")


@pytest.mark.parametrize("name", ["gbk.txt", "gb18030_rare.txt", "utf8_bom.txt", "big5.txt"])
def test_case_a01_a03_text_equals_the_original(name):
    decoded = decode_bytes((ENC / name).read_bytes())
    assert "青石公司" in decoded.text
    assert "陈明" in decoded.text or "陳明" in decoded.text
    assert "\ufffd" not in decoded.text
    assert not decoded.text.startswith("\ufeff")
    assert name == "utf8_bom.txt" or "set input.encoding" in (decoded.note or "")


def test_the_setting_decides_for_what_is_not_utf8():
    assert decode_bytes("陳明是首席".encode("big5"), "big5").text == "陳明是首席"
    assert decode_bytes("陈明".encode(), "big5").text == "陈明"
    with pytest.raises(InputError, match=r"input\.encoding"):
        decode_bytes(b"\xff\xff\xff", "big5")
    with pytest.raises(InputError, match="'no-such'"):
        decode_bytes(b"\xff\xff\xff", "no-such")


def test_case_a07_controls_become_spaces_with_a_note():
    decoded = decode_bytes((ENC / "nul_bytes.txt").read_bytes())
    assert "Ada Lin  leads" in decoded.text
    assert decoded.note == "4 control characters replaced by spaces"


def test_damaged_utf8_keeps_its_text_and_says_so():
    decoded = decode_bytes(("陈明在临江市。" * 50).encode() + b"\xff end")
    assert decoded.text.endswith("。  end")
    assert "1 bytes are not UTF-8 (first in line 1)" in (decoded.note or "")
    assert decode_bytes("陈明在临江市".encode()[:-1]).text == "陈明在临江 "


@given(st.binary(max_size=400))
def test_any_bytes_give_clean_text_or_an_input_error(data):
    try:
        text = decode_bytes(data).text
    except InputError:
        return
    assert clean_text(text) == (text, 0)
    text.encode("utf-8")


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])))
def test_utf8_is_never_taken_for_anything_else(text):
    text = text.lstrip("\ufeff").replace("\ufffe", "").replace("\uffff", "")
    assert decode_bytes(text.encode()).text == text
