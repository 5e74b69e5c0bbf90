"""Citation marks in a model's answer, brought to one form: ``[n]``, n being a source's number.

The rule, for what stands in ``[…]``, ``【…】`` or ``［…］`` (full-width digits count as digits):

1. Numbers, ranges and lists of both are marks: ``[1]``, ``[^2]``, ``[1-3]``, ``[1,2]``,
   ``【1†…】``. A range stands for its members; ``[2021]`` alone is a year, not a mark.
2. ``[Source 2]`` and ``[来源：2]`` are marks by number; ``[Source: one.txt]`` is one by the file
   name, path or title of a source.
3. Of ``[Data: Sources (1); Reports (2)]`` only what is called sources counts: a model is given
   no other numbers.
4. Anything else in brackets is text, and so is everything inside code.

Only numbers of the sources given for this answer stay; marks that follow each other are joined
and each number is kept once. What goes is reported. A mark that stands word for word in a
source, with the words before it, was copied from a document and is none of ours.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import PurePosixPath

from graphkb.text.names import fold
from graphkb.types import Passage

Choose = Callable[[str, Sequence[int]], int]
"""Of several sources that a mark may mean, the one that fits the text before it."""

MARK = re.compile(r"\[(\d+)\]")
MARKS = re.compile(r"\[\d+\](?:[ \t]*[,，、;；]?[ \t]*\[\d+\])*")

_BRACKET = re.compile(r"[\[【［]([^\[\]【】［］\n]{1,300})[\]】］]")
_CODE = re.compile(
    r"(?:^[ \t]*(?P<fence>~~~)|(?P<ticks>`{3,})).*?(?:(?(fence)^[ \t]*~~~|(?P=ticks))|\Z)"
    r"|`[^`\n]+`",
    re.DOTALL | re.MULTILINE,
)
# Noncharacters, which no text holds, stand in for the brackets inside code.
_BRACKETS, _STAND_INS = "[]【】［］", "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4\ufdd5"
_HIDE, _SHOW = str.maketrans(_BRACKETS, _STAND_INS), str.maketrans(_STAND_INS, _BRACKETS)
_FOREIGN = str.maketrans(dict.fromkeys(_STAND_INS, "\ufffd"))
_RANGE = r"\^?\d+(?:\s*(?:[-–—~～]|至|到|to)\s*\^?\d+)?"
_NUMBERS = re.compile(rf"{_RANGE}(?:\s*(?:[,，、;；&]|and|和)\s*{_RANGE})*(?:\s*†.*)?")
_PART = re.compile(r"\^?(\d+)(?:\s*(?:[-–—~～]|至|到|to)\s*\^?(\d+))?")
_SOURCE_WORD = (
    r"(?:sources?|text ?units?|references?|refs?|citations?|passages?|来源|资料|出处|引用|文献)"
)
_DATA = re.compile(r"(?:data|数据)\s*[:：]\s*(.*)", re.IGNORECASE)
_GROUP = re.compile(r"([^\W\d][\w ]*?)\s*[(（]([^)）]*)[)）]")
_SOURCE = re.compile(rf"{_SOURCE_WORD}\s*(?:[:：#]\s*(.+)|({_NUMBERS.pattern}))", re.IGNORECASE)
_IS_SOURCE = re.compile(_SOURCE_WORD, re.IGNORECASE)
_YEARS = range(1000, 3000)
_LONGEST_RANGE = 100
# Characters before a mark that must stand in a document too for the mark to be its own.
_COPIED = 12


def normalise_marks(
    text: str, passages: Sequence[Passage], choose: Choose | None = None
) -> tuple[str, list[str]]:
    """The text with ``[n]`` as its only marks, and one warning for each that was removed.

    ``passages[n - 1]`` is source n. ``choose`` decides between the passages of a file that a
    mark names; by default it is the first.

    >>> normalise_marks("Ada leads 【1-2】, they say [7].", [_EXAMPLE, _EXAMPLE])
    ('Ada leads [1][2], they say.', ['citation [7] points to no source: removed'])
    """
    text = hide_code(text)
    warnings: list[str] = []
    pieces: list[str] = []
    position = 0
    for match in _BRACKET.finditer(text):
        start, end = match.span()
        meant = _meant(match, passages, choose)
        if meant is None:
            continue
        known = [n for n in meant if 1 <= n <= len(passages)]
        if _is_copied(text, start, end, passages):
            known = []
            warnings.append(f"citation {match.group()} was copied from a document: removed")
        elif len(known) < len(meant) or not meant:
            unknown = [n for n in meant if n not in known]
            warnings.append(_report(match.group(), unknown, bool(known)))
        pieces += [text[position:start], *(f"[{n}]" for n in dict.fromkeys(known))]
        position = end
        if not known:
            pieces[-1] = pieces[-1].rstrip(" \t") if _closes(text, end) else pieces[-1]
    pieces.append(text[position:])
    joined = MARKS.sub(_joined, "".join(pieces))
    return show_code(joined), list(dict.fromkeys(warnings))


_EXAMPLE = Passage("text_unit", "", 1.0, "u", "d", "", "", "", None, 0, 0)


def hide_code(text: str) -> str:
    """The text with stand-ins for the brackets inside code, so that nothing there is a mark.

    Every character keeps its place. :func:`show_code` brings the brackets back. Stand-ins that
    the text itself holds become U+FFFD.

    >>> MARK.findall(hide_code("Ada leads it [1]; see `x[42]`")), show_code(hide_code("`x[42]`"))
    (['1'], '`x[42]`')
    """
    return _CODE.sub(lambda code: code.group().translate(_HIDE), text.translate(_FOREIGN))


def show_code(text: str) -> str:
    """The text with the brackets that :func:`hide_code` hid."""
    return text.translate(_SHOW)


def defuse_marks(text: str) -> str:
    """Text of a document in which nothing looks like one of our marks.

    >>> defuse_marks("sure [1-3] 【7】 [^2] [Data: Reports (9)] [note]")
    'sure (1-3) (7) (^2) (Data: Reports (9)) [note]'
    """

    def rounded(match: re.Match[str]) -> str:
        inner = unicodedata.normalize("NFKC", match.group(1)).strip()
        ours = any(pattern.fullmatch(inner) for pattern in (_NUMBERS, _DATA, _SOURCE))
        return f"({match.group(1)})" if ours else match.group()

    return _BRACKET.sub(rounded, text)


def _joined(match: re.Match[str]) -> str:
    return "".join(f"[{n}]" for n in dict.fromkeys(MARK.findall(match.group())))


def _closes(text: str, end: int) -> bool:
    """Whether a space before a removed mark is left over."""
    return end == len(text) or text[end] in " \t\n.,;:!?)]。，；：！？）、"


def _report(mark: str, unknown: Sequence[int], kept: bool) -> str:
    if kept:
        numbers = ", ".join(map(str, unknown))
        return f"citation {mark}: no source has the number {numbers}: removed"
    return f"citation {mark} points to no source: removed"


def _meant(
    match: re.Match[str], passages: Sequence[Passage], choose: Choose | None
) -> list[int] | None:
    """Numbers that a bracket stands for, known or not; None when it is no mark."""
    inner = unicodedata.normalize("NFKC", match.group(1)).strip()
    if _NUMBERS.fullmatch(inner):
        numbers = _numbers(inner)
        year = len(numbers) == 1 and numbers[0] in _YEARS and numbers[0] > len(passages)
        return None if year else numbers
    if data := _DATA.fullmatch(inner):
        groups = _GROUP.findall(data.group(1))
        told = [body for name, body in groups if _IS_SOURCE.fullmatch(name.strip())]
        return [n for body in told for n in _numbers(body)] if groups else _numbers(data.group(1))
    if source := _SOURCE.fullmatch(inner):
        told_as = source.group(1) or source.group(2)
        if _NUMBERS.fullmatch(told_as):
            return _numbers(told_as)
        before = match.string[max(0, match.start() - 300) : match.start()]
        names = re.split(r"[;；,，、]", told_as)
        found = [_named(name, passages) for name in names]
        first = choose or (lambda text, numbers: numbers[0])
        return [first(before, numbers) for numbers in found if numbers]
    return None


def _numbers(text: str) -> list[int]:
    numbers: list[int] = []
    for first, last in _PART.findall(text.partition("†")[0]):
        start, end = int(first[:9]), int((last or first)[:9])
        few = start <= end < start + _LONGEST_RANGE
        numbers += list(range(start, end + 1)) if few else [start, end]
    return numbers


def _named(name: str, passages: Sequence[Passage]) -> list[int]:
    """Numbers of the sources whose path, file name or title this is."""
    key = fold(name.strip().strip("\"'“”《》"))
    return [
        number
        for number, passage in enumerate(passages, 1)
        if key
        and key in {fold(passage.path), fold(PurePosixPath(passage.path).name), fold(passage.title)}
    ]


def _is_copied(text: str, start: int, end: int, passages: Sequence[Passage]) -> bool:
    before = max(0, start - _COPIED)
    if not text[before:start].strip():
        return False
    return any(text[before:end] in passage.text for passage in passages)
