"""The page or slide of a file that a question asks for: page 2 of X, 第3页, the last slide."""

from __future__ import annotations

import re

LAST = -1
"""The last page, whatever its number."""

_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_NUMERAL = "一二三四五六七八九十"
_PREPOSITION = r"(?:\b(?:on|in|from|of|at|does|do|is|what)\s+)*"
_ASKED = re.compile(
    rf"{_PREPOSITION}(?:\bthe\s+)?\b(?:page|slide)\s*(?:no\.?\s*|number\s+|#\s*)?(?P<number>\d{{1,4}})"
    r"(?![\d.,]*\d|\s*[-–—]\s*\d)"
    rf"|{_PREPOSITION}\bthe\s+(?:(?P<ordinal>{'|'.join(_ORDINALS)})|(?P<nth>\d{{1,4}})(?:st|nd|rd|th)"
    r"|(?P<last>last|final))\s+(?:page|slide)\b"
    rf"|第\s*(?P<han>\d{{1,4}}|[{_NUMERAL}]{{1,3}})\s*(?:页|张(?:幻灯片|PPT|片子)?)"
    r"|(?P<first_han>首页)|(?P<last_han>末页|尾页|最后一(?:页|张(?:幻灯片|PPT)?))",
    re.IGNORECASE,
)


def asked_page(question: str) -> tuple[int | None, str]:
    """The page, from 1, that the rest of a question beside the name of its file asks for, or
    :data:`LAST`, and the question without it; None where it asks for none.

    >>> asked_page("What is on page 2?"), asked_page("第三页讲了退款吗？")
    ((2, '?'), (3, '讲了退款吗？'))
    >>> asked_page("the last slide"), asked_page("How many pages are there?")
    ((-1, ''), (None, 'How many pages are there?'))
    """
    match = _ASKED.search(question)
    if match is None:
        return None, question
    rest = " ".join((question[: match.start()] + " " + question[match.end() :]).split())
    return _number(match), rest


def _number(match: re.Match[str]) -> int:
    if match["last"] or match["last_han"]:
        return LAST
    if match["first_han"]:
        return 1
    if match["ordinal"]:
        return _ORDINALS.index(match["ordinal"].lower()) + 1
    written = match["number"] or match["nth"] or match["han"]
    return int(written) if written.isdecimal() else _cardinal(written)


def _cardinal(numeral: str) -> int:
    """The value of a Chinese numeral below 100: 三, 十二, 二十三."""
    tens, ten, ones = numeral.rpartition("十")
    if not ten:
        return _NUMERAL.find(numeral) + 1
    return 10 * (_NUMERAL.find(tens) + 1 if tens else 1) + (_NUMERAL.find(ones) + 1 if ones else 0)
