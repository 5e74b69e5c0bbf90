"""Looking through the text of all text units for a name, without an index."""

from __future__ import annotations

import re
from typing import Any

import numpy.typing as npt

EDGE = r"(?<![A-Za-z0-9])"
"""In front of a pattern: no ASCII letter or digit stands before it."""

_CHUNK = 1 << 20
# How much longer than its pattern a match may be: separators may stand between all characters.
_LONGER = 4


def is_in(text: npt.NDArray[Any], pattern: str, *, any_case: bool = True) -> bool:
    """Whether UTF-8 ``text``, uint8 [n], matches; of letters only ASCII ones have a case.

    Piece by piece and in small letters, and :data:`EDGE` is looked at by hand: in front of a
    pattern, and with ``re.IGNORECASE``, it keeps ``re`` from jumping from one first letter to the
    next, which takes twenty times as long.
    """
    edge = pattern.startswith(EDGE)
    body = pattern.removeprefix(EDGE)
    wanted = re.compile((_in_small_letters(body) if any_case else body).encode())
    beyond = _LONGER * len(wanted.pattern)
    for start in range(0, len(text) or 1, _CHUNK):
        # One byte more in front, to see what stands before a match.
        before = min(start, 1)
        piece = text[start - before : start + _CHUNK + beyond].tobytes()
        for match in wanted.finditer(piece.lower() if any_case else piece, before):
            first = match.start()
            if not (edge and first and piece[first - 1 : first].isalnum()):
                return True
    return False


def _in_small_letters(pattern: str) -> str:
    """The pattern in small letters; what stands behind a backslash stays (``\\D``, ``\\S``)."""
    return re.sub(
        r"\\.|[A-Z]", lambda m: m.group() if m.group()[0] == "\\" else m.group().lower(), pattern
    )
