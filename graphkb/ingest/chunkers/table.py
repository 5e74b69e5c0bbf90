"""Tables too large for one unit, cut row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphkb.ingest.blocks import Block
from graphkb.ingest.chunkers.long import cut_long
from graphkb.ingest.chunkers.piece import Budget, Piece, trim
from graphkb.text.table_head import column_names
from graphkb.text.table_rows import is_rule, key_column, row_cells, row_line
from graphkb.text.tokens import count_tokens


@dataclass(frozen=True)
class _Row:
    """A row's span, its tokens and those of its line, and the line: ``column=value`` pairs.

    ``name`` is the first pair of it, which says what the row is about.
    """

    start: int
    end: int
    n_tokens: int
    line: str
    n_line: int
    name: str


def cut_table(text: str, table: Block, start: int, kind: str, budget: Budget) -> list[Piece]:
    """One unit for ``budget.rows`` rows; the first begins at ``start`` and has the table's header.

    Every unit carries its rows with the names of their columns in ``header``, so that each is
    found and understood alone; rows and header together stay within ``budget.size``, except where
    that is too little for the row's name. ``kind`` is the first unit's, the others are rows.
    """
    rows = _rows(text, table)
    pieces: list[Piece] = []
    last = 0
    if count_tokens(text[start : table.body].strip()) > budget.size:
        pieces += cut_long(text, start, table.body, kind, budget)
    else:
        above = count_tokens(text[start : table.body])
        last = _fitting(rows, 0, budget, above)
        end = rows[last - 1].end if last else table.body
        while last and count_tokens(text[start:end].strip()) > budget.size:
            last -= 1
            end = rows[last - 1].end if last else table.body
        pieces.append(_piece(text, start, end, kind, rows[:last]))
    while last < len(rows):
        first = last
        last = _fitting(rows, first, budget, 0)
        while last > first + 1 and _n_tokens(text, rows[first:last]) > budget.size:
            last -= 1
        if last > first:
            span = rows[first].start, rows[last - 1].end
            pieces.append(_piece(text, *span, "row", rows[first:last]))
            continue
        last = first + 1
        pieces += _long_row(text, rows[first], budget)
    return pieces


def _rows(text: str, table: Block) -> list[_Row]:
    header = [
        [cell.text for cell in row_cells(line, 0, len(line))]
        for line in text[table.start : table.body].split("\n")
        if line.strip() and not is_rule(line)
    ]
    spans = []
    at = table.body
    while at < table.end:
        end = text.find("\n", at, table.end) + 1 or table.end
        spans.append((at, end))
        at = end
    cells = [[cell.text for cell in row_cells(text, *span)] for span in spans]
    names, key = column_names(header), key_column(cells)
    rows = []
    for (first, last), row in zip(spans, cells, strict=True):
        line = row_line(names, row, key)
        n_tokens = count_tokens(text[first:last])
        name = row_line(names[key : key + 1], row[key : key + 1], 0)
        rows.append(_Row(first, last, n_tokens, line, count_tokens(line), name))
    return rows


def _fitting(rows: Sequence[_Row], first: int, budget: Budget, above: int) -> int:
    """The row after the last that fits with its line below ``above`` tokens; ``first`` where not
    even one does."""
    total = above
    last = first
    while last < min(len(rows), first + budget.rows):
        total += rows[last].n_tokens + rows[last].n_line
        if total > budget.size:
            break
        last += 1
    return last


def _n_tokens(text: str, rows: Sequence[_Row]) -> int:
    """Tokens of rows and their lines together, line ends between them included."""
    lines = "\n".join(row.line for row in rows)
    return count_tokens(text[rows[0].start : rows[-1].end].strip()) + count_tokens(lines)


def _piece(text: str, start: int, end: int, kind: str, rows: Sequence[_Row]) -> Piece:
    start, end = trim(text, start, end)
    header = "\n".join(row.line for row in rows if row.line)
    return Piece(start, end, count_tokens(text[start:end]), kind, header=header)


def _long_row(text: str, row: _Row, budget: Budget) -> list[Piece]:
    """A row that does not fit with its line: only what it is about is said beside its parts."""
    n_name = count_tokens(row.name)
    name = row.name if n_name <= budget.size // 2 else ""
    room = max(budget.size - n_name, 1) if name else budget.size
    narrow = Budget(room, min(budget.overlap, room - 1))
    pieces = cut_long(text, row.start, row.end, "table", narrow)
    return [replace(piece, header=name) for piece in pieces]
