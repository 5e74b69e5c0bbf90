"""Passages of the period that a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath

from graphkb.query.sentences import Sentence, sentences_of, table_cells
from graphkb.text.names import fold
from graphkb.text.periods import (
    Periods,
    agreement,
    closeness,
    named_days,
    named_periods,
    names_part,
    periods,
    spelled_month,
)
from graphkb.text.table_head import table_lines
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
# What stands between a heading and a table: its title, its unit.
_MOST_CAPTIONS, _LONGEST_CAPTION = 3, 80
_SENTENCE_ENDS = tuple(".。!！?？;；")
# Rows are no names of columns, whatever they look like.
_UNNAMED = ("",)
_MONTH = re.compile(r"(?:^|[年份 /])月份?$|月份$|\bmonth\b")


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
            agreement(asked, periods(place_of(passage))) >= 0
            or agreement(asked, _dated(named_periods(_told(passage)), place_of(passage))) > 0
        )
        and _has_sections_of(question, passage)
    ]


def in_period(question: str, passage: Passage, sentence: Sentence) -> bool:
    """False where the heading above a sentence in the passage, such as the name of a sheet, is
    about another period than the question names for sure, and the sentence and the names of its
    columns do not speak of that period.

    In the 2022 report, what stands below "Compared with 2021" is still about 2022.
    """
    asked = periods(question)
    if not asked.sure:
        return True
    heading = heading_of(passage, sentence)
    above = periods(heading)
    if agreement(asked, above) >= 0:
        return True
    place = periods(place_of(passage))
    if place.years and place.years <= asked.years and not above.years & asked.years:
        return True
    told = [sentence.text]
    if table_cells(sentence.text):
        told = [*sentence.header, told_by(sentence)]
    return agreement(asked, _dated(named_periods("\n".join(told)), heading)) > 0


def heading_of(passage: Passage, sentence: Sentence) -> str:
    """The heading of a sentence; for a row of a table with the lines right above the table, such
    as "Output in 2024" and "单位：吨"."""
    if not table_cells(sentence.text):
        return sentence.heading
    lines = [line.strip() for line in passage.text[: sentence.start].split("\n")][:-1]
    while lines and table_cells(lines[-1]):
        lines.pop()
    while lines and not lines[-1]:
        lines.pop()
    captions: list[str] = []
    while lines and len(captions) < _MOST_CAPTIONS and _is_caption(lines[-1]):
        captions.append(lines.pop())
    return "\n".join((sentence.heading, *reversed(captions)))


def _is_caption(line: str) -> bool:
    is_short = 0 < len(line) <= _LONGEST_CAPTION
    return is_short and not line.startswith("#") and not line.endswith(_SENTENCE_ENDS)


def _dated(told: Periods, above: str) -> Periods:
    """Months and quarters without a year are of the year that stands above them."""
    return told if told.years or not told.parts else replace(told, years=periods(above).years)


def period_fit(question: str, passage: Passage, sentence: Sentence) -> int:
    """1 where a sentence is about the month, quarter or day that the question names, -1 where it
    is about another one, 0 where that is not known (:func:`graphkb.text.periods.closeness`): by
    the cells of a row, the dates in other text, and else by what stands above it."""
    if table_cells(sentence.text):
        told = told_by(sentence)
    else:
        told = sentence.text if named_days(question) else ""
    return (told and closeness(question, told)) or closeness(
        question, f"{place_of(passage)}\n{sentence.heading}"
    )


def told_by(row: Sentence) -> str:
    """The cells of a row, with its periods in words; without numbers that may be anything."""
    return "\n".join(_rows([row.text], row.header or _UNNAMED))


def is_of_part(question: str, passages: Sequence[Passage]) -> bool:
    """Whether a sentence of the passages is about the month, quarter or day that the question
    names; False where it names none."""
    return names_part(question) and any(
        period_fit(question, passage, sentence) > 0
        for passage in passages
        for sentence in sentences_of(passage.text, passage.columns)
    )


def _has_sections_of(question: str, passage: Passage) -> bool:
    sentences = list(sentences_of(passage.text, passage.columns)) if "#" in passage.text else []
    return not sentences or any(in_period(question, passage, one) for one in sentences)


def place_of(passage: Passage) -> str:
    """What stands above all of a passage: title, file name, headings."""
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
    for place, (row, line) in enumerate(zip(rows, table_lines(rows, names), strict=True)):
        if line.is_rule:
            continue
        if line.names is None or (not place and not line.names and _names_years(line.cells)):
            yield row
        else:
            yield " | ".join(_periods(line.cells, line.names))


def _names_years(cells: Sequence[str]) -> bool:
    """True for what can only be the names of columns: 项目, 2022, 2021."""
    return len(cells) > 2 and all(_YEAR.fullmatch(cell) for cell in cells[1:])


def _periods(cells: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The cells of a row that are words, periods, or numbers under a name of times."""
    for place, cell in enumerate(cells):
        name = names[place] if place < len(names) else ""
        is_month = _MONTH.search(fold(name)) is not None
        month = spelled_month(cell, is_month=is_month, is_time=_is_time(name))
        if month != cell:
            yield month
            continue
        if not _NUMBER.fullmatch(fold(cell)):
            yield cell
            continue
        # Rows are often named by years under no name.
        is_key = bool(names) and not place and not name
        found = periods(cell)
        if is_key or found.sure or found.parts or _is_time(name) or _is_time(cells[0]):
            yield cell


def _is_time(name: str) -> bool:
    folded = fold(name)
    # An amount stands under 2022年度.
    return not any(sign.isdecimal() for sign in folded) and _TIME.search(folded) is not None
