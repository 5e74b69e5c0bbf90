"""Blocking: which pairs of names are worth judging."""

from __future__ import annotations

import random
import time

import pytest
from rapidfuzz import fuzz

from graphkb.extract.candidates import SIMILARITY, KnownName, Pair, find_candidates
from graphkb.text.names import name_key


def pairs(
    *rows: tuple[str, str],
    aliases: dict[str, set[str]] | None = None,
    documents: dict[str, set[str]] | None = None,
) -> list[Pair]:
    """Candidates among (name, type) rows; ``documents`` by key."""
    names = {name_key(name): KnownName(name_key(name), kind, name) for name, kind in rows}
    spelled = [(name, name_key(name)) for name, _ in rows]
    return find_candidates(names, spelled, aliases or {}, lambda keys: documents or {})


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("Ada Lin", "A. Lin", "PERSON"),
        ("John F. Kennedy", "John Kennedy", "PERSON"),
        ("IBM", "International Business Machines", "ORGANIZATION"),
        ("I.B.M.", "International Business Machines", "ORGANIZATION"),
        ("UNESCO", "United Nations Educational Scientific and Cultural Organization", "TERM"),
        ("Lin Ada", "Ada Lin", "PERSON"),
        ("Kestrel Observatory", "Kestrel Observatry", "ORGANIZATION"),
        ("Bluestone Energy", "Bluestone", "ORGANIZATION"),
        ("中移动", "中国移动", "ORGANIZATION"),
        ("工行", "中国工商银行", "ORGANIZATION"),
        ("北大", "北京大学", "ORGANIZATION"),
        ("湖北", "湖北省", "GEO"),
        ("北风机器人", "北风机器人公司", "ORGANIZATION"),
        ("熵流发动引擎", "熵流发动机引擎", "TERM"),
        ("資訊工業策進會", "信息工业策进会", "ORGANIZATION"),
    ],
)
def test_spellings_that_may_be_one_entity_are_a_pair(one: str, other: str, kind: str) -> None:
    expected = tuple(sorted([name_key(one), name_key(other)]))
    assert pairs((one, kind), (other, kind), ("Zeta Corp", "ORGANIZATION")) == [expected]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("Ada Lin", "PERSON"), ("Bo Lin", "PERSON")),
        (("Frederick II", "PERSON"), ("Frederick III", "PERSON")),
        (("CT-2023-118", "CODE"), ("CT-2023-119", "CODE")),
        (("Annual Report 2021", "TERM"), ("Annual Report 2022", "TERM")),
        (("Lincoln", "PERSON"), ("Lincoln", "GEO")),
        (("Lincolm", "PERSON"), ("Lincoln", "GEO")),
        (("陈明", "PERSON"), ("陈鸣", "PERSON")),
        (("第六届董事会第十六次会议", "EVENT"), ("第六届董事会第十七次会议", "EVENT")),
        (("Ada", "TERM"), ("Ada Lin", "PERSON")),
    ],
)
def test_names_that_differ_are_no_pair(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert pairs(one, other) == []


def test_a_short_name_that_fits_many_is_paired_within_a_document_only() -> None:
    longs = [(f"{first} Lin", "PERSON") for first in ("Ada", "Bo", "Cora", "Dan", "Eve")]
    assert pairs(("Lin", "PERSON"), *longs) == []
    documents = {"lin": {"d1"}, "ada lin": {"d1"}, "bo lin": {"d2"}}
    assert pairs(("Lin", "PERSON"), *longs, documents=documents) == [("ada lin", "lin")]


def test_two_letters_are_an_acronym_within_a_document_only() -> None:
    names = [("AI", "TERM"), ("Artificial Intelligence", "TERM")]
    assert pairs(*names) == []
    both = {"ai": {"d1"}, "artificial intelligence": {"d1", "d2"}}
    assert pairs(*names, documents=both) == [("ai", "artificial intelligence")]


def test_names_that_share_a_second_name_are_pairs() -> None:
    names = [("ESA", "TERM"), ("European Space Agency", "ORGANIZATION"), ("航天局", "TERM")]
    found = pairs(*names, aliases={"esa": {"european space agency", "航天局"}})
    assert found == [
        ("esa", "european space agency"), ("esa", "航天局"), ("european space agency", "航天局"),
    ]  # fmt: skip


def test_every_pair_one_edit_apart_is_found() -> None:
    chosen = random.Random(5)
    keys = {"".join(chosen.choices("ab机器", k=chosen.randint(4, 8))) for _ in range(200)}
    keys |= {"".join(chosen.choices("abcd", k=chosen.randint(7, 9))) for _ in range(200)}

    def cut(key: str) -> set[str]:
        return {key, *(key[:i] + key[i + 1 :] for i in range(1, len(key)))}

    long = [key for key in sorted(keys) if len(key) >= (5 if key.isascii() else 4)]
    expected = {
        (one, other)
        for place, one in enumerate(long)
        for other in long[place + 1 :]
        if cut(one) & cut(other) and fuzz.ratio(one, other) >= SIMILARITY
    }
    assert len(expected) > 5
    assert expected <= set(pairs(*((key, "ORGANIZATION") for key in keys)))


def test_the_work_grows_with_the_names_and_not_with_their_pairs() -> None:
    chosen = random.Random(7)
    syllables = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    words = ["".join(chosen.choices(syllables, k=chosen.randint(2, 4))) for _ in range(8_000)]
    names = {" ".join(chosen.choices(words, k=2)) for _ in range(20_000)}
    started = time.perf_counter()
    pairs(*((name, "PERSON") for name in names))
    assert time.perf_counter() - started < 8  # all pairs would take minutes
