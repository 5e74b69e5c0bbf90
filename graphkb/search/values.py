"""Values of a filter against those of a row: as truth, number, date or text."""

from __future__ import annotations

import math
import operator
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any

Scalar = str | int | float | bool

COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_DATE = re.compile(
    r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?|年(?:(\d{1,2})月(?:(\d{1,2})日?)?)?)"
    r"(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(?:Z|[+-]\d{2}:?\d{2})?"
)
_YEAR = re.compile(r"\d{4}")


def text_of(value: Scalar) -> str:
    """A value as text, composed characters as one."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return unicodedata.normalize("NFC", str(value))


def equal(value: Scalar, wanted: Scalar) -> bool:
    """Whether a value is the filter's."""
    return compares(value, "=", wanted)


def compares(value: Scalar, sign: str, wanted: Scalar) -> bool:
    """One value against the filter's, as what both are: truth, number, date or text."""
    compare = COMPARE[sign]
    if isinstance(value, bool) or isinstance(wanted, bool):
        return compare(text_of(value).lower(), text_of(wanted).lower())
    there, here = date_parts(value), date_parts(wanted, year_alone=True)
    if there and here:
        return compare(there[: len(here)], here)
    numbers = _number(value), _number(wanted)
    if None not in numbers:
        return compare(*numbers)
    if isinstance(wanted, str):
        return compare(text_of(value), text_of(wanted))
    return False


def _number(value: Scalar) -> int | float | None:
    """A finite number, also one written as text; whole ones exactly, however large."""
    if isinstance(value, str):
        for read in (int, float):
            with suppress(ValueError):
                return _number(read(value))
        return None
    return value if isinstance(value, int) or math.isfinite(value) else None


def date_parts(value: Scalar, year_alone: bool = False) -> tuple[int, ...]:
    """Year, month, day, hour, minute, second as far as they are said; empty when it is no date.
    Time zones are not looked at.

    >>> date_parts("2024年3月5日"), date_parts("2024-03"), date_parts("v1.2")
    ((2024, 3, 5), (2024, 3), ())
    """
    text = str(value).strip()
    if year_alone and _YEAR.fullmatch(text):
        return (int(text),)
    match = _DATE.fullmatch(text)
    if match is None:
        return ()
    year, month, day, zh_month, zh_day, *time = match.groups()
    parts = (year, month or zh_month, day or zh_day, *time)
    return tuple(int(part) for part in parts if part is not None)


@lru_cache(maxsize=64)
def like_pattern(pattern: str) -> re.Pattern[str]:
    r"""``%`` any characters, ``_`` any one; ``\%`` and ``\_`` mean themselves."""
    parts = re.findall(r"\\[%_\\]|.", unicodedata.normalize("NFC", pattern), re.DOTALL)
    wild = {"%": ".*", "_": "."}
    expression = "".join(wild.get(part) or re.escape(part[-1]) for part in parts)
    return re.compile(expression, re.IGNORECASE | re.DOTALL)
