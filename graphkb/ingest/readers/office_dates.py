"""Dates and times as a workbook shows them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

_ENGLISH_MONTHS = (
    "January February March April May June July August September October November December"
).split()
_ENGLISH_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_CHINESE_DAYS = "一二三四五六日"
_LATEST = 2_958_466  # the day after 9999-12-31


def shown_date(
    serial: float, tokens: Sequence[tuple[str, str]], from_1904: bool, is_chinese: bool
) -> str | None:
    """The serial number of a day in a format's tokens; None before the first and after the last.

    Day 1 is 1900-01-01 and day 60 the 1900-02-29 that never was; in workbooks that count from
    1904, day 0 is 1904-01-01. Seconds are rounded to what the format shows.
    """
    if not 0 <= serial < _LATEST:
        return None
    n_fraction = _fraction_places(tokens)
    seconds = round(serial * 86_400, n_fraction)
    if from_1904:
        start = datetime(1904, 1, 1)
    else:
        start = datetime(1899, 12, 31) if serial < 60 else datetime(1899, 12, 30)
    try:
        moment = start + timedelta(seconds=seconds)
    except OverflowError:
        return None
    is_half_day = any(kind == "ampm" for kind, _ in tokens)
    parts: list[str] = []
    for at, (kind, text) in enumerate(tokens):
        if kind == "date":
            minutes = text[0] in "mM" and len(text) < 3 and _is_minute(tokens, at)
            parts.append(_part(moment, text.lower(), minutes, is_half_day, is_chinese))
        elif kind == "elapsed":
            size = {"h": 3600, "m": 60, "s": 1}[text[0]]
            parts.append(f"{int(seconds // size):0{len(text)}}")
        elif kind == "ampm":
            names = text.split("/")
            parts.append(names[moment.hour >= 12])
        elif kind in {"literal", "slash", "comma"}:
            parts.append(text)
        elif kind == "point" and n_fraction:
            parts.append(f".{moment.microsecond // 10 ** (6 - n_fraction):0{n_fraction}}")
        elif kind == "point":
            parts.append(".")
    return "".join(parts).strip()


def _fraction_places(tokens: Sequence[tuple[str, str]]) -> int:
    """Decimals of the seconds: the zeros after a point that follows them."""
    for at, (kind, _) in enumerate(tokens):
        if kind == "point" and at and tokens[at - 1][1].lower() in {"s", "ss"}:
            zeros = 0
            while at + 1 + zeros < len(tokens) and tokens[at + 1 + zeros][0] == "digits":
                zeros += 1
            return min(zeros, 3)
    return 0


def _is_minute(tokens: Sequence[tuple[str, str]], at: int) -> bool:
    """True for an m that follows hours or comes before seconds."""
    times = [(place, text[0].lower()) for place, (kind, text) in enumerate(tokens)
             if kind in {"date", "elapsed"}]  # fmt: skip
    place = [one for one, _ in times].index(at)
    before = times[place - 1][1] if place else ""
    after = times[place + 1][1] if place + 1 < len(times) else ""
    return before == "h" or after == "s"


def _part(moment: datetime, code: str, minutes: bool, is_half_day: bool, is_chinese: bool) -> str:
    size, sign = len(code), code[0]
    if minutes:
        return f"{moment.minute:0{size}}"
    if sign in "yeb":
        return f"{moment.year % 100:02}" if sign == "y" and size < 3 else f"{moment.year:04}"
    if sign == "m":
        name = _ENGLISH_MONTHS[moment.month - 1]
        return {3: name[:3], 4: name, 5: name[0]}.get(size, f"{moment.month:0{min(size, 2)}}")
    if sign == "d" and size < 3:
        return f"{moment.day:0{size}}"
    if sign in "da":
        day = moment.weekday()
        if sign == "a" or is_chinese:
            prefix = "星期" if size > 3 else "周" if sign == "d" else ""
            return prefix + _CHINESE_DAYS[day]
        return _ENGLISH_DAYS[day] if size > 3 else _ENGLISH_DAYS[day][:3]
    if sign == "h":
        hour = (moment.hour % 12 or 12) if is_half_day else moment.hour
        return f"{hour:0{min(size, 2)}}"
    return f"{moment.second:0{min(size, 2)}}" if sign == "s" else ""
