"""Sentence boundaries in Chinese and English, as character spans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

# A sentence ends after 。！？… (with closing quotes), after ! ? . before a space, or at a line end.
_END = re.compile(
    r"""
    (?:[。！？!?…]+|(?<=[^\W\d_])；|；)["'”’」』）)\]】]*   # Chinese ends and !?
    |\.["'”’)\]]*(?=\s|$)                                   # a full stop before white space
    |\n                                                     # a line end
    """,
    re.VERBOSE,
)

_ABBREVIATIONS = frozenset(
    "mr mrs ms dr prof sr jr st mt vs etc inc ltd co corp no vol fig al eg ie cf approx dept est "
    "gen col lt sgt capt rev hon gov sen rep jan feb mar apr jun jul aug sep sept oct nov dec "
    "e.g i.e u.s u.k a.m p.m ph.d".split()
)
_LONGEST_WORD = 40
# Text units are cut into sentences by one stage after the other; shorter texts seldom again.
_SHORT, _KEPT = 200, 4096
_LAST_WORD = re.compile(r"([^\s(（\[\"“]+)\.$")


def cover_spans(text: str) -> list[tuple[int, int]]:
    """Sentence spans that cover the whole text without gaps or overlaps, white space included.

    >>> cover_spans("你好。 再见！")
    [(0, 4), (4, 7)]
    """
    return list(_cover(text))


def _cover(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for match in _END.finditer(text):
        end = match.end()
        if match.group().startswith(".") and _is_abbreviation(text, start, match.start() + 1, end):
            continue
        while end < len(text) and text[end].isspace():
            end += 1
        if end <= start:
            continue
        yield start, end
        start = end
    if start < len(text):
        yield start, len(text)


def _is_abbreviation(text: str, start: int, dot_end: int, end: int) -> bool:
    found = _LAST_WORD.search(text, max(start, dot_end - _LONGEST_WORD), dot_end)
    word = found.group(1) if found else ""
    if len(word) == 1 and word.isalpha() and word.isupper():
        return True
    if word.lower() in _ABBREVIATIONS:
        return True
    while end < len(text) and text[end].isspace():
        end += 1
    return text[end : end + 1].islower()


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Trimmed sentence spans in order; blank ones left out. ``text[start:end]`` is the sentence.

    Sentences end at 。！？；… with closing quotes, at ``.!?`` before white space (not after
    abbreviations and initials), and at line ends.

    >>> text = "Dr. J. Smith came. He left!\\n陈明来了。他走了"
    >>> [text[a:b] for a, b in sentence_spans(text)]
    ['Dr. J. Smith came.', 'He left!', '陈明来了。', '他走了']
    """
    return list(_kept_spans(text) if len(text) > _SHORT else each_sentence(text))


@lru_cache(_KEPT)
def _kept_spans(text: str) -> tuple[tuple[int, int], ...]:
    return tuple(each_sentence(text))


def each_sentence(text: str) -> Iterator[tuple[int, int]]:
    """The spans of :func:`sentence_spans` one by one, for those who need only the first."""
    for start, end in _cover(text):
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        if start < end:
            yield start, end
