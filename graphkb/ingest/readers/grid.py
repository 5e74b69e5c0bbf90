"""Grids of cells as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from graphkb.text.table_rows import is_number

Row = Sequence[str | None]
"""Cells of a row; None is a cell that the merged cell to its left covers."""

_YEAR = re.compile(r"(?:19|20)\d\d")
_CLOSED = re.compile(r"[。！？!?；;，,：:、.]$")
_DEEPEST_HEADER = 3
_MOST_TOLD = 5


def cell_text(lines: Iterable[str]) -> str:
    """A cell's lines as one, joined with ``; `` where a line does not end with a sign of its own.

    >>> cell_text(["Fly south", "", "build  nest:", "on ground"])
    'Fly south; build nest: on ground'
    """
    text = ""
    for line in lines:
        line = " ".join(line.split())
        if line:
            text += (" " if _CLOSED.search(text) else "; ") * bool(text) + line
    return text


def is_value(cell: str) -> bool:
    """True for numbers that name no column; years do.

    >>> is_value("49"), is_value("2024"), is_value("Q1")
    (True, False, False)
    """
    return is_number(cell) and not _YEAR.fullmatch(cell.strip())


def grid_markdown(rows: Sequence[Row], names: Sequence[str] = (), n_header: int = 0) -> str:
    """The grid as one Markdown table with one header row, rows padded to the same width.

    Two or three header rows become one, ``a / b``, where cells of the upper one are merged over
    several named columns, or where the document says that ``n_header`` rows are header. Rows of
    a single text over the whole width stand above the table as its title, or below it as
    remarks. A cell over several columns stands in the first; one over several rows is expected
    in each. One column only becomes lines, not a table. With ``names`` these are the header and
    every row is data.
    """
    return "\n".join(line for line, _ in grid_lines(rows, names, n_header))


def grid_lines(
    rows: Sequence[Row], names: Sequence[str] = (), n_header: int = 0
) -> list[tuple[str, int | None]]:
    """The lines of :func:`grid_markdown`, each with the place in ``rows`` of the row that it
    shows, of the first where it shows several; None for a line that is no row's."""
    places, grid = _trimmed(rows)
    if not grid:
        return []
    if len(grid[0]) == 1:
        return [(row[0] or "", place) for place, row in zip(places, grid, strict=True)]
    first, last = (0, len(grid)) if names else _bounds(grid)
    table = grid[first:last]
    if names:
        depth, header = 0, [*names[: len(table[0])]]
    else:
        told = min(n_header - len({row[0] for row in grid[:first]}), len(table) - 1, _MOST_TOLD)
        depth = told if told > 1 else _header_depth(table)
        header = [_joined(column) for column in zip(*map(_filled, table[:depth]), strict=True)]
        if depth == 1:
            header = [cell or "" for cell in table[0]]
    titles: dict[str, int | None] = {}
    for place, row in zip(places[:first], grid[:first], strict=True):
        titles.setdefault(row[0] or "", place)
    lines: list[tuple[str, int | None]] = [
        (_line(header), places[first] if depth else None),
        ("|" + "---|" * len(header), None),
    ]
    body = zip(places[first + depth : last], table[depth:], strict=True)
    lines += [(_line(row), place) for place, row in body]
    remarks = [(row[0] or "", at) for at, row in zip(places[last:], grid[last:], strict=True)]
    above = [*titles.items(), *[("", None)] * bool(titles)]
    below = [*[("", None)] * bool(remarks), *remarks]
    return [*above, *lines, *below]


def _line(row: Row) -> str:
    cells = ((cell or "").replace("|", "\\|").replace("\n", " ") for cell in row)
    return "| " + " | ".join(cells) + " |"


def _trimmed(rows: Sequence[Row]) -> tuple[list[int], list[list[str | None]]]:
    """Rows that hold text, padded, without empty columns at the right, and their places."""
    kept = [(place, list(row)) for place, row in enumerate(rows) if any(row)]
    width = max((at + 1 for _, row in kept for at, cell in enumerate(row) if cell), default=0)
    return [place for place, _ in kept], [(row + [""] * width)[:width] for _, row in kept]


def _bounds(grid: list[list[str | None]]) -> tuple[int, int]:
    """Where the table begins and ends: titles stand above it, remarks below."""
    first, last = 0, len(grid)
    while first < last - 2 and _is_title(grid[first], grid[first + 1 : first + 3]):
        first += 1
    while last - first > 2 and _is_merged(grid[last - 1]):
        last -= 1
    return first, last


def _is_merged(row: Row) -> bool:
    """True for one text merged over the whole width."""
    return bool(row[0]) and all(cell is None for cell in row[1:])


def _is_title(row: Row, below: Sequence[Row]) -> bool:
    if not row[0] or any(row[1:]):
        return False
    return _is_merged(row) or (len(row) > 2 and sum(map(bool, below[0])) > 1)


def _header_depth(grid: list[list[str | None]]) -> int:
    depth = 1
    while (
        depth < min(_DEEPEST_HEADER, len(grid) - 1)
        and None in grid[depth - 1]
        and _names_columns(grid[depth - 1], grid[depth])
    ):
        depth += 1
    return depth


def _names_columns(upper: Row, lower: Row) -> bool:
    """True where each merged cell above stands over different names and the rest adds nothing."""
    at = 0
    while at < len(upper):
        end = at + 1
        while end < len(upper) and upper[end] is None:
            end += 1
        below = [cell for cell in lower[at:end] if cell is not None]
        if end - at > 1:
            if not all(below) or len(set(below)) < 2 or any(map(is_value, below)):
                return False
        elif upper[at] and lower[at] and upper[at] != lower[at]:
            return False
        at = end
    return True


def _filled(row: Row) -> list[str]:
    """The row with merged cells' text in every column they cover."""
    filled: list[str] = []
    for cell in row:
        filled.append(cell if cell is not None else filled[-1] if filled else "")
    return filled


def _joined(cells: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(cell for cell in cells if cell))
