"""Replies read as reports, however they are written; references are taken out of the text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphkb.report.draft import Draft, DraftFinding, parse_report

REPLIES = Path(__file__).parent.parent / "data" / "cases" / "replies" / "report"
BROKEN = {"cut.txt", "python_literals.txt"}
READABLE = sorted(path.name for path in REPLIES.glob("*.txt") if path.name not in BROKEN)


def reply(name: str) -> str:
    return (REPLIES / name).read_bytes().decode()


@pytest.mark.parametrize("name", READABLE)
def test_a_reply_is_read_however_it_is_written(name: str) -> None:
    """Case G02, and the other ways of writing JSON."""
    draft = parse_report(reply(name))
    assert draft.title == "Meter group"
    assert draft.summary == "Bluestone and Ada Lin."
    assert draft.rating == 6.5
    told = "Ada leads here." if name == "raw_newline.txt" else "Ada leads."
    assert draft.findings == (DraftFinding("Lead", told, (1,)),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (reply("cut.txt"), "explanation"),
        (reply("python_literals.txt"), "title"),
        ('{"title": "A", "summary": "B", "findings": []}', "findings must not be empty"),
        ('{"title": " ", "summary": "B", "findings": [{"explanation": "C"}]}', "title must not"),
        ("I cannot help with that.", "no JSON"),
    ],
)
def test_what_is_no_report_is_refused_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_report(text)


def test_of_a_reply_that_was_cut_the_complete_findings_are_kept() -> None:
    """Case G13: only what was cut is lost."""
    whole = json.dumps(
        {
            "title": "Tide", "summary": "A mill.", "rating": "8/10", "rating_explanation": "Yes.",
            "findings": [
                {"summary": "One", "explanation": "It turns.", "sources": [1]},
                {"summary": "Two", "explanation": "It stops.", "sources": [2, 3]},
                {"summary": "Three", "explanation": "It is sold for 1,280 euros."},
            ],
        }
    )  # fmt: skip
    draft = parse_report(whole[: whole.index(" euros")])
    assert (draft.title, draft.rating) == ("Tide", 8)
    assert [(f.summary, f.sources) for f in draft.findings] == [("One", (1,)), ("Two", (2, 3))]


@pytest.mark.parametrize(
    ("sources", "numbers"),
    [
        ([3, 8], (3, 8)),
        (["3", "S8", "8"], (3, 8)),
        ("Sources (3, 8)", (3, 8)),
        ({"id": 3}, (3,)),
        ([{"id": "3"}, 8.0, True, None], (3, 8)),
        (float("inf"), ()),
        (None, ()),
    ],
)
def test_references_are_read_in_any_writing(sources: object, numbers: tuple[int, ...]) -> None:
    finding = {"summary": "A", "explanation": "B", "sources": sources}
    text = json.dumps({"title": "T", "summary": "S", "findings": [finding]})
    assert parse_report(text).findings == (DraftFinding("A", "B", numbers),)


@pytest.mark.parametrize(
    ("written", "text", "numbers"),
    [
        ("Ada leads [Data: Entities (1); Sources (2, +more)].", "Ada leads.", (1, 2)),
        ("Ada leads [1, 2] since 2024 (Sources 3).", "Ada leads since 2024.", (1, 2, 3)),
        ("陈明负责退款【资料 4】。", "陈明负责退款。", (4,)),
        ("陈明负责退款（来源：1、2）。", "陈明负责退款。", (1, 2)),
        ("It is said [Data: none].", "It is said.", ()),
        ("The Mill (1984) and [Report on 5 mills] stay.",
         "The Mill (1984) and [Report on 5 mills] stay.", ()),
    ],
)  # fmt: skip
def test_marks_inside_the_text_become_references(
    written: str, text: str, numbers: tuple[int, ...]
) -> None:
    finding = {"summary": written, "explanation": written}
    reply = {"title": written, "summary": written, "findings": [finding]}
    draft = parse_report(json.dumps(reply, ensure_ascii=False))
    assert draft == Draft(text, text, None, "", (DraftFinding(text, text, numbers),))
