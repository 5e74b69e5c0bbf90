"""Tables and the meaning of their columns, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from graphkb.tables import TABLES
from graphkb.view.terminal import cell, one_line

NAMES = tuple(TABLES)

_CELL_COLUMNS = 40


def columns_of(name: str) -> dict[str, dict[str, str]]:
    """Column to its type and meaning."""
    columns = TABLES[name].columns
    return {
        column: {"type": str(dtype), "meaning": meaning}
        for column, (dtype, meaning) in columns.items()
    }


def column_lines(name: str) -> list[str]:
    """One line a column: name, type, meaning."""
    columns = columns_of(name)
    width = max(map(len, columns))
    return [
        f"  {column:<{width}}  {facts['type']:<12}  {facts['meaning']}"
        for column, facts in columns.items()
    ]


def listing_lines(counts: Mapping[str, int]) -> list[str]:
    """Every table with its number of rows, its columns below it."""
    lines: list[str] = []
    for name, count in counts.items():
        lines += [f"{name} ({count} rows)", *column_lines(name), ""]
    return lines[:-1]


def draw(frame: pl.DataFrame, total: int) -> None:
    """Rows as a table on the terminal, long values cut."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, caption=f"{frame.height} of {total} rows")
    for column in frame.columns:
        table.add_column(column, overflow="ellipsis", no_wrap=True, max_width=_CELL_COLUMNS)
    for row in frame.iter_rows():
        table.add_row(*(Text(one_line(cell(value))[: 4 * _CELL_COLUMNS]) for value in row))
    Console().print(table)
