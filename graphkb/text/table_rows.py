"""Rows of Markdown tables as ``column=value`` pairs: how a row is found without its header.

A row's line names its key first, then its other cells in order: ``套餐=专业版;月付(元)=49``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_BAR = re.compile(r"(?<!\\)\|")
_SIGNS = str.maketrans({"=": "＝", ";": "；", "\n": " "})
_RULE_CELL = re.compile(r":?-+:?")
_NUMBER = re.compile(r"[-+(−]?\s*[$¥￥€£]?\s*\d[\d.,\s]*(?:%|％|[eE][-+]?\d+)?\s*\)?")


@dataclass(frozen=True)
class Cell:
    """A cell's text without the space around it, and its span in the text the row is from."""

    text: str
    start: int
    end: int


def row_cells(text: str, start: int, end: int) -> list[Cell]:
    """The cells of the row that is ``text[start:end]``; a bar behind a backslash parts none.

    >>> [cell.text for cell in row_cells("| 专业版 | | a\\\\|b |", 0, 16)]
    ['专业版', '', 'a\\\\|b']
    """
    while start < end and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    bars = [match.start() for match in _BAR.finditer(text, start, end)]
    first = start if not bars or bars[0] > start else start + 1
    stops = [at for at in bars if at >= first]
    if not stops or stops[-1] < end - 1:
        stops.append(end)
    cells = []
    for stop in stops:
        inside = text[first:stop]
        left = first + len(inside) - len(inside.lstrip())
        value = inside.strip()
        cells.append(Cell(value, left if value else first, left + len(value) if value else first))
        first = stop + 1
    return cells


def is_rule(line: str) -> bool:
    """True for the line below a table's header, such as ``|---|:-:|``."""
    cells = row_cells(line, 0, len(line))
    return "-" in line and all(_RULE_CELL.fullmatch(cell.text) for cell in cells)


def has_rule(text: str) -> bool:
    """Whether a table's header stands in the text.

    >>> has_rule("| 套餐 |\\n|---|\\n| 专业版 |"), has_rule("| Pro |\\n| - Lite |"), has_rule("---")
    (True, False, False)
    """
    return any("|" in line and is_rule(line) for line in text.splitlines())


def key_column(rows: Sequence[Sequence[str]]) -> int:
    """The column that names the rows: the first whose cells differ and are not numbers, else the
    first that mostly holds words, else the first.

    >>> key_column([["1", "专业版", "49"], ["2", "企业版", "49"]])
    1
    """
    width = max(map(len, rows), default=0)
    words = []
    for place in range(width):
        cells = [row[place] for row in rows if place < len(row)]
        filled = [cell for cell in cells if cell]
        if 2 * sum(map(is_number, filled)) >= len(filled):
            continue
        if len(filled) == len(rows) == len(set(filled)):
            return place
        words.append(place)
    return words[0] if words else 0


def is_number(text: str) -> bool:
    """True for a number as shown, with sign, currency, separators or percent.

    >>> [is_number(text) for text in ("¥1,234.5", "-3%", " 3％", "R001", "2024年")]
    [True, True, True, False, False]
    """
    return _NUMBER.fullmatch(text.strip()) is not None


def row_line(names: Sequence[str], cells: Sequence[str], key: int) -> str:
    """The row as pairs, its key first; empty cells are left out.

    >>> row_line(["编号", "套餐", "备注"], ["1", "专业版", ""], 1)
    '套餐=专业版;编号=1'
    """
    order = [key, *(place for place in range(len(cells)) if place != key)]
    return ";".join(
        _pair(names[place] if place < len(names) else "", cells[place])
        for place in order
        if place < len(cells) and cells[place]
    )


def _pair(name: str, value: str) -> str:
    name, value = (part.translate(_SIGNS) for part in (name, value))
    return f"{name}={value}" if name else value


def named_cells(line: str, cells: Sequence[str]) -> list[str] | None:
    """The column name of each cell by a row's line, empty for empty and unnamed ones; None where
    the line is not that of these cells.

    >>> named_cells("套餐=专业版;编号=1", ["1", "专业版", ""])
    ['编号', '套餐', '']
    """
    left = [pair.rpartition("=") for pair in line.split(";")]
    names = []
    for cell in cells:
        value = cell.translate(_SIGNS)
        found = next((pair for pair in left if pair[2] == value), None) if cell else ("", "", "")
        if found is None:
            return None
        if cell:
            left.remove(found)
        names.append(found[0])
    return None if left or not any(names) else names


def row_lines(context: str) -> list[str]:
    """The lines of rows in a text unit's context: those below the title and headings."""
    return [line for line in context.split("\n")[1:] if "=" in line]


def columns_of(text: str, context: str) -> tuple[str, ...]:
    """The column names of a text unit that is rows of a table without its header; nothing for
    another unit.

    >>> columns_of("| 专业版 | 49 |", "价格\\n套餐=专业版;月付(元)=49")
    ('套餐', '月付(元)')
    """
    first, _, rest = text.partition("\n")
    if "|" not in first or is_rule(rest.partition("\n")[0]):
        return ()
    cells = [cell.text for cell in row_cells(first, 0, len(first))]
    for line in row_lines(context):
        names = named_cells(line, cells)
        if names is not None:
            return tuple(names)
    return ()


def indexed_text(context: str, text: str, kind: str) -> str:
    """What a text unit is found by: its context, a line end, its text; of a row of a table only
    the context, which holds every cell with the name of its column.

    >>> indexed_text("价格\\n套餐=专业版", "| 专业版 |", "row")
    '价格\\n套餐=专业版'
    >>> indexed_text("价格", "每年调整。", "prose"), indexed_text("", "x", "prose")
    ('价格\\n每年调整。', 'x')
    """
    if kind == "row" and row_lines(context):
        return context
    return f"{context}\n{text}" if context else text


def header_rows(columns: Sequence[str]) -> str:
    """A Markdown table's header and rule for these columns; empty without any."""
    if not columns:
        return ""
    return f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}"
