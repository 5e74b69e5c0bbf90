"""Where names stand in a sentence, in both languages."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkb.extract import han, latin, locate


def _latin(text: str) -> list[str]:
    return [text[a:b] for a, b in latin.name_spans(text)]


def _han(text: str) -> dict[str, str]:
    return {text[a:b]: flag for a, b, flag in han.name_spans(text)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "directed by Frank Tuttle for Paramount Pictures.",
            ["Frank Tuttle", "Paramount Pictures"],
        ),
        ("the city of Paris, France", ["Paris", "France"]),
        ("In May 1999 he met J. R. Smith.", ["J. R. Smith"]),
        ("It saw Lothair II's mother", ["Lothair II"]),
        ("Tom and Jerry ran", ["Tom", "Tom and Jerry", "Jerry"]),
        ("Produced by Noah, it failed.", ["Noah"]),
        ("Noah's ark", ["Noah"]),
        ("她在 Google DeepMind 工作", ["Google DeepMind"]),
        ("nothing here to see", []),
        ("", []),
    ],
)
def test_capitalised_names_are_found_and_sentence_openers_are_not(
    text: str, names: list[str]
) -> None:
    assert _latin(text) == names


def test_codes_are_kept_whole_and_are_not_cut_from_longer_words() -> None:
    text = "错误 E1043：设置 NO_PROXY，5G 和 C++；ABCE1043x_y"
    found = [text[a:b] for a, b in latin.code_spans(text)]
    assert found[:4] == ["E1043", "NO_PROXY", "5G", "C++"]
    assert "E1043x" not in found


def test_quoted_titles_are_spans_and_quoted_speech_is_not() -> None:
    text = 'He wrote "What Is God?" and said "we will go home".'
    assert [text[a:b] for a, b in latin.quoted_spans(text)] == ["What Is God"]


def test_chinese_names_come_from_tags_marks_and_suffixes() -> None:
    found = _han("陈明在清华大学读《三国演义》，后加入中国联合网络通信集团有限公司。")
    assert found["陈明"] == "nr"
    assert found["三国演义"] == "WORK"
    assert "清华大学" in found
    assert "中国联合网络通信集团有限公司" in found


def test_traditional_text_is_tagged_at_its_own_offsets() -> None:
    text = "魯迅在臺灣大學演講"
    assert "臺灣大學" in _han(text)


def test_words_that_only_look_like_surnames_are_no_persons() -> None:
    assert "智慧" not in _han("智慧城市的智能化建设")


_FOLDED_ODDLY = "aA .&;'’\"1２²．…ßé\0\1-_/汉，\n\tİ½"


@given(st.text(st.sampled_from(_FOLDED_ODDLY) | st.characters(codec="utf-8"), max_size=20))
@settings(max_examples=300, deadline=None)
def test_folding_at_once_is_folding_character_by_character(text: str) -> None:
    at_once, each = locate._fold_places(text), locate.fold_each(text)

    def placed(folded: tuple[str, list[int], list[int]]) -> list[tuple[str, int, int]]:
        return [place for place in zip(*folded, strict=True) if place[0] != " "]

    assert at_once[0] == each[0] == locate._folded(text)
    assert placed(at_once) == placed(each)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Q2 2024 Lantern L1 South", ["Lantern L1 South"]),
        ("2024 Q3 Torch Report 与 Q1 2023 Lantern L2 对比", ["Torch Report", "Lantern L2"]),
        ("We saw the Lantern Review 5 March 2024 there.", ["Lantern Review"]),
        ("We saw the Torch Plan FY2024 and met Bo Chen Since May 2019.", ["Torch Plan", "Bo Chen"]),
        ("They went to the World Cup 2022 and to Tokyo 2020.", ["World Cup 2022", "Tokyo 2020"]),
        ("The 2024 Summer Olympics were in Paris.", ["2024 Summer Olympics", "Paris"]),
        ("It was the Winter Storm of January 2000.",
         ["Winter Storm", "Winter Storm of January 2000"]),
        ("She drove an Audi Q3 and met Theresa May.", ["Audi Q3", "Theresa May"]),
    ],
)  # fmt: skip
def test_months_and_quarters_at_the_ends_of_names_are_none_of_them(text, names):
    assert [text[start:end] for start, end in latin.name_spans(text)] == names
