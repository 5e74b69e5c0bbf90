"""Tables too large for one unit, cut between rows."""

from __future__ import annotations

from dataclasses import replace

from graphkb.ingest.blocks import Block
from graphkb.ingest.chunkers.long import cut_long
from graphkb.ingest.chunkers.piece import Budget, Piece, trim
from graphkb.text.tokens import count_tokens


def cut_table(text: str, table: Block, start: int, kind: str, budget: Budget) -> list[Piece]:
    """Units of whole rows; the first begins at ``start`` and has the table's own header rows.

    The others carry the header rows and the separator in ``header`` and leave room for them.
    ``kind`` is the first unit's, the others are tables.
    """
    header = text[table.start : table.body].rstrip("\n")
    room = max(budget.size - count_tokens(header), budget.size // 2, 1)
    rows = _rows(text, table)
    pieces: list[Piece] = []
    last = 0
    if count_tokens(text[start : table.body].strip()) > budget.size:
        pieces += cut_long(text, start, table.body, kind, budget)
    else:
        last = _fitting(text, start, rows, 0, budget.size)
        end = rows[last - 1][1] if last else table.body
        pieces.append(_piece(text, start, end, kind))
    while last < len(rows):
        first = last
        last = _fitting(text, rows[first][0], rows, first, room)
        if last > first:
            piece = _piece(text, rows[first][0], rows[last - 1][1], "table")
            pieces.append(replace(piece, header=header))
            continue
        last = first + 1
        narrow = Budget(room, min(budget.overlap, room - 1))
        cut = cut_long(text, *rows[first], "table", narrow)
        pieces += [replace(piece, header=header) for piece in cut]
    return pieces


def _piece(text: str, start: int, end: int, kind: str) -> Piece:
    start, end = trim(text, start, end)
    return Piece(start, end, count_tokens(text[start:end]), kind)


def _rows(text: str, table: Block) -> list[tuple[int, int]]:
    rows = []
    at = table.body
    while at < table.end:
        end = text.find("\n", at, table.end) + 1 or table.end
        rows.append((at, end))
        at = end
    return rows


def _fitting(text: str, start: int, rows: list[tuple[int, int]], first: int, room: int) -> int:
    """The row after the last that fits from ``start`` on; ``first`` where not even one does."""
    total = count_tokens(text[start : rows[first][0]]) if first < len(rows) else 0
    last = first
    while last < len(rows):
        total += count_tokens(text[slice(*rows[last])])
        if total > room:
            break
        last += 1
    while last > first and count_tokens(text[start : rows[last - 1][1]].strip()) > room:
        last -= 1
    return last
