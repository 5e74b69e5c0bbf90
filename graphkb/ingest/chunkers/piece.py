"""What chunkers work with and give."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

UNCOUNTED = -1
"""Tokens of a piece that has no more than a unit may hold."""


@dataclass(frozen=True)
class Budget:
    """Most tokens a unit holds and the tokens it may repeat from the one before.

    ``rows`` is the most rows of a large table in one unit; ``breaks`` are offsets, ascending, at
    which a unit has to end: where pages begin. Without ``counts`` the tokens of a text that fits
    for sure are left to be counted later (:data:`UNCOUNTED`).
    """

    size: int
    overlap: int
    rows: int = 1
    breaks: tuple[int, ...] = ()
    counts: bool = True

    @property
    def small(self) -> int:
        """Below this many tokens a section is too little to stand alone."""
        return self.size // 4


@dataclass(frozen=True)
class Piece:
    """A span of the document that becomes a unit; never blank, trimmed at both ends.

    ``n_tokens`` is counted on the span itself; ``kind`` is prose, table, row or code; ``header``
    stands below the headings in the unit's context: of rows their cells with column names.
    """

    start: int
    end: int
    n_tokens: int
    kind: str = "prose"
    heading_path: tuple[str, ...] = ()
    header: str = ""


Chunker = Callable[[str, Budget], list[Piece]]


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without white space at its ends; empty at ``start`` where there is nothing else."""
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return start, end


def kind_of(kinds: Iterable[str]) -> str:
    """Table or code where there is nothing else but headings, else prose."""
    found = set(kinds) - {"heading", "blank"}
    return found.pop() if found in ({"table"}, {"code"}) else "prose"
