"""Folding and name keys: spellings that mean the same compare equal, 汉字 never get lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.text.names import fold, name_key, simplify


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("武漢大學", "武汉大学"),
        ("ＢＬＵＥＳＴＯＮＥ", "Bluestone"),
        ("《三国演义》", "三国演义"),
        ("U.S. Navy", "US navy"),
        ("The Beatles", "Beatles"),
        ("E-4107", "E 4107"),
        ("Jean-Luc", "Jean Luc"),
        ("O’Brien", "O'Brien"),
        ("阿里 云", "阿里云"),
        ("Café Müller", "Cafe Muller"),
    ],
)
def test_spellings_of_one_name_have_one_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("C", "C++"), ("C++", "C#"), ("v2.0", "v20"), ("陈明", "陈民"),
        ("New York", "Newyork"), ("武汉大学", "大学"),
    ],
)  # fmt: skip
def test_different_names_keep_different_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@given(st.text(min_size=1).filter(lambda s: s.strip()))
def test_a_name_never_becomes_empty(name: str) -> None:
    assert fold(name).strip() == "" or name_key(name)


@given(st.text(alphabet=st.characters(min_codepoint=0x4E00, max_codepoint=0x9FA5), min_size=1))
def test_chinese_characters_are_never_dropped(name: str) -> None:
    assert len(name_key(name)) == len(simplify(name)) > 0


def test_japanese_marks_survive_folding() -> None:
    assert fold("ガ") == "ガ"
    assert fold("が") != fold("か")


def test_half_a_character_stays_and_what_stands_around_it_is_folded() -> None:
    assert fold("臺\udcff灣 Café") == "台\udcff湾 cafe"
    assert simplify("\ud83d") == "\ud83d"
    assert name_key("《臺灣\udcff》") == "台湾\udcff"
