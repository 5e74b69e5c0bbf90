"""The head of a table, whatever file it is from: titles, then header rows, then data.

Two or three header rows name a column together where the upper one groups the columns below it:
by cells merged over several columns, by cells that the next columns leave blank, or by the same
text over several columns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from graphkb.text.table_rows import is_number, is_rule, row_cells

Row = Sequence[str | None]
"""Cells of a row; None is a cell that the merged cell to its left covers."""

LOOKED_AT = 12
"""Rows from the top that tell where the head of a table ends."""

_DEEPEST = 3
_MOST_TITLES = 5
_YEAR = re.compile(r"(?:19|20)\d\d")
# Table 3: …, 表3, 附表, 单位：万元, (EUR thousand): what a table is called, and what it counts in.
_CAPTION = re.compile(
    r"(?:table|tab\.|exhibit|schedule|annex)\s*[\dIVX]+\b.*|(?:附?表|附件)\s*"
    r"[\d一二三四五六七八九十]+.*"
    r"|[(（]?\s*(?:(?:金额)?单位|(?:计量|货币)单位|币种|units?|currency|amounts? in|all figures in)"
    r"\s*[:：].*|(?:amounts?|all figures|figures) in .*|[(（][^()（）]*[)）]",
    re.IGNORECASE | re.DOTALL,
)

# What a table counts in, which may stand beside its title or date.
_UNIT = re.compile(
    r"[(（]?\s*(?:(?:金额|计量|货币)?单位|币种|units?|currency)\s*[:：].*",
    re.IGNORECASE | re.DOTALL,
)
_MOST_BESIDE = 3


@dataclass(frozen=True)
class Head:
    """How many rows of titles stand at the top of a table, and of header below them."""

    titles: int
    depth: int


def is_value(cell: str) -> bool:
    """True for numbers that name no column; years do.

    >>> is_value("49"), is_value("2024"), is_value("Q1")
    (True, False, False)
    """
    return is_number(cell) and not _YEAR.fullmatch(cell.strip())


def is_caption(text: str) -> bool:
    """True for what a table is called by its number, and for what it counts in.

    >>> is_caption("表3：各区域销售"), is_caption("(EUR thousand)"), is_caption("Table of Oslo")
    (True, True, False)
    """
    return _CAPTION.fullmatch(text) is not None


def find_head(rows: Sequence[Row]) -> Head:
    """The head of a table whose rows are of one width; ``rows`` are its first ones.

    >>> find_head([["单位：元", "", ""], ["产品", "华东", ""], ["", "量", "额"], ["泵", "7", "8"]])
    Head(titles=1, depth=2)
    >>> find_head([["利润表", "", "单位：元"], ["项目", "本期", "上期"], ["营收", "7", "8"]])
    Head(titles=1, depth=1)
    >>> find_head([["Name", "Phone", ""], ["Ada Lin", "4471", "B12"]])
    Head(titles=0, depth=1)
    """
    titles = 0
    while titles < min(len(rows) - 2, _MOST_TITLES) and _is_title(rows[titles], rows[titles + 1 :]):
        titles += 1
    below = rows[titles : titles + LOOKED_AT]
    deepest = min(_DEEPEST, len(below) - 1)
    depths = (depth for depth in range(deepest, 1, -1) if _is_grouped(below, depth))
    return Head(titles, next(depths, 1))


def _is_title(row: Row, below: Sequence[Row]) -> bool:
    """Whether a row is no header but says what the table is called or counts in."""
    filled = [cell for cell in row if cell]
    if not filled or len(row) < 2:
        return False
    if len(filled) <= 2 and all(map(is_caption, filled)):
        return True
    if _UNIT.fullmatch(filled[-1]) and len(filled) <= min(_MOST_BESIDE, len(row) - 1):
        # Over columns that it groups the first one has no name below it.
        return bool(below and below[0] and below[0][0]) and not any(map(is_value, filled))
    if not row[0] or len(filled) > 1:
        return False
    if all(cell is None for cell in row[1:]):
        return True
    if len(row) > 2:
        return any(sum(map(bool, other)) > 1 for other in below)
    # Over two columns it may as well name the first: numbers only further below tell.
    header, data = [*below, (), ()][:2]
    return _has_names(header) and any(is_value(cell) for cell in data[1:] if cell)


def _has_names(row: Row) -> bool:
    return len(row) > 1 and all(row) and not any(is_value(cell or "") for cell in row)


def _is_grouped(rows: Sequence[Row], depth: int) -> bool:
    """Whether each of the first ``depth`` rows but the last groups the columns of the next."""
    told = all(None in row for row in rows[: depth - 1])
    header = [*(row if told else _marked(row) for row in rows[: depth - 1]), rows[depth - 1]]
    groups: list[list[str]] = []
    for upper, lower in pairwise(header):
        found = _groups(upper, lower, told=told)
        if not found:
            return False
        groups = found
    if told:
        return True
    # A header with blank names over rows of words looks alike: names that recur below other
    # groups tell, and numbers that only stand further below.
    counts = Counter(name for group in groups for name in set(group))
    if max(counts.values()) > 1:
        return True
    data = rows[depth : depth + _DEEPEST]
    return any(is_value(cell) for row in data for cell in row[1:] if cell)


def _marked(row: Row) -> Row:
    """The row with None where a cell is blank or says the same as the one to its left."""
    marked: list[str | None] = []
    last = ""
    for cell in row:
        covered = bool(last) and (not cell or cell == last)
        marked.append(None if covered else cell)
        last = cell or last
    return marked


def _groups(upper: Row, lower: Row, *, told: bool) -> list[list[str]]:
    """The names below each cell of ``upper`` that stands over several columns; none where it
    does not group them: a group has different names, and what stands over one column adds
    nothing to it, or is a group of one with a name that other groups have."""
    groups: list[list[str]] = []
    single: list[tuple[str, str]] = []
    at = 0
    while at < len(upper):
        end = at + 1
        while end < len(upper) and upper[end] is None:
            end += 1
        cells = list(lower[at:end])
        below = [cell for cell in cells if cell is not None]
        if end - at == 1:
            single.append((upper[at] or "", lower[at] or ""))
        elif not told and upper[at] and not any(below):
            pass
        elif not all(below) or len(set(below)) < 2 or any(map(is_value, below)):
            return []
        else:
            groups.append(below)
        if not told and is_value(upper[at] or ""):
            return []
        at = end
    names = {name for group in groups for name in group}
    alone = [[lower] for upper, lower in single if upper and lower and upper != lower]
    return [*groups, *alone] if names.issuperset(name for (name,) in alone) else []


def column_names(header: Sequence[Row]) -> list[str]:
    """One name a column from the rows above a table's data, titles among them.

    >>> column_names([["Group", "2024", ""], ["", "Units", "Revenue"]])
    ['Group', '2024 Units', '2024 Revenue']
    >>> column_names([["型号", "A1"], ["单位", "mm"]])
    ['型号 单位', 'A1 mm']
    """
    rows = list(header)
    while len(rows) > 1 and _is_title(rows[0], rows[1:]):
        rows = rows[1:]
    width = max(map(len, rows), default=0)
    padded: list[Row] = [[*row, *[""] * (width - len(row))] for row in rows]
    return [_joined(column) for column in zip(*_filled(padded), strict=True)]


def _filled(rows: Sequence[Row]) -> Iterator[list[str]]:
    """The rows with the text of merged cells in every column they cover; a blank one beside a
    group is covered where a name stands below it."""
    for place, row in enumerate(rows):
        below = rows[place + 1 :]
        groups = None not in row and bool(below)
        filled: list[str] = []
        for at, cell in enumerate(row):
            left = filled[-1] if filled else ""
            named = groups and any(other[at] for other in below)
            filled.append(left if cell is None or (not cell and named) else cell)
        yield filled


def _joined(cells: Sequence[str]) -> str:
    return " ".join(dict.fromkeys(cell for cell in cells if cell))


@dataclass(frozen=True)
class TableLine:
    """A line of a Markdown table: its cells, and for a row of data the names of its columns as
    far as they are known; ``names`` is None for lines of the head and for rules."""

    cells: tuple[str, ...]
    names: tuple[str, ...] | None
    is_rule: bool = False


def table_lines(lines: Sequence[str], columns: Sequence[str] = ()) -> list[TableLine]:
    """The lines of one or more Markdown tables that follow each other without a gap.

    Above a rule stands a header, which may go on below it; without a rule the names are
    ``columns``. A header without any row below it is a row itself.
    """
    cells = [tuple(cell.text for cell in row_cells(line, 0, len(line))) for line in lines]
    rules = [place for place, line in enumerate(lines) if is_rule(line)]
    names: tuple[str, ...] = tuple(columns)
    parsed: list[TableLine] = []
    starts = [0, *(max(rule - 1, last + 1) for last, rule in pairwise(rules))]
    for start, rule, end in zip(starts, rules, [*starts[1:], len(lines)], strict=False):
        below = rule + 1 + header_below(cells[start:rule], cells[rule + 1 : end])
        alone = below == end == rule + 1 and rule == start + 1
        if rule > start:
            names = tuple(column_names([*cells[start:rule], *cells[rule + 1 : below]]))
        heads = [TableLine(cells[at], () if alone else None) for at in range(start, rule)]
        parsed += [*heads, TableLine(cells[rule], None, is_rule=True)]
        parsed += [TableLine(cells[at], None) for at in range(rule + 1, below)]
        parsed += [TableLine(cells[at], names) for at in range(below, end)]
    return parsed if rules else [TableLine(row, names) for row in cells]


def header_below(above: Sequence[Sequence[str]], below: Sequence[Sequence[str]]) -> int:
    """How many rows below a Markdown table's rule are still its header: Markdown has one header
    row, so that the second one, or the one below a title, comes after the rule."""
    if len(above) != 1:
        return 0
    width = max(map(len, (*above, *below[:LOOKED_AT])))
    rows = [[*row, *[""] * (width - len(row))] for row in (*above, *below[:LOOKED_AT])]
    head = find_head(rows)
    return head.titles + head.depth - 1
