"""Claims: what dated or quantified sentences say, with ISO dates and a status."""

from __future__ import annotations

import re
from dataclasses import dataclass

_MONTH = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sept sep",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
_MONTHS = "|".join(sorted(_MONTH, key=lambda name: (-len(name), name)))
_YEAR = r"(?:1[0-9]\d\d|20\d\d)"
_DATES = re.compile(
    rf"(?P<zy>{_YEAR})\s*年(?:\s*(?P<zm>\d{{1,2}})\s*月(?:\s*(?P<zd>\d{{1,2}})\s*[日号])?)?"
    rf"|(?P<iy>{_YEAR})-(?P<im>\d\d)-(?P<id>\d\d)"
    rf"|\b(?P<dd>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<dm>{_MONTHS})\.?,?\s+(?P<dy>{_YEAR})\b"
    rf"|\b(?P<mm>{_MONTHS})\.?\s+(?:(?P<md>\d{{1,2}})(?:st|nd|rd|th)?,?\s+)?(?P<my>{_YEAR})\b"
    rf"|(?<![\d.,$€£¥])\b(?P<y>{_YEAR})\b(?![\d.,]*\d|\s*(?:年|亿|万|元|km|m\b|%))",
    re.IGNORECASE,
)
_NUMERIC = re.compile(rf"({_YEAR})[-/.](\d{{1,2}})(?:[-/.](\d{{1,2}}))?(?!\d)")
_QUANTITY = re.compile(
    r"\d[\d,.]*\s*(?:%|％|percent\b|per cent\b|million\b|billion\b|thousand\b|km\b|kg\b|metres?\b|"
    r"meters?\b|miles?\b|people\b|inhabitants\b|dollars?\b|euros?\b|"
    r"[万亿]|元|个|人|家|公里|千米|吨|台|户|件|次|倍|平方|米|岁|名|项|场|分钟|小时)"
    r"|[$€£¥]\s?\d[\d,.]*|百分之[一二三四五六七八九十百零点\d]+",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:reportedly|allegedly|alleged|rumou?red|is said to|probably|possibly|perhaps|expected to|"
    r"estimated)\b|据称|据传|据说|可能|预计|传闻|估计|疑似|涉嫌",
    re.IGNORECASE,
)
_DENIAL = re.compile(
    r"\b(?:denied|denies|was not|were not|did not|never|no longer|false)\b"
    r"|否认|并非|没有|从未|不实|并未",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Claim:
    """A sentence's claim: ``type`` DATE or QUANTITY, ``status`` TRUE, FALSE or SUSPECTED."""

    type: str
    status: str
    start_date: str | None
    end_date: str | None


def claim_of(sentence: str) -> Claim | None:
    """The claim a sentence makes, or None when it has neither a date nor a quantity.

    >>> claim_of("公司成立于2019年3月5日。")
    Claim(type='DATE', status='TRUE', start_date='2019-03-05', end_date='2019-03-05')
    >>> claim_of("It allegedly cost $3 million.")
    Claim(type='QUANTITY', status='SUSPECTED', start_date=None, end_date=None)
    """
    dates = sorted({iso for match in _DATES.finditer(sentence) if (iso := _iso(match))})
    if not dates and not _QUANTITY.search(sentence):
        return None
    status = "TRUE"
    if _DOUBT.search(sentence):
        status = "SUSPECTED"
    elif _DENIAL.search(sentence):
        status = "FALSE"
    first, last = (dates[0], dates[-1]) if dates else (None, None)
    return Claim("DATE" if dates else "QUANTITY", status, first, last)


def iso_date(text: str) -> str | None:
    """The first date a text gives, as ``YYYY``, ``YYYY-MM`` or ``YYYY-MM-DD``; None without one.

    >>> [iso_date(text) for text in ("3 May 2019", "2021年3月", "2020-1-31T00:00", "2020/07")]
    ['2019-05-03', '2021-03', '2020-01-31', '2020-07']
    """
    numbers = _NUMERIC.match(text.strip())
    if numbers:
        year, month, day = numbers.groups(default="0")
        return _calendar(year, int(month), int(day))
    return next((iso for match in _DATES.finditer(text) if (iso := _iso(match))), None)


def _iso(match: re.Match[str]) -> str | None:
    """The date of a match of ``_DATES``; None for one that no calendar has."""
    groups = match.groupdict()
    year = groups["zy"] or groups["iy"] or groups["dy"] or groups["my"] or groups["y"]
    named = groups["dm"] or groups["mm"]
    month = _MONTH[named.lower()] if named else int(groups["zm"] or groups["im"] or 0)
    return _calendar(
        year, month, int(groups["zd"] or groups["id"] or groups["dd"] or groups["md"] or 0)
    )


def _calendar(year: str, month: int, day: int) -> str | None:
    if month > 12 or day > 31:
        return None
    return year + (f"-{month:02d}" if month else "") + (f"-{day:02d}" if month and day else "")
