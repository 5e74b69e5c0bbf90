"""What a reader of the entity table sees: types from context, and no noise, in both languages."""

from __future__ import annotations

import polars as pl
import pytest

from graphkb.extract import han, kinds, latin
from graphkb.extract.cues import type_in_context
from graphkb.extract.offline import extract_units
from graphkb.extract.resolve import resolve_entities
from graphkb.extract.terms import mine_terms
from graphkb.settings import Extract
from tests.extract.conftest import units

ONE = Extract(workers=1)


def _types(*rows: tuple[str, str]) -> dict[str, str]:
    """Title to type of the entities of (context, text) rows."""
    corpus = units(*rows)
    made = extract_units(corpus, mine_terms(corpus, ONE), ONE)
    entities = resolve_entities(made.mentions, made.relationships, made.claims, corpus).entities
    return dict(entities.select("title", "type").iter_rows())


def _latin(text: str) -> list[str]:
    return [text[a:b] for a, b in latin.name_spans(text)]


def _han(text: str, around: str = "") -> dict[str, str]:
    return {text[a:b]: flag for a, b, flag in han.name_spans(text, around)}


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("Nora Quist, head of sales, left.", "Nora Quist", "PERSON"),
        ("It was led by Nora Quist.", "Nora Quist", "PERSON"),
        ("**Nora Quist** is a release engineer.", "Nora Quist", "PERSON"),
        ("He was born in Haugby and left.", "Haugby", "GEO"),
        ("the office in Haugby opened", "Haugby", "GEO"),
        ("She joined Bluestone in 2014.", "Bluestone", "ORGANIZATION"),
        ("Bluestone, an investment company, paid.", "Bluestone", "ORGANIZATION"),
        ("the Petrel platform stops it", "Petrel", "PRODUCT"),
        ("They spoke of Haugby at length", "Haugby", None),
        ("总部位于海川的公司", "海川", "GEO"),
    ],
)
def test_words_around_a_name_give_its_type(text: str, name: str, kind: str | None) -> None:
    start = text.index(name)
    assert type_in_context(text, start, start + len(name)) == kind


def test_one_telling_place_types_a_name_everywhere() -> None:
    types = _types(
        ("", "We met Nora Quist there."),
        ("", "Nora Quist was born in Haugby."),
        ("", "They saw Haugby and Nora Quist."),
    )
    assert types["Nora Quist"] == "PERSON"
    assert types["Haugby"] == "GEO"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Greyfell Capital", "ORGANIZATION"),
        ("Field Team", "ORGANIZATION"),
        ("Skarn Narrows", "GEO"),
        ("Company", "TERM"),
        ("Turbine of Greyfell Energy", "TERM"),
        ("Launch: First Power from Skarn Narrows", "TERM"),
        ("海川资本", "ORGANIZATION"),
        ("上市", "TERM"),
        ("套餐与公司", "TERM"),
    ],
)
def test_suffixes_speak_for_the_head_of_a_name(name: str, kind: str) -> None:
    assert kinds.guess_type(name) == kind


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("In 2017 Nora Quist left.", ["Nora Quist"]),
        ("On 31 January 2026 Bluestone Ltd had it.", ["Bluestone Ltd"]),
        ("The 1920 Summer Olympics began.", ["1920 Summer Olympics"]),
        ("by Christmas 2026 it ends", []),
        ("it cost GBP 1.3 million and USD 24", []),
        ("it made 40 MWh", []),
        ("ANY OTHER BUSINESS", []),
        ("Ask Marine Planning first.", ["Marine Planning"]),
        ("| E-4110 | Reduce the load | Petrel |", ["E-4110", "Petrel"]),
    ],
)
def test_dates_amounts_headings_and_instructions_are_no_names(text: str, names: list[str]) -> None:
    assert _latin(text) == names


def test_codes_have_no_pieces_and_paths_are_no_names() -> None:
    text = "see INC-2025-014 and KTE-PC-031"
    assert [text[a:b] for a, b in latin.code_spans(text)] == ["INC-2025-014", "KTE-PC-031"]
    assert latin.quoted_spans('the credit "ABC / Port Haugby"') == []
    assert "设置—成员" not in _han("打开“设置—成员”查看")
    assert "导出记录" in _han("打开“导出记录”查看")


