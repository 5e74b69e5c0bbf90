"""Grids of cells as Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from graphkb.text.table_head import LOOKED_AT, Row, column_names, find_head

_CLOSED = re.compile(r"[。！？!?；;，,：:、.]$")
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


def grid_markdown(rows: Sequence[Row], names: Sequence[str] = (), n_header: int = 0) -> str:
    """The grid as one Markdown table with one header row, rows padded to the same width.

    Two or three header rows become one, ``2024 Revenue``, where the upper one groups the columns
    (:mod:`graphkb.text.table_head`), or where the document says that ``n_header`` rows are header.
    Titles and units stand above the table, rows of one text merged over the whole width below it
    as remarks. A cell over several columns stands in the first; one over several rows is expected
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
    head = find_head(grid[: n_header + LOOKED_AT])
    first, depth = (0, 0) if names else (head.titles, head.depth)
    last = len(grid) if names else _end(grid, first + depth + 1)
    table = grid[first:last]
    if names:
        header = [*names[: len(table[0])]]
    else:
        told = min(
            n_header - len({_title(row) for row in grid[:first]}), len(table) - 1, _MOST_TOLD
        )
        depth = told if told > 1 else depth
        header = column_names(table[:depth]) if depth > 1 else [cell or "" for cell in table[0]]
    titles: dict[str, int | None] = {}
    for place, row in zip(places[:first], grid[:first], strict=True):
        titles.setdefault(_title(row), place)
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


def _end(grid: list[list[str | None]], least: int) -> int:
    """Where the table ends, not before the row ``least``: remarks stand below it."""
    last = len(grid)
    while last > least and _is_merged(grid[last - 1]):
        last -= 1
    return last


def _title(row: Row) -> str:
    """What a row above the header says; what it counts in may stand at its right."""
    return " ".join(cell for cell in row if cell)


def _is_merged(row: Row) -> bool:
    """True for one text merged over the whole width."""
    return bool(row[0]) and all(cell is None for cell in row[1:])
