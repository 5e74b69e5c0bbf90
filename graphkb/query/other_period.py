"""Rows and sentences that say plainly that they are of another period than a question names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from graphkb.query.of_period import heading_of, place_of, told_by
from graphkb.query.sentences import Sentence, table_cells
from graphkb.text.names import fold
from graphkb.text.periods import (
    Periods,
    agreement,
    closeness,
    named_days,
    named_periods,
    periods,
    spelled_month,
)
from graphkb.types import Passage

# Columns that hold the period of their rows; "Start date" and 成立日期 hold the time of an event.
_PERIOD_COLUMN = re.compile(
    r"(?:统计|会计|报告|财政|所属|数据|自然)?(?:年度|年份|年月|年|月份|月度|月|季度|季|日期|时间|期间|报告期)"
    r"|(?:(?:fiscal|financial|calendar|reporting|accounting)\s)?"
    r"(?:year|month|quarter|period|date|day|fy)(?:\s*[-/ ]\s*(?:month|quarter))?"
    r"(?:\s(?:ended|ending|end))?"
)
_MONTH_COLUMN = re.compile(r"月|month")
_BARE_YEAR = re.compile(r"(?:1[89]|20)\d\d")
# Growth is told by two periods.
_COMPARES = re.compile(
    r"同比|环比|增长|增速|增加|增幅|减少|下降|降幅|变化|变动|相比|比上|较上|上[年月季]|去年|前一年|趋势|走势|历年"
    r"|\b(?:than|compar\w+|versus|vs|gr[eo]w\w*|growth|increas\w+|decreas\w+|ris\w+|rose|chang\w+|"
    r"declin\w+|fell|fall\w*|drop\w*|trend\w*|year[- ]on[- ]year|yoy|previous|prior|history)\b"
)
_SINCE = re.compile(r"以来|至今|以后|之后|起|自从|\b(?:since|after|onwards?|starting|beginning)\b")
_UNTIL = re.compile(
    r"以前|之前|截至|截止|\b(?:before|until|till|up to|as of|as at|prior to|"
    r"by (?=\d|(?:the )?end|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)))"
)
_FISCAL = re.compile(r"财年|会计年度|\b(?:fy|fiscal|financial year)")
# What holds from then on: who leads a company is told by the year of the appointment.
_LASTING = re.compile(
    r"以来|至今|起|截至|自\s*(?:1[89]|20)\d\d"
    r"|\b(?:since|until|from|onwards?|now|still|as of|as at)\b"
)
_STANDING = re.compile(
    r"谁|哪[位个]|何人|哪里|哪儿|何处|\b(?:who|whom|whose|where|which|when)\b|什么时候|何时"
)


@dataclass(frozen=True)
class _Asked:
    """The periods that a question names, and the first and last year that it may be about."""

    named: Periods
    has_days: bool
    first: int
    last: int
    is_open: bool

    def has_year(self, years: frozenset[int]) -> bool:
        """Whether one of the years, or one between them, is asked for."""
        return min(years) <= self.last and max(years) >= self.first


@lru_cache(maxsize=1_000)
def _asked(question: str) -> _Asked | None:
    """None where rows of other periods may be wanted, or no period is named for sure."""
    folded = fold(question)
    named, has_days = periods(question), bool(named_days(question))
    parts = named.parts - {"Y"}
    if _COMPARES.search(folded) or not (named.sure or (parts and not named.years) or has_days):
        return None
    first, last = (min(named.years), max(named.years)) if named.years else (0, 9999)
    if _FISCAL.search(folded):
        first, last = first - 1, last + 1
    since, until = _SINCE.search(folded), _UNTIL.search(folded)
    return _Asked(
        Periods(named.years, named.sure, frozenset(parts)),
        has_days,
        0 if until else first,
        9999 if since else last,
        bool(since or until),
    )


def is_of_another(question: str, passage: Passage, sentence: Sentence) -> bool:
    """Whether a row is of another period than the question names by its columns of times, or a
    sentence names only other periods; False for all where the question compares periods.

    In a report on the asked year what is said of the year before is still about that year.
    """
    asked = _asked(question)
    if asked is None:
        return False
    if table_cells(sentence.text):
        return _is_other_row(question, asked, passage, sentence)
    return _is_other_prose(question, asked, passage, sentence)


def is_of_asked(question: str, passage: Passage, sentence: Sentence) -> bool:
    """Whether a sentence, or what stands above it, names a period that the question names."""
    said = told_by(sentence) if table_cells(sentence.text) else sentence.text
    told = named_periods("\n".join((said, *sentence.header)))
    if not told:
        told = named_periods(f"{place_of(passage)}\n{heading_of(passage, sentence)}")
    return agreement(periods(question), told) > 0


def _is_other_row(question: str, asked: _Asked, passage: Passage, row: Sentence) -> bool:
    times = list(_times(row))
    if not times:
        return False
    said = "\n".join(times)
    found = named_periods(said)
    years = found.years | frozenset(int(cell) for cell in times if _BARE_YEAR.fullmatch(cell))
    if not years:
        above = (row.header, (heading_of(passage, row),), (place_of(passage),))
        years = next(filter(None, (periods("\n".join(each)).years for each in above)), years)
    if years and asked.named.years and not asked.has_year(years):
        return not periods(told_by(row)).years & asked.named.years
    return _is_other_part(question, asked, said)


def _is_other_prose(question: str, asked: _Asked, passage: Passage, prose: Sentence) -> bool:
    folded = fold(prose.text)
    if _LASTING.search(folded) or _STANDING.search(fold(question)):
        return False
    said = periods(prose.text)
    place = periods(f"{place_of(passage)}\n{prose.heading}")
    if place.years & asked.named.years:
        return False
    if said.sure and asked.named.years and not asked.has_year(said.years):
        return True
    return bool(said.parts) and _is_other_part(question, asked, prose.text)


def _is_other_part(question: str, asked: _Asked, said: str) -> bool:
    """Whether it is of other months, quarters or days; a question for some of them is about
    those between them, too."""
    if asked.is_open or not (asked.named.parts or asked.has_days):
        return False
    wanted = sorted(int(part[1:]) for part in asked.named.parts if part.startswith("M"))
    months = [int(part[1:]) for part in named_periods(said).parts if part.startswith("M")]
    if len(wanted) > 1 and any(wanted[0] <= month <= wanted[-1] for month in months):
        return False
    return closeness(question, said) < 0


def _times(row: Sentence) -> Iterator[str]:
    """The cells of a row that say what period it is of: those in columns of periods."""
    for place, cell in enumerate(table_cells(row.text)):
        name = fold(row.header[place]).strip() if place < len(row.header) else ""
        if _PERIOD_COLUMN.fullmatch(name) or not (name or place):
            is_month = _MONTH_COLUMN.search(name) is not None
            yield spelled_month(cell.strip(), is_month=is_month, is_time=True)
