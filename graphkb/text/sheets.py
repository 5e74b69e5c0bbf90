"""Which sheet and row of a workbook, or row of a CSV file, a place in its text is.

Readers write both into the metadata of the document: the names of the sheets, each a page, and of
each sheet the runs of its lines. A CSV file has one sheet without a name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
"""Media type of documents read from workbooks."""

WITH_ROWS = frozenset((SPREADSHEET, "text/csv", "text/tab-separated-values"))
"""Media types of documents that may have rows."""

_SLIDES = (".pptx", ".pptm", ".ppsx")

SHEETS = "sheets"
"""Metadata of a workbook: the names of its sheets, one a page."""

SHEET_ROWS = "sheet_rows"
"""Metadata of a workbook or CSV file: for each sheet the :func:`row_runs` of its text."""

# Sheets with more gaps than this have their name alone told.
_MOST_RUNS = 5_000


def has_slides(path: str) -> bool:
    """Whether the pages of a file, by its name, are slides.

    >>> has_slides("ops/Launch.PPTX"), has_slides("launch.pdf")
    (True, False)
    """
    return path.lower().endswith(_SLIDES)


def row_runs(rows: Sequence[int]) -> list[list[int]]:
    """``[line, row]`` where the lines from ``line`` on are the rows from ``row`` on, or none where
    that is 0. ``rows`` has the row of each line, from 1, or 0.

    >>> row_runs([0, 0, 1, 0, 2, 3, 7])
    [[0, 0], [2, 1], [3, 0], [4, 2], [6, 7]]
    """
    runs: list[list[int]] = []
    before = -1
    for line, row in enumerate(rows):
        if not runs or row != (before + 1 if before else 0):
            runs.append([line, row])
        before = row
    return runs if len(runs) <= _MOST_RUNS else []


@dataclass(frozen=True)
class SheetPlace:
    """The sheets that something is in, and its first and last row, from 1, where it is in one
    sheet and the rows are known."""

    sheets: tuple[str, ...] = ()
    row: int | None = None
    row_end: int | None = None


class SheetMap:
    """The sheets and rows of one workbook's text."""

    def __init__(self, text: str, page_starts: Sequence[int], metadata: Mapping[str, Any]) -> None:
        """``metadata`` is the document's; without what the reader writes nothing is told."""
        names, rows = metadata.get(SHEETS), metadata.get(SHEET_ROWS)
        self._names = names if isinstance(names, list) else []
        self._rows = rows if isinstance(rows, list) else []
        self._starts = page_starts if len(page_starts) == len(self._names) else ()
        if not self._names and not page_starts and len(self._rows) == 1:
            self._starts = (0,)
        self._lines = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]

    def place(self, start: int, end: int) -> SheetPlace:
        """The sheets and rows of a span of the text."""
        if not self._starts:
            return SheetPlace()
        first, last = (max(0, bisect_right(self._starts, at) - 1) for at in (start, end - 1))
        names = tuple(str(name) for name in self._names[first : last + 1])
        if first != last or first >= len(self._rows):
            return SheetPlace(names)
        above = self._line(self._starts[first])
        lines = range(self._line(start) - above, self._line(end - 1) - above + 1)
        rows = [row for line in lines if (row := _row(self._rows[first], line))]
        return SheetPlace(names, min(rows, default=None), max(rows, default=None))

    @property
    def has_rows(self) -> bool:
        """Whether the numbers of rows are known."""
        return bool(self._starts) and any(self._rows)

    @property
    def last_row(self) -> int:
        """The highest number of a row; 0 where none is known."""
        return max((row for _, _, row in self._numbered()), default=0)

    def spans_of(self, row: int, question: str = "") -> list[tuple[int, int]]:
        """Where the row with this number stands in the text, without its line end: in each sheet
        that has one, or in those alone that the question names."""
        named = [bool(name) and str(name).casefold() in question.casefold() for name in self._names]
        spans: dict[int, tuple[int, int]] = {}
        for sheet, line, number in self._numbered():
            if number == row and (named[sheet : sheet + 1] == [True] or not any(named)):
                start = spans.get(sheet, (self._lines[line],))[0]
                spans[sheet] = start, self._lines[line + 1] - 1
        return list(spans.values())

    def _numbered(self) -> Iterator[tuple[int, int, int]]:
        """The place of the sheet, the line of the text and the row of each line with a number that
        is not empty."""
        bounds = [*(self._line(start) for start in self._starts), len(self._lines) - 1]
        for sheet, runs in enumerate(self._rows[: len(self._starts)]):
            for line in range(bounds[sheet], bounds[sheet + 1]):
                row = _row(runs, line - bounds[sheet])
                if row and self._lines[line + 1] - self._lines[line] > 1:
                    yield sheet, line, row

    def _line(self, offset: int) -> int:
        return bisect_right(self._lines, offset) - 1


def _row(runs: Sequence[Sequence[int]], line: int) -> int:
    at = bisect_right(runs, line, key=lambda run: run[0]) - 1
    if at < 0 or not runs[at][1]:
        return 0
    return runs[at][1] + line - runs[at][0]
