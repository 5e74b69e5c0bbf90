"""A run of text without sentence ends, cut by tokens."""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right

from graphkb.ingest.chunkers.piece import Budget, Piece, trim
from graphkb.text.tokens import count_tokens, token_starts

# A longer pile of marks or joined signs is no character anyone wrote.
_LONGEST_CHARACTER = 64
_SOFT = frozenset("，,、；;：:。！？!?）)】」』》|")


def cut_long(text: str, start: int, end: int, kind: str, budget: Budget) -> list[Piece]:
    """Pieces of at most ``budget.size`` tokens that repeat ``budget.overlap`` tokens.

    Cut after a comma or at a space where one stands in the last quarter, else at a token; never
    inside a character and, unless it alone is too long, never inside a combined one
    (emoji sequences, accents, flags). Every piece has text that the one before has not.
    """
    start, end = trim(text, start, end)
    starts = [start + offset for offset in token_starts(text[start:end])]
    pieces: list[Piece] = []
    begin = done = start
    while done < end:
        stop = _stop(text, starts, begin, end, budget.size)
        if stop <= done:
            if begin < done:
                begin = done
                continue
            stop = _one_character(text, begin, end, budget.size)
        first, last = trim(text, begin, stop)
        pieces.append(Piece(first, last, count_tokens(text[first:last]), kind))
        done = stop
        while done < end and text[done].isspace():
            done += 1
        begin = _overlap_start(text, starts, first, done, budget.overlap)
    return pieces


def _stop(text: str, starts: list[int], begin: int, end: int, size: int) -> int:
    """Where a span from ``begin`` ends; ``begin`` itself where not even one token fits."""
    limit = bisect_left(starts, begin) + size
    while True:
        hard = starts[limit] if limit < len(starts) else end
        stop = end if hard >= end else _soft_stop(text, begin, hard)
        if stop <= begin or count_tokens(text[begin:stop].strip()) <= size:
            return max(stop, begin)
        limit = min(limit, len(starts)) - 1
        while limit > 0 and starts[limit] >= stop:
            limit -= 1
        if starts[limit] <= begin:
            return begin


def _soft_stop(text: str, begin: int, hard: int) -> int:
    floor = hard - (hard - begin) // 4
    for at in range(hard, max(floor, begin), -1):
        if text[at - 1] in _SOFT or text[at - 1].isspace() or text[at].isspace():
            return at
    stop = hard
    while stop > max(begin, hard - _LONGEST_CHARACTER) and splits_character(text, stop):
        stop -= 1
    return hard if splits_character(text, stop) else stop


def _one_character(text: str, begin: int, end: int, size: int) -> int:
    """The end of the combined character at ``begin``, or of its first part where it is too long."""
    stop = begin + 1
    while stop < min(end, begin + _LONGEST_CHARACTER) and splits_character(text, stop):
        stop += 1
    if count_tokens(text[begin:stop]) <= size:
        return stop
    stop = begin + 1
    while stop < end and count_tokens(text[begin : stop + 1]) <= size:
        stop += 1
    return stop


def _overlap_start(text: str, starts: list[int], before: int, done: int, overlap: int) -> int:
    if not overlap:
        return done
    at = starts[max(0, bisect_right(starts, done) - 1 - overlap)]
    at = max(at, before + 1)
    while at < done and (splits_character(text, at) or _splits_word(text, at)):
        at += 1
    return min(at, done)


def _splits_word(text: str, at: int) -> bool:
    return text[at - 1].isascii() and text[at].isascii() and text[at - 1 : at + 1].isalnum()


def splits_character(text: str, at: int) -> bool:
    """True where cutting at ``at`` would part what is read as one character.

    The cases of Unicode's grapheme clusters (UAX 29) that occur in running text: marks,
    joiners, variation selectors, skin tones, flags, Korean letters.

    >>> splits_character("e\\u0301", 1), splits_character("ab", 1)
    (True, False)
    """
    if not 0 < at < len(text):
        return False
    after, before = text[at], text[at - 1]
    if after < "\u0300":
        return before == "\r" and after == "\n"
    if before == "\u200d" or after == "\u200d" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return not before.isspace()
    if _is_flag(after) and _is_flag(before):
        first = at - 1
        while first > max(0, at - _LONGEST_CHARACTER) and _is_flag(text[first - 1]):
            first -= 1
        return (at - first) % 2 == 1
    if "\u1160" <= after <= "\u11ff":
        return "\u1100" <= before <= "\u11ff" or "\uac00" <= before <= "\ud7a3"
    return (
        unicodedata.category(after) in {"Mn", "Mc", "Me"} or "\U000e0020" <= after <= "\U000e007f"
    )


def _is_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