def test_table_headers_and_ordinary_words_are_no_entities() -> None:
    types = _types(
        ("Prices (list)", "| Plan | Haugby |\n|---|---|\n| Bluestone | 3 |\n\nIn Haugby it is so."),
        ("", "| Part | Pilot |\n|---|---|\n| a | b |"),
        (
            "",
            "It was late. See Restart now, and Petrel. You restart it and restart Petrel.",
        ),
    )
    assert {"Bluestone", "Haugby", "Petrel"} <= set(types)
    assert not {"Plan", "Part", "Pilot", "Restart"} & set(types)


def test_an_ordinary_word_that_a_document_is_named_after_stays() -> None:
    types = _types(("Casino", "A Casino is a casino, one casino among casinos."))
    assert "Casino" in types


@pytest.mark.parametrize(
    ("text", "organisation", "not_names"),
    [
        ("经两人复核后由澜湾银行发放", "澜湾银行", ["由澜湾银行", "由澜湾"]),
        ("本轮由栖岩资本领投", "栖岩资本", ["由栖岩资本", "由栖岩"]),
        ("老股东北汀创投跟投。", "北汀创投", ["老股东北汀创投", "股东北汀创投"]),
        ("许嘉木时任青石谷银行接口组负责人", "青石谷银行接口组", ["许嘉木时任青石谷银行"]),
        ("青石谷软件发布", "青石谷软件", ["谷软件"]),
        ("**移动端组**在苏州", "移动端组", []),
    ],
)
def test_chinese_organisations_begin_where_their_names_do(
    text: str, organisation: str, not_names: list[str]
) -> None:
    found = _han(text)
    flag = found[organisation]
    assert (flag if flag.isupper() else kinds.guess_type(organisation, flag)) == "ORGANIZATION"
    assert not set(not_names) & set(found)


def test_chinese_persons_are_whole() -> None:
    assert "郑望舒" in _han("合伙人郑望舒加入董事会")
    assert "许嘉木为" not in _han("任命许嘉木为开放平台部经理")
    assert "许嘉木" in _han("任命许嘉木为开放平台部经理")
    both = "叶清和与沈若衡出席。叶清和说，可以。"
    assert "叶清和" in _han("叶清和与沈若衡出席。", both)
    assert "叶清和" not in _han("叶清和李明出席。", "叶清和李明出席。叶清说，可以。")


def test_pieces_of_a_persons_name_join_it_unless_they_stand_alone() -> None:
    def persons(*texts: str) -> set[str]:
        rows = [(f"u{i}", 0, 2, t[:2], t[:2], "PERSON", None) for i, t in enumerate(texts)]
        rows.append(("u0", 0, 3, "林知夏", "林知夏", "PERSON", None))
        corpus = units(*[("", text) for text in texts])
        empty = extract_units(corpus.head(0), pl.DataFrame({"term": []}), ONE)
        frame = pl.DataFrame(rows, schema=empty.mentions.schema, orient="row")
        made = resolve_entities(frame, empty.relationships, empty.claims, corpus)
        return set(made.entities["title"])

    assert persons("林知夏来了") == {"林知夏"}
    assert persons("林知夏来了", "林知来了") == {"林知", "林知夏"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("修复了部分安卓机型的问题", "安卓"),
        ("授权令牌的有效期为90天", "令牌"),
        ("提示上传完毕后关闭", "上传完毕"),
        ("连接全部中断", "中断"),
        ("公司没有公布上市计划", "上市"),
        ("按维度查看操作日志", "维度"),
    ],
)
def test_ordinary_chinese_words_are_no_persons_or_places(text: str, word: str) -> None:
    assert word not in _han(text)


def test_places_that_begin_with_a_surname_are_places() -> None:
    assert _han("产业园在曹县和张家港")["曹县"] == "ns"
    assert _han("产业园在曹县和张家港")["张家港"] == "ns"


@pytest.mark.parametrize(
    ("title", "text", "kind"),
    [
        ("Harbour Price List 2026", "All prices are net.", "DOCUMENT"),
        ("Leadership of Greyfell Energy", "These pages introduce people.", "DOCUMENT"),
        ("数据导出指南", "第一步，登录。", "DOCUMENT"),
        ("海川完成B轮融资，继续招人", "今天宣布。", "DOCUMENT"),
        ("Nora Quist", "Eleonora F. Quist (born 1970) is an American singer.", "PERSON"),
        ("Gila monster", "The Gila monster is venomous.", "TERM"),
    ],
)
def test_titles_that_name_only_their_document_are_documents(
    title: str, text: str, kind: str
) -> None:
    assert _types((title, text))[title] == kind
