"""Tables with ruling lines, and rows that only their text shows."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from graphkb.ingest.pdf.columns import lines_of
from graphkb.ingest.pdf.edges import TOLERANCE, ruled_cells
from graphkb.ingest.pdf.shapes import Box, Line, Run, Table, around, joint, n_words

_MOST_HEADER_ROWS = 5
_LEAST_FILLED = 0.25
_LEAST_ROW = 0.6
_LEAST_FITTING = 0.4
_MOST_WORDS = 30


@dataclass(frozen=True)
class Found:
    """A table and the words it is made of."""

    table: Table
    words: tuple[Run, ...]


def ruled_tables(rules: list[Box], words: list[Run]) -> list[Found]:
    """The tables whose cells ruling lines enclose, with at least two rows and two columns.

    Cells that reach over several rows are repeated in each, those over several columns stand
    in the first. Columns and rows without any text are left out.
    """
    found = [made for group in ruled_cells(rules) if (made := _table(group, words))]
    return [
        one
        for one in found
        if not any(
            other.table.box.holds(one.table.box) and other.table.box.width > one.table.box.width
            for other in found
        )
    ]


def _table(cells: list[Box], words: list[Run]) -> Found | None:
    cells = _without_captions(cells)
    if len(cells) < 4:
        return None
    frame = around(cells)
    inside = [word for word in words if frame.holds(word.box)]
    if len(inside) < 3:
        return None
    columns = _levels([x for cell in cells for x in (cell.x0, cell.x1)])
    rows = _levels([y for cell in cells for y in (cell.top, cell.bottom)])
    grid = _Grid(columns, rows, cells, inside)
    lines = grid.rows()
    if len(lines) < 2 or len(lines[0][1]) < 2:
        return None
    words_in = [n_words(text) for _, line in lines for text in line if text]
    if median(words_in) > _MOST_WORDS:
        return None
    if len(words_in) < max(3, _LEAST_FILLED * len(lines) * len(lines[0][1])):
        return None
    table = Table(frame, tuple(tuple(line) for _, line in lines), grid.n_header(lines))
    return Found(table, tuple(inside))


def _without_captions(cells: list[Box]) -> list[Box]:
    """The cells without those above and below that reach over the whole width: titles, notes."""
    frame = around(cells)
    parts = [cell for cell in cells if cell.width < frame.width - 2 * TOLERANCE]
    if not parts:
        return []
    body = around(parts)
    return [cell for cell in cells if body.top - 1 < cell.middle < body.bottom + 1]


def _levels(values: list[float]) -> list[float]:
    """Distinct coordinates in order; those closer than the tolerance are one."""
    levels: list[float] = []
    for value in sorted(values):
        if not levels or value - levels[-1] > TOLERANCE:
            levels.append(value)
    return levels


def _at(levels: list[float], value: float) -> int:
    return max(0, min(bisect_left(levels, value - TOLERANCE), len(levels) - 1))


class _Grid:
    """Cells by row and column with their lines of text."""

    def __init__(
        self, columns: list[float], rows: list[float], cells: list[Box], words: list[Run]
    ) -> None:
        self.columns, self.levels = columns, rows
        self.n_rows, self.n_columns = len(rows) - 1, len(columns) - 1
        self.spans: dict[tuple[int, int], tuple[int, int]] = {}
        self.owner: dict[tuple[int, int], tuple[int, int]] = {}
        self.texts: dict[tuple[int, int], list[Line]] = {}
        for cell in sorted(cells, key=lambda cell: cell.width * cell.height):
            self._add(cell)
        loose: dict[tuple[int, int], list[Run]] = {}
        for word in words:
            loose.setdefault(self._place(word.box), []).append(word)
        for place, runs in loose.items():
            self.texts[place] = lines_of(runs)
        self.spread = {place: parts for place in self.texts if (parts := self._spread(place))}

    def _add(self, cell: Box) -> None:
        first = _at(self.levels, cell.top), _at(self.columns, cell.x0)
        last = _at(self.levels, cell.bottom), _at(self.columns, cell.x1)
        self.spans[first] = max(1, last[0] - first[0]), max(1, last[1] - first[1])
        for row in range(first[0], max(last[0], first[0] + 1)):
            for column in range(first[1], max(last[1], first[1] + 1)):
                self.owner.setdefault((row, column), first)

    def _place(self, box: Box) -> tuple[int, int]:
        row = max(0, min(bisect_left(self.levels, box.middle) - 1, self.n_rows - 1))
        column = self._column((box.x0 + box.x1) / 2)
        return self.owner.get((row, column), (row, column))

    def _column(self, across: float) -> int:
        return max(0, min(bisect_left(self.columns, across) - 1, self.n_columns - 1))

    def _spread(self, place: tuple[int, int]) -> dict[int, list[Line]]:
        """Lines by column of a merged cell that holds a name for each of its columns.

        The names stand in the only line, or below a first line that is for all of them.
        """
        across = self.spans.get(place, (1, 1))[1]
        lines = self.texts[place]
        if across < 2 or (len(lines) < 2 and across < 3):
            return {}
        columns: dict[int, list[Line]] = {}
        if len(lines) > 1:
            columns[place[1]] = [lines[0]]
        for line in lines[1:] or lines:
            parts: dict[int, list[Run]] = {}
            for run in line.runs:
                column = self._column((run.box.x0 + run.box.x1) / 2)
                slack = 0.2 * run.box.width
                if run.box.x0 + slack < self.columns[column]:
                    return {}
                if run.box.x1 - slack > self.columns[column + 1]:
                    return {}
                parts.setdefault(column, []).append(run)
            if len(parts) < (0.6 * across if len(lines) > 1 else across) or len(parts) < 2:
                return {}
            for column, runs in parts.items():
                columns.setdefault(column, []).append(Line.of(runs))
        return columns

    def rows(self) -> list[tuple[int, list[str]]]:
        """(grid row, cells) of every row with text; columns without text are left out."""
        used = [
            column
            for column in range(self.n_columns)
            if any(place[1] == column for place in self.texts)
            or any(column in lines for lines in self.spread.values())
        ]
        return [
            (row, line)
            for row in range(self.n_rows)
            for line in self._split(row, used)
            if any(line)
        ]

    def _split(self, row: int, used: list[int]) -> list[list[str]]:
        """The row's cells; several rows where no ruling line parts lines that belong together."""
        cells: list[list[Line]] = []
        whole: dict[int, str] = {}
        spread = False
        for at, column in enumerate(used):
            owner = self.owner.get((row, column), (row, column))
            lines = self.texts.get(owner, []) if owner[1] == column else []
            if owner in self.spread:
                lines = self.spread[owner].get(column, [])
                spread = True
            if self.spans.get(owner, (1, 1))[0] > 1:
                whole[at], lines = _joined(lines), []
            cells.append(lines)
        levels = self._levels(cells, used, spread=spread)
        if len(levels) < 2:
            return [[whole.get(at) or _joined(lines) for at, lines in enumerate(cells)]]
        return [
            [
                whole.get(at) or _joined([line for line in lines if _row_of(levels, line) == row])
                for at, lines in enumerate(cells)
            ]
            for row in range(len(levels))
        ]

    def _levels(self, cells: list[list[Line]], used: list[int], *, spread: bool) -> list[float]:
        """The heights at which rows begin that no ruling line parts; one or none where it is one.

        Rows begin at the levels where most cells have a line, unless the lines are wrapped text:
        the first word of a line would not have fitted the line above.
        """
        filled = [lines for lines in cells if lines]
        levels = _row_levels(filled)
        if spread:
            return levels
        least = max(2, _LEAST_ROW * len(filled))
        full = [
            level
            for level in levels
            if sum(any(_is_at(level, line) for line in lines) for lines in filled) >= least
        ]
        fits = total = 0
        for column, lines in zip(used, cells, strict=True):
            width = self.columns[column + 1] - self.columns[column]
            for above, below in zip(lines, lines[1:] if len(lines) <= len(full) else [],
                                    strict=False):  # fmt: skip
                total += 1
                fits += above.box.width + _first_word(below) + 2 * above.size < width
        return full if fits > _LEAST_FITTING * total else []

    def n_header(self, rows: Sequence[tuple[int, list[str]]]) -> int:
        """Header rows: the first, and those its merged cells reach over; none of numbers only."""
        top = rows[0][0]
        if not any(_is_name(text) for text in rows[0][1]):
            return 0
        deep = wide = 1
        for (row, _), (down, across) in self.spans.items():
            if row == top:
                deep, wide = max(deep, down), max(wide, across)
        deep = max(deep, 2 if wide > 1 else 1)
        number = sum(row < top + deep for row, _ in rows)
        return number if number <= min(_MOST_HEADER_ROWS, len(rows) - 1) else 1


def _is_name(text: str) -> bool:
    return any(character.isalpha() for character in text)


def _first_word(line: Line) -> float:
    text = line.text
    return line.box.width * len(text.split(" ", 1)[0]) / max(len(text), 1)


def _row_levels(cells: list[list[Line]]) -> list[float]:
    """The heights of the lines of all cells; those on one level are one."""
    levels: list[float] = []
    boxes = sorted((line.box for lines in cells for line in lines), key=lambda box: box.middle)
    for box in boxes:
        if not levels or box.middle - levels[-1] > 0.5 * box.height:
            levels.append(box.middle)
    return levels


def _is_at(level: float, line: Line) -> bool:
    return abs(level - line.box.middle) <= 0.5 * line.box.height


def _row_of(levels: list[float], line: Line) -> int:
    """The row a line belongs to: the last that begins above it or at its height."""
    return max(0, bisect_right(levels, line.box.middle + 0.5 * line.box.height) - 1)


def _joined(lines: list[Line]) -> str:
    text = ""
    for line in lines:
        text += joint(text, line.text) + line.text
    return text
