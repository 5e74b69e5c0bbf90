"""Citations point to spans that hold their quote, or they go."""

from __future__ import annotations

from dataclasses import replace

from graphkb.query.citations import check_citations, cite
from graphkb.query.extractive import Quote
from graphkb.types import Passage

DOCUMENT = "第一句。陈明是工程师。Ada Lin leads."
PASSAGE = Passage(
    kind="text_unit", text=DOCUMENT, score=1.0, text_unit_id="u", document_id="d", title="T",
    path="a/readme.md", heading="H", page=None, char_start=0, char_end=len(DOCUMENT),
)  # fmt: skip


def quote(text: str) -> Quote:
    start = DOCUMENT.index(text)
    return Quote(PASSAGE, start, start + len(text), text, 1.0)


def test_citations_are_numbered_from_one_and_carry_their_place() -> None:
    citations = cite([quote("陈明是工程师。"), quote("Ada Lin leads.")])
    assert [c.number for c in citations] == [1, 2]
    assert citations[0].path == "a/readme.md"
    assert DOCUMENT[citations[0].char_start : citations[0].char_end] == "陈明是工程师。"


def test_sound_citations_stay_and_unused_ones_go() -> None:
    citations = cite([quote("陈明是工程师。"), quote("Ada Lin leads.")])
    text, kept, warnings = check_citations("他是工程师 [1]", citations, {"d": DOCUMENT})
    assert (text, [c.number for c in kept], warnings) == ("他是工程师 [1]", [1], [])


def test_a_mark_without_a_source_is_removed_and_reported() -> None:
    citations = cite([quote("陈明是工程师。")])
    text, kept, warnings = check_citations("甲 [1] 乙 [7]", citations, {"d": DOCUMENT})
    assert text == "甲 [1] 乙 "
    assert [c.number for c in kept] == [1]
    assert warnings == ["citation [7] points to no source: removed"]


def test_a_span_that_does_not_hold_its_quote_is_dropped() -> None:
    wrong = replace(cite([quote("陈明是工程师。")])[0], char_start=0)
    text, kept, warnings = check_citations("甲 [1]", [wrong], {"d": DOCUMENT})
    assert (text, kept) == ("甲 ", [])
    assert "does not match" in warnings[0]
