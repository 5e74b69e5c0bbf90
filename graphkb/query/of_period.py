"""Passages of the period that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import PurePosixPath

from graphkb.query.sentences import Sentence, sentences_of, table_cells
from graphkb.text.names import fold
from graphkb.text.periods import agreement, named_periods, periods
from graphkb.text.table_rows import column_names, is_rule
from graphkb.types import Passage

# 2020, EUR 2025, 2025元: a number that may be a year or anything else.
_NUMBER = re.compile(r"\W*(?:[a-z]{3}\b)?\W*\d+\W*[^\W\d]{0,4}\W*")
_YEAR = re.compile(r"(?:1[89]|20)\d\d")
# Names of columns and rows that hold times; 本年, 元/年 and last year hold amounts.
_TIME = re.compile(
    r"(?:(?<![每全半上下本去今当前近后/])年[份度月]?|日期|时间|期间|季度|月份)[)）]?$"
    r"|(?<!the )(?<!this )(?<!last )(?<!prior )(?<!previous )(?<!current )(?<!per )(?<!/)(?<!/ )"
    r"\b(?:year|date|fy|fiscal|period|quarter|month)\b",
)


def of_period(question: str, passages: Sequence[Passage]) -> list[Passage]:
    """``passages`` without those whose title, file name or headings are about another period than
    the question names for sure, and that do not speak of that period either; nor those of whose
    sentences none is :func:`in_period`.

    A bare number in a row of a table is a year only where its column or row is one of times. All
    of them where the question names none.
    """
    asked = periods(question)
    if not asked.sure:
        return list(passages)
    return [
        passage
        for passage in passages
        if (
            agreement(asked, periods(_place(passage))) >= 0
            or agreement(asked, named_periods(_told(passage))) > 0
        )
        and _has_sections_of(question, passage)
    ]


def in_period(question: str, passage: Passage, sentence: Sentence) -> bool:
    """False where the heading above a sentence in the passage, such as the name of a sheet, is
    about another period than the question names for sure, and the sentence and the names of its
    columns do not speak of that period.

    In the 2022 report, what stands below "Compared with 2021" is still about 2022.
    """
    asked, above = periods(question), periods(sentence.heading)
    if not asked.sure or agreement(asked, above) >= 0:
        return True
    place = periods(_place(passage))
    if place.years and place.years <= asked.years and not above.years & asked.years:
        return True
    told = [sentence.text]
    if table_cells(sentence.text):
        told = [*sentence.header, *_rows(told, sentence.header)]
    return agreement(asked, named_periods("\n".join(told))) > 0


def _has_sections_of(question: str, passage: Passage) -> bool:
    sentences = list(sentences_of(passage.text, passage.columns)) if "#" in passage.text else []
    return not sentences or any(in_period(question, passage, one) for one in sentences)


def _place(passage: Passage) -> str:
    return "\n".join((passage.title, PurePosixPath(passage.path).stem, passage.heading))


def _told(passage: Passage) -> str:
    """The text and column names of a passage without the numbers that may be anything."""
    told = list(passage.columns)
    names: Sequence[str] = passage.columns
    lines = passage.text.split("\n")
    for cells, run in groupby(lines, lambda line: bool(table_cells(line))):
        section = list(run)
        told += _rows(section, names) if cells else section
        names = ()
    return "\n".join(told)


def _rows(rows: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The rows of a table; ``names`` are those of its columns where no rule shows them."""
    rules = [place for place, row in enumerate(rows) if is_rule(row)]
    above = {place - 1 for place in rules} | set(range(rules[0] if rules else 0))
    header: list[tuple[str, ...]] = []
    for place, row in enumerate(rows):
        cells = table_cells(row)
        if place in above or (not place and not names and _names_years(cells)):
            header.append(cells)
            yield row
        elif place in rules:
            names, header = column_names(header), []
        else:
            yield " | ".join(_periods(cells, names))


def _names_years(cells: Sequence[str]) -> bool:
    """True for what can only be the names of columns: 项目, 2022, 2021."""
    return len(cells) > 2 and all(_YEAR.fullmatch(cell) for cell in cells[1:])


def _periods(cells: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The cells of a row that are words, periods, or numbers under a name of times."""
    for place, cell in enumerate(cells):
        if not _NUMBER.fullmatch(fold(cell)):
            yield cell
            continue
        name = names[place] if place < len(names) else ""
        # Rows are often named by years under no name.
        is_key = bool(names) and not place and not name
        found = periods(cell)
        if is_key or found.sure or found.parts or _is_time(name) or _is_time(cells[0]):
            yield cell


def _is_time(name: str) -> bool:
    folded = fold(name)
    # An amount stands under 2022年度.
    return not any(sign.isdecimal() for sign in folded) and _TIME.search(folded) is not None
