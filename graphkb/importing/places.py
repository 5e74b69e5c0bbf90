"""Where the text units of another tool stand in the texts of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

PLACES = {
    "unit": pl.String(),
    "document_id": pl.String(),
    "char_start": pl.Int64(),
    "char_end": pl.Int64(),
}

# A token limit may cut a character in two; GraphRAG then leaves its replacement at the edge.
_BROKEN = "\ufffd"
_METADATA = re.compile(r"[^\n:]{1,60}: [^\n]*\n")
_MOST_METADATA = 20


def place_units(units: pl.DataFrame, texts: Mapping[str, str]) -> pl.DataFrame:
    """The span of each unit in its document: unit, document_id, char_start, char_end.

    ``units`` has id, text and document_ids, in the order in which they were cut; ``texts`` are
    the documents by id. White space may differ, and lines of metadata put before a unit are
    passed over. A unit that stands nowhere gets no row.
    """
    rows: list[tuple[str, str, int, int]] = []
    searchers = {name: Searcher(text) for name, text in texts.items()}
    for unit, text, documents in units.select("id", "text", "document_ids").iter_rows():
        for document in documents:
            span = searchers[document].find(text) if document in searchers else None
            if span is not None:
                rows.append((unit, document, *span))
    return pl.DataFrame(rows, schema=PLACES, orient="row")


class Searcher:
    """Finds pieces of one text, each at or after the start of the one found before."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last = 0
        self._visible: tuple[str, NDArray[np.int64]] | None = None

    def find(self, piece: str) -> tuple[int, int] | None:
        """The span of ``piece``, or None."""
        for wanted in _forms(piece):
            start = self._text.find(wanted, self._last)
            start = start if start >= 0 else self._text.find(wanted)
            span = (start, start + len(wanted)) if start >= 0 else self._find_visible(wanted)
            if span is not None:
                self._last = span[0]
                return span
        return None

    def _find_visible(self, piece: str) -> tuple[int, int] | None:
        """As :meth:`find`, all white space left out of account."""
        if self._visible is None:
            self._visible = visible(self._text)
        text, offsets = self._visible
        wanted = visible(piece)[0]
        if not wanted:
            return None
        start = text.find(wanted, int(np.searchsorted(offsets, self._last)))
        start = start if start >= 0 else text.find(wanted)
        if start < 0:
            return None
        return int(offsets[start]), int(offsets[start + len(wanted) - 1]) + 1


def visible(text: str) -> tuple[str, NDArray[np.int64]]:
    """``text`` without white space, and the offset of each character that is left.

    >>> visible("a b")[0], visible("a b")[1].tolist()
    ('ab', [0, 2])
    """
    kept = [place for place, character in enumerate(text) if not character.isspace()]
    return "".join(text.split()), np.array(kept, dtype=np.int64)


def _forms(piece: str) -> Iterator[str]:
    """The piece without broken edges, then without one, two, … lines of metadata before it."""
    piece = piece.strip(_BROKEN).strip()
    for _ in range(_MOST_METADATA):
        if not piece:
            return
        yield piece
        line = _METADATA.match(piece)
        if line is None:
            return
        piece = piece[line.end() :].strip(_BROKEN).strip()
