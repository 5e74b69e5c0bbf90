"""The tables of a sheet: where its cells stand together, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graphkb.ingest.readers.grid import cell_text, grid_lines
from graphkb.ingest.readers.xlsx_cells import Cells
from graphkb.text.table_head import Row
from graphkb.text.table_rows import is_number

_TALLEST_MERGE = 5_000
_WIDEST_MERGE = 200
_DEEPEST_CUT = 20

Lines = dict[int, dict[int, str | None]]
"""Row to column to text; None where the merged cell to the left covers the place."""


@dataclass
class Region:
    """Rows of cells that stand together, with the first and last column among them."""

    lines: Lines
    first: int
    last: int

    def grid(self) -> list[Row]:
        """The cells from the first to the last column of each row, in order."""
        columns = range(self.first, self.last + 1)
        return [[line.get(column, "") for column in columns] for line in self.lines.values()]


@dataclass(frozen=True)
class SheetBlock:
    """A Markdown block of a sheet; ``rows`` has the sheet's row of each line, from 1, or 0 for
    a line that is no row's."""

    text: str
    rows: tuple[int, ...]


def sheet_blocks(cells: Cells) -> Iterator[SheetBlock]:
    """One Markdown block a table or remark, from the top, then from the left.

    Blank rows and blank columns part tables. Rows after a blank row that go on with numbers
    under a table's columns belong to that table. A first row of nothing but numbers is no
    header: the columns are then named by their letters.
    """
    for region in _continued(_regions(_unmerged(cells), 0)):
        grid = region.grid()
        names = [_letter(region.first + at) for at in range(len(grid[0]))]
        lines = grid_lines(grid, names if _has_no_header(grid) else ())
        if not lines:
            continue
        rows = list(region.lines)
        yield SheetBlock(
            "\n".join(line for line, _ in lines),
            tuple(0 if place is None else rows[place] for _, place in lines),
        )


def _unmerged(cells: Cells) -> Lines:
    """The cells as one line of text each, merged ranges filled down and marked to the right.

    Takes the rows out of ``cells``, so that large sheets are not held twice.
    """
    lines: Lines = {
        row: {
            column: cell_text(text.split("\n")) if "\n" in text else text
            for column, text in sorted(cells.rows.pop(row).items())
        }
        for row in sorted(cells.rows)
    }
    for top, left, bottom, right in cells.merges:
        text = lines.get(top, {}).get(left)
        if not text:
            continue
        for row in range(top, min(bottom, top + _TALLEST_MERGE) + 1):
            line = lines.setdefault(row, {})
            line[left] = text
            for column in range(left + 1, min(right, left + _WIDEST_MERGE) + 1):
                line[column] = None
    return dict(sorted(lines.items()))


def _regions(lines: Lines, depth: int) -> list[Region]:
    """The lines parted at blank rows, each part at blank columns, and so on."""
    found: list[Region] = []
    for rows in _runs(list(lines)):
        part = {row: lines[row] for row in rows}
        columns = sorted({column for line in part.values() for column in line})
        runs = _runs(columns)
        if len(runs) == 1 or depth > _DEEPEST_CUT:
            found.append(Region(part, columns[0], columns[-1]))
            continue
        for run in runs:
            kept = {
                row: {column: text for column, text in line.items() if run[0] <= column <= run[-1]}
                for row, line in part.items()
            }
            found += _regions({row: line for row, line in kept.items() if line}, depth + 1)
    return found


def _runs(numbers: list[int]) -> list[list[int]]:
    """Ascending numbers parted where one is missing."""
    found: list[list[int]] = []
    for one in numbers:
        if found and one == found[-1][-1] + 1:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def _continued(regions: list[Region]) -> list[Region]:
    found: list[Region] = []
    for region in regions:
        above = found[-1] if found else None
        if above is not None and _goes_on(above, region):
            above.lines.update(region.lines)
        else:
            found.append(region)
    return found


def _goes_on(above: Region, below: Region) -> bool:
    """True where the first row below has numbers in the columns that have them above."""
    if len(above.lines) < 2 or below.first < above.first or below.last > above.last:
        return False
    if above.last == above.first or next(iter(below.lines)) <= max(above.lines):
        return False
    last, next_line = above.lines[max(above.lines)], below.lines[min(below.lines)]
    header = above.lines[min(above.lines)]
    counted = [column for column, text in last.items() if text and is_number(text)]
    named = [column for column in counted if not is_number(header.get(column) or "")]
    return bool(named) and all(is_number(next_line.get(column) or "") for column in named)


def _has_no_header(grid: list[Row]) -> bool:
    cells = [cell for cell in grid[0] if cell]
    return len(grid) > 1 and len(grid[0]) > 1 and bool(cells) and all(map(is_number, cells))


def _letter(column: int) -> str:
    """The column's name.

    >>> _letter(1), _letter(28)
    ('A', 'AB')
    """
    name = ""
    while column:
        column, place = divmod(column - 1, 26)
        name = chr(ord("A") + place) + name
    return name
