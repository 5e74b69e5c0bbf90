"""Dates, numbers and codes of a text in one form each, to see whether another text has them too.

2021年3月5日, 5 March 2021 and 2021-03-05 are one date; 1,200, １２００ and 0.12万 one number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache

_DIGITS = {c: str(n) for n, c in enumerate("零一二三四五六七八九")} | {"〇": "0", "两": "2"}
_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "亿": 10**8}
_HAN_NUMBER = re.compile(
    r"(?<![\d.])[零〇一二两三四五六七八九十百千万亿]{2,}|[一二三四五六七八九十](?=[年月日号])"
)
_DIGIT = re.compile(r"\d")
_MONTHS = "january february march april may june july august september october november december"
_MONTH = {name[:3]: number for number, name in enumerate(_MONTHS.split(), 1)}
_MONTH_NAME = rf"(?!(?-i:may)\b)({'|'.join(_MONTHS.split())}|{'|'.join(_MONTH)}|sept)\.?"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"([12]\d{3})"
# Each with the places of year, month and day among its groups; 0 where it has none.
_DATES: tuple[tuple[re.Pattern[str], int, int, int], ...] = (
    (re.compile(rf"{_YEAR}\s*年\s*(\d{{1,2}})\s*月\s*(\d{{1,2}})\s*[日号]"), 1, 2, 3),
    (re.compile(rf"(?<![\w.-]){_YEAR}[-/.](\d{{1,2}})[-/.](\d{{1,2}})(?![\w-]|\.\d)"), 1, 2, 3),
    (re.compile(rf"{_YEAR}\s*年\s*(\d{{1,2}})\s*月"), 1, 2, 0),
    (re.compile(r"(?<!\d)(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]"), 0, 1, 2),
    (re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_MONTH_NAME},?\s+{_YEAR}\b", re.IGNORECASE), 3, 2, 1),
    (re.compile(rf"\b{_MONTH_NAME}\s+{_DAY},?\s+{_YEAR}\b", re.IGNORECASE), 3, 1, 2),
    (re.compile(rf"\b{_MONTH_NAME},?\s+{_YEAR}\b", re.IGNORECASE), 2, 1, 0),
    (re.compile(rf"\b{_DAY}\s+{_MONTH_NAME}\b", re.IGNORECASE), 0, 2, 1),
    (re.compile(rf"\b{_MONTH_NAME}\s+{_DAY}\b(?!,?\d)", re.IGNORECASE), 0, 1, 2),
)
_CODE = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z0-9_./-]*[A-Za-z])(?=[A-Za-z0-9_./-]*\d)"
    r"[A-Za-z0-9]+(?:[-_./][A-Za-z0-9]+)*|(?<![\d.])\d+(?:\.\d+){2,}"
)
_MEASURE = re.compile(r"\d+(?:\.\d+)?(?:st|nd|rd|th|[a-z]{1,3})\Z")
_NUMBER = re.compile(
    r"(?<![\d.])(\d{1,3}(?:[,，]\d{3})+(?!\d)|\d+)(\.\d+)?"
    r"(?:\s*(万亿|[万亿]|million\b|billion\b|thousand\b))?",
    re.IGNORECASE,
)
_TIMES = {
    "万": 10**4, "亿": 10**8, "万亿": 10**12, "thousand": 10**3, "million": 10**6,
    "billion": 10**9,
}  # fmt: skip


@lru_cache(maxsize=65_536)
def facts_of(text: str) -> frozenset[str]:
    """Every date (``date:2021-03-05``, also without day or year), number and code of a text.

    >>> sorted(facts_of("On 5 March 2021 it paid 1,200 euros for CT-2023-118."))
    ['code:ct-2023-118', 'date:2021-03-05', 'number:1200']
    >>> sorted(facts_of("二〇二一年三月五日支付１２００元，合同CT-2023-118。"))
    ['code:ct-2023-118', 'date:2021-03-05', 'number:1200']
    """
    rest = _HAN_NUMBER.sub(_arabic, unicodedata.normalize("NFKC", text))
    if not _DIGIT.search(rest):
        return frozenset()
    found: set[str] = set()
    for pattern, *places in _DATES:
        for match in pattern.finditer(rest):
            date = _date(match, *places)
            if date:
                found.add(date)
        rest = pattern.sub(" ", rest)
    for match in _CODE.finditer(rest):
        if not _MEASURE.match(match.group()):
            found.add(f"code:{match.group().lower()}")
    rest = _CODE.sub(lambda match: match.group() if _MEASURE.match(match.group()) else " ", rest)
    found.update(f"number:{_value(*match.groups())}" for match in _NUMBER.finditer(rest))
    return frozenset(found)


def missing_facts(wanted: Iterable[str], had: frozenset[str]) -> set[str]:
    """Facts that are not in ``had``; a whole date has its month, its year and its day in it.

    >>> missing_facts({"number:2021", "date:2021-03"}, frozenset({"date:2021-03-05"}))
    set()
    """
    return set(wanted) - with_parts(had)


def with_parts(facts: Iterable[str]) -> set[str]:
    """The facts, and the year, month and day that each whole date says too."""
    known = set(facts)
    return known | {part for fact in known for part in _within(fact)}


def _within(fact: str) -> tuple[str, ...]:
    """What a date says besides itself."""
    kind, _, value = fact.partition(":")
    if kind != "date":
        return ()
    year, month, *day = value.split("-")
    parts = [f"number:{year}"] if year else []
    if day and year:
        parts += [f"date:{year}-{month}", f"date:-{month}-{day[0]}"]
    return tuple(parts)


def _date(match: re.Match[str], *places: int) -> str:
    """``date:`` with the parts that are there; empty when there is no such month or day."""
    year, month, day = (match.group(place) if place else "" for place in places)
    number = _MONTH.get(month[:3].lower(), 0) or (int(month) if month.isdigit() else 0)
    if not 1 <= number <= 12 or (day and not 1 <= int(day) <= 31):
        return ""
    return f"date:{year}-{number:02}" + (f"-{int(day):02}" if day else "")


def _value(whole: str, fraction: str | None, scale: str | None) -> str:
    value = Decimal(re.sub(r"[,，]", "", whole) + (fraction or ""))
    value *= _TIMES.get((scale or "").lower(), 1)
    text = format(value, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def _arabic(match: re.Match[str]) -> str:
    """Chinese numerals as digits: 二〇二一 is 2021, 三十五 is 35, 一千二百 is 1200."""
    text = match.group()
    if not set(text) & _SCALES.keys():
        return "".join(_DIGITS[c] for c in text)
    total = section = digit = 0
    for character in text:
        scale = _SCALES.get(character)
        if scale is None:
            digit = int(_DIGITS[character])
        elif scale < 10_000:
            section += (digit or 1) * scale
            digit = 0
        else:
            part = section + digit or 1
            total = (total + section + digit) * scale if 0 < total < scale else total + part * scale
            section = digit = 0
    return str(total + section + digit)
