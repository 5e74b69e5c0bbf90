"""What is worth quoting, and which sentences are chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from graphkb.report.findings import label
from graphkb.report.sentences import (
    pick_sentences,
    quotable,
    read_sentences,
    same_words,
    shingles,
)
from graphkb.report.wording import sources, wording_of


@pytest.mark.parametrize(
    "sentence",
    [
        "# The Harbor Project.",
        "| Ada Lin | lead | 2024 |.",
        "Ada Lin\tlead\t2024.",
        "Published: 9 September 2025",
        "Yes.",
        "is a 1940 American comedy film directed by Charles Lamont.",
        "，专席尊享、专线服务、专区权益。",
        "1,204 / 3,511 / 2,870 / 9,913.",
        "第三章 退款规则",
        "好的。",
    ],
)
def test_fragments_headings_and_table_rows_are_not_quoted(sentence: str) -> None:
    assert quotable(sentence, 2.0 if sentence[-1] in "。则" else 1.0) == ""


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ("Ada Lin leads the Harbor Project.", "Ada Lin leads the Harbor Project."),
        ("* Ada Lin leads the project!", "Ada Lin leads the project!"),
        ("3. Ada Lin leads the project.", "Ada Lin leads the project."),
        ("“He left,” said Ada Lin.", "“He left,” said Ada Lin."),
        ("iPhone sales of the firm fell in 2019.", "iPhone sales of the firm fell in 2019."),
        ("**Ada Lin** leads the project.**", "**Ada Lin** leads the project.**"),
        ("（一）陈明制定了退款规则。", "（一）陈明制定了退款规则。"),
        ("2、陈明制定了退款规则。", "2、陈明制定了退款规则。"),
    ],
)
def test_sentences_are_quoted_as_they_stand_without_list_marker(sentence: str, quoted: str) -> None:
    assert quotable(sentence, 1.0 if sentence.isascii() else 2.0) == quoted


def test_overlap_is_one_for_a_nested_sentence() -> None:
    short, long = shingles("陈明制定了退款规则"), shingles("今年陈明制定了退款规则和流程")
    assert same_words(short, long) > 0.8
    assert same_words(shingles("Ada Lin"), shingles("ada lin leads")) == 1.0
    assert same_words(shingles("Ada Lin"), shingles("Ben Okafor")) == 0.0
    assert same_words(shingles(""), shingles("Ada")) == 1.0


def picked(make_world: Callable[..., Any], text: str, names: list[str], limit: int) -> list[str]:
    corpus = make_world({"a": text}, names).corpus()
    sentences = read_sentences(corpus, [0])
    places = pick_sentences(corpus, sentences, 0, corpus.labels[0], limit)
    return [sentences.texts[place] for place in places]


def test_chosen_sentences_cover_the_members_before_they_repeat_one(
    make_world: Callable[..., Any],
) -> None:
    first = "Ada Lin and Ben Okafor founded the yard together long ago."
    same = "Some boats went to customers of Ada Lin; Ben Okafor sold every one."
    other = "Cleo Marsh founded the yard of today with Ada Lin much later."
    names = ["Ada Lin", "Ben Okafor", "Cleo Marsh"]
    assert picked(make_world, f"{first} {same} {other}", names, 2) == [first, other]


def test_chosen_sentences_say_something_new(make_world: Callable[..., Any]) -> None:
    first = "Ada Lin leads the Harbor Project in the north of the country."
    alike = "Ada Lin leads the Harbor Project in heavy rain today."
    new = "Money for what Ada Lin plans comes out of a fund that the Harbor Project set up."
    names = ["Ada Lin", "Harbor Project"]
    assert picked(make_world, f"{first} {alike} {new}", names, 2) == [first, new]
    assert picked(make_world, f"{first} {alike} {new}", names, 9) == [first, new, alike]


@pytest.mark.parametrize(
    ("back", "clear", "names"),
    [
        (
            "This is what Ada Lin wrote on the Harbor Project in spring.",
            "Ada Lin wrote another text on the Harbor Project in spring.",
            ["Ada Lin", "Harbor Project"],
        ),
        (
            "他和陈明在春天为青石云账写过一篇很长的文章。",
            "陈明在秋天为青石云账写过另一篇很长的报告。",
            ["陈明", "青石云账"],
        ),
    ],
)
def test_a_sentence_that_points_back_comes_after_one_that_stands_alone(
    make_world: Callable[..., Any], back: str, clear: str, names: list[str]
) -> None:
    assert picked(make_world, back + clear if "他" in back else f"{back} {clear}", names, 1) == [
        clear
    ]


def test_no_sentences_are_read_for_communities_nobody_wants(english: Any) -> None:
    assert len(read_sentences(english.corpus(), []).texts) == 0


def test_references_name_at_most_five_text_units() -> None:
    assert sources([4, 4]) == "[Data: Sources (4)]"
    assert sources(range(1, 8)) == "[Data: Sources (1, 2, 3, 4, 5, +more)]"


@pytest.mark.parametrize(
    ("language", "names", "written"),
    [
        ("en", ["A", "B", "C"], "A, B and C"),
        ("zh", ["青石云账", "陈明", "退款规则"], "青石云账、陈明与退款规则"),
        ("fr", ["A", "B"], "A and B"),
        ("zh", ["陈明"], "陈明"),
        ("en", [], ""),
    ],
)
def test_names_are_listed_as_the_language_does(
    language: str, names: list[str], written: str
) -> None:
    assert wording_of(language).names(names) == written


def test_labels_have_no_markup_and_no_tables() -> None:
    assert label("- **Ada Lin** leads\nthe project") == "Ada Lin leads the project"
    assert label("a | b") == ""
    assert label("word " * 40).endswith("word…")
    assert len(label("长" * 300)) == 101
