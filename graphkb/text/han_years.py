"""Years written in Chinese numerals: 二〇二四年 is 2024年."""

from __future__ import annotations

import re

_ZERO = "〇零○◯0oO"
_DIGIT = f"{_ZERO}一二三四五六七八九"
# One sign a digit, as years are read out; of a number such as 二千零二十四 nothing is a year.
_YEAR = rf"(?:一[八九]|二[{_ZERO}])[{_DIGIT}]{{2}}"
_BEHIND = r"\s?(?:年|财年|全年|会计年度|[上下]半年)"
_HAN_YEAR = re.compile(
    rf"(?<![{_DIGIT}十百千万亿两0-9A-Za-z]){_YEAR}"
    rf"(?={_BEHIND}|\s?[-–—~至到和与及、]\s?{_YEAR}{_BEHIND})"
)
_DIGITS = str.maketrans(_DIGIT, "0000000123456789")


def fold_years(text: str) -> str:
    """``text`` with the digits of years in Chinese numerals as 0 to 9; its length stays.

    >>> fold_years("二〇二四年第一季度"), fold_years("一九九八至二零零一年")
    ('2024年第一季度', '1998至2001年')
    >>> fold_years("二〇二四室")
    '二〇二四室'
    """
    if "年" not in text:
        return text
    return _HAN_YEAR.sub(lambda match: match.group().translate(_DIGITS), text)
