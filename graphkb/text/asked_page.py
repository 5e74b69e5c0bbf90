"""The pages, slides or rows of a file that a question asks for: page 2 of X, 第3页, the last slide,
rows 4 to 6."""

from __future__ import annotations

import re

LAST = -1
"""The last page, whatever its number."""

_MOST = 100
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_NUMERAL = "一二三四五六七八九十"
_PREPOSITION = r"(?:\b(?:on|in|from|of|at|does|do|is|are|what)\s+)*"
_NO = r"(?:no\.?\s*|numbers?\s+|#\s*)?"
_RANGE = r"\s*(?:[-–—~～至到]|\bto\b|\bthrough\b)\s*"
_JOINT = r"\s*(?:,\s*and\b|,|，|、|&|\band\b|\bor\b|以及|还是|[和与及或])\s*"
_LIST = rf"\d{{1,5}}(?:(?:{_JOINT}|{_RANGE})\d{{1,5}})*(?![\d.,]*\d|[A-Za-z])"
_ONE = rf"\d{{1,5}}(?:{_RANGE}\d{{1,5}})?(?![\d.,]*\d|[A-Za-z])"
_HAN_ONE = rf"(?:\d{{1,5}}|[{_NUMERAL}]{{1,3}})"


def _asked(one: str, many: str, han: str) -> str:
    """A pattern of numbers behind English words for one and for many, and before a Chinese one."""
    more = rf"(?:\s*(?:{han})?(?:{_JOINT}|{_RANGE})(?:第\s*)?{_HAN_ONE})*"
    return (
        rf"{_PREPOSITION}(?:\bthe\s+)?\b(?:(?:{many})\s*{_NO}(?P<many>{_LIST})"
        rf"|(?:{one})\s*{_NO}(?P<one>{_ONE}))"
        rf"|(?P<han>第\s*{_HAN_ONE}{more}|\d{{1,5}}{_RANGE}\d{{1,5}})\s*(?:{han})"
    )


_SHEET = r"页|张(?:幻灯片|PPT|片子)?"
_PAGE = re.compile(
    _asked("page|slide", "pages|slides", _SHEET)
    + rf"|{_PREPOSITION}\bthe\s+(?:(?P<ordinal>{'|'.join(_ORDINALS)})"
    r"|(?P<nth>\d{1,4})(?:st|nd|rd|th)"
    r"|(?P<last>last|final))\s+(?:page|slide)\b"
    r"|(?P<first_han>首页)|(?P<last_han>末页|尾页|最后一(?:页|张(?:幻灯片|PPT)?))",
    re.IGNORECASE,
)
_ROW = re.compile(_asked("row", "rows", "行"), re.IGNORECASE)
_JOINED = re.compile(_JOINT, re.IGNORECASE)
_NUMBERS = re.compile(rf"({_RANGE})?(\d+|[{_NUMERAL}]+)", re.IGNORECASE)


def asked_pages(question: str) -> tuple[tuple[int, ...], str]:
    """The pages, from 1, that the rest of a question beside the name of its file asks for, or
    :data:`LAST`, and the question without them; none where it asks for none.

    >>> asked_pages("What is on pages 2 and 4?"), asked_pages("第三页讲了退款吗？")
    (((2, 4), '?'), ((3,), '讲了退款吗？'))
    >>> asked_pages("第2-4页"), asked_pages("第2页和第3页"), asked_pages("the last slide")
    (((2, 3, 4), ''), ((2, 3), ''), ((-1,), ''))
    >>> asked_pages("How many pages are there?")
    ((), 'How many pages are there?')
    """
    return _cut(_PAGE, question)


def asked_rows(question: str) -> tuple[tuple[int, ...], str]:
    """The rows that such a question asks for by their number, as :func:`asked_pages`.

    >>> asked_rows("What is the price in row 20?"), asked_rows("第20行是什么？")
    (((20,), 'What is the price ?'), ((20,), '是什么？'))
    """
    return _cut(_ROW, question)


def _cut(pattern: re.Pattern[str], question: str) -> tuple[tuple[int, ...], str]:
    match = pattern.search(question)
    if match is None:
        return (), question
    numbers = dict.fromkeys(_values(match))
    start, end = match.span()
    while (joint := _JOINED.match(question, end)) and (
        match := pattern.match(question, joint.end())
    ):
        numbers.update(dict.fromkeys(_values(match)))
        end = match.end()
    rest = " ".join((question[:start] + " " + question[end:]).split())
    return tuple(numbers)[:_MOST], rest


def _values(match: re.Match[str]) -> list[int]:
    found = match.groupdict()
    if found.get("last") or found.get("last_han"):
        return [LAST]
    if found.get("first_han"):
        return [1]
    if ordinal := found.get("ordinal"):
        return [_ORDINALS.index(ordinal.lower()) + 1]
    values: list[int] = []
    written = found["many"] or found["one"] or found["han"] or found["nth"] or ""
    for until, numeral in _NUMBERS.findall(re.sub(rf"第|{_SHEET}|行", "", written)):
        number = int(numeral) if numeral.isdecimal() else _cardinal(numeral)
        if until and values:
            values += range(values[-1] + 1, min(number, values[-1] + _MOST) + 1)
        else:
            values.append(number)
    return values


def _cardinal(numeral: str) -> int:
    """The value of a Chinese numeral below 100: 三, 十二, 二十三."""
    tens, ten, ones = numeral.rpartition("十")
    if not ten:
        return _NUMERAL.find(numeral) + 1
    return 10 * (_NUMERAL.find(tens) + 1 if tens else 1) + (_NUMERAL.find(ones) + 1 if ones else 0)
