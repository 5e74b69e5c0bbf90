"""Passages of the period that a question names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath

from graphkb.text.periods import agreement, named_periods, periods
from graphkb.types import Passage


def of_period(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """``passages`` without those whose title, file name or headings are about another period than
    the question names for sure, and that do not speak of that period either.

    All of them where the question names none.
    """
    asked = periods(question)
    if not asked.sure:
        return list(passages)
    return [
        passage
        for passage in passages
        if agreement(asked, periods(_place(passage))) >= 0
        or agreement(asked, named_periods(passage.text)) > 0
    ]


def _place(passage: Passage) -> str:
    return "\n".join((passage.title, PurePosixPath(passage.path).stem, passage.heading))
