"""The items of a list that a sentence opens: "The steps are:", 条件如下：."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Items that are quoted, and characters of them.
_MOST, _LONGEST = 20, 1500
_OPENS = re.compile(r"[:：][*_\s]*\Z")
_NUMBER = r"(?:\d{1,2}|[一二三四五六七八九十]{1,3}|[a-zA-Z]|[ivx]{1,4})"
_BULLET = re.compile(r"\s*(?:[-*+•●◦·▪■○–—]|\[[ xX]\])\s+(?=\S)")
_HAN_NUMBER = "[一二三四五六七八九十]{1,3}"
# Marks of items, from the outermost ones of nested lists to the innermost.
_LEVELS = tuple(
    re.compile(rf"\s*(?:{mark})\s*\S", re.IGNORECASE)
    for mark in (
        rf"{_HAN_NUMBER}[、.．]|第{_HAN_NUMBER}[步，,、]|(?:step|item)\s+\d{{1,2}}\b",
        rf"[(（]{_HAN_NUMBER}[)）]",
        r"(?:\d{1,2}|[ivx]{1,4})[.)）、．](?!\d)",
        r"[(（](?:\d{1,2}|[ivx]{1,4}|[a-z])[)）]|[a-z][.)）]\s",
        r"[①-⑳]",
        r"[-*+•●◦·▪■○–—]\s+|[•●▪■]",
    )
)
_UNMARKED = re.compile(r".*[；;]\s*(?:and|or|以及|或者?|和)?\Z", re.IGNORECASE)
_PARTS = "；;"
_WIDE = "。！？；，："
_ON_ONE_LINE = re.compile(
    rf"[:：]\s*(?:[(（]{_NUMBER}[)）]|{_NUMBER}[.)）、．](?!\d)|[①-⑳]|[^:：]*[；;]\Z)"
)


def opens_list(sentence: str) -> bool:
    """Whether a sentence is one that a list may follow, or begins with the first item of one.

    >>> [opens_list(text) for text in ("You need:", "条件：（一）满两年；", "It is free.")]
    [True, True, False]
    """
    if _OPENS.search(sentence):
        return True
    return sentence.endswith(("；", ";")) and _ON_ONE_LINE.search(sentence) is not None


def items_end(text: str, start: int, end: int) -> int:
    """Where the list ends that the sentence ``text[start:end]`` opens; ``end`` where it opens
    none.

    >>> text = "You need:\\n\\n- a form\\n- a stamp\\n\\nIt is free."
    >>> text[: items_end(text, 0, 9)].splitlines()[-1]
    '- a stamp'
    """
    sentence = text[start:end]
    if not opens_list(sentence):
        return end
    return _end_of_items(text, end) if _OPENS.search(sentence) else _end_of_line(text, end)


def _end_of_line(text: str, end: int) -> int:
    """Where what is listed on one line ends: with a full stop, or the line."""
    stop = text.find("\n", end)
    line = text[end : stop if stop >= 0 else len(text)][:_LONGEST]
    full = re.search("[。！？]", line)
    return end + len(line[: full.end()] if full else line.rstrip())


def _end_of_items(text: str, end: int) -> int:
    """Where the list ends whose first item is the next line that is not blank; ``end`` where
    there is none. Lines that end with a semicolon are items, and so is the one behind them."""
    line_end = text.find("\n", end)
    if line_end < 0 or text[end:line_end].strip():
        return end
    last, outermost = end, len(_LEVELS)
    for number, (start, stop, blank) in enumerate(_lines(text, line_end + 1)):
        line = text[start:stop]
        if stop - end > _LONGEST or number >= _MOST or line.startswith(("#", "|")):
            break
        goes_on = last > end and line[0].isspace() and not blank
        listed = last > end and text[last - 1] in _PARTS
        level = next((n for n, mark in enumerate(_LEVELS) if mark.match(line)), None)
        if level is not None and last == end:
            outermost = level
        marked = level is not None and level >= outermost
        if not (marked or (level is None and (_UNMARKED.match(line) or listed)) or goes_on):
            break
        last = stop
    return last


def _lines(text: str, position: int) -> Iterator[tuple[int, int, bool]]:
    """Start and end of the lines that are not blank, and whether one is right above."""
    blank = False
    while position < len(text):
        stop = text.find("\n", position)
        stop = len(text) if stop < 0 else stop
        line = text[position:stop]
        if line.strip():
            yield position, position + len(line.rstrip()), blank
        blank = not line.strip()
        position = stop + 1


def shown_items(text: str) -> str:
    """A quote of several lines on one: bullets are left out, numbers stay.

    >>> shown_items("You need:\\n- a form\\n- a stamp"), shown_items("步骤：\\n1. 填表\\n2. 盖章")
    ('You need: a form; a stamp', '步骤：1. 填表 2. 盖章')
    """
    lines = [line for line in text.split("\n") if line.strip()]
    shown = lines[0] if lines else ""
    for place, line in enumerate(lines[1:], 1):
        bullet = _BULLET.match(line)
        bare = line[bullet.end() :] if bullet else line.strip()
        parted = place == 1 or not bullet or shown[-1] in ".!?;,:" + _WIDE
        gap = "" if shown[-1] in _WIDE else " "
        shown += (gap if parted else "; ") + bare
    return shown
