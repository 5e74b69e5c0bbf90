"""Tables without ruling lines: lines whose runs stand below each other in columns."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import pairwise
from statistics import median

from graphkb.ingest.pdf.shapes import Line, Run, Table, around, join_words, n_words

_LEAST_ROWS = 3
_WIDEST_PITCH = 3.2
_MOST_WORDS = 5.0
_LEAST_ALIGNED = 0.6
_MARKER = re.compile(
    r"(?:[•●○▪■◆–—*·-]|[(（]?(?:\d{1,3}|[a-zA-Z]|[ivx]+|[一二三四五六七八九十]+)[.)）、])$"
)
_NUMBER = re.compile(r"[-+−$€£¥￥]?\d[\d,. ]*%?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LABEL = re.compile(r"[:：]$")


def find_tables(lines: list[Line]) -> list[Line | Table]:
    """The lines with each stretch that is a table replaced by it.

    A table has at least three lines, most of them of two or more runs, and its columns share an
    edge or a centre. Lists with markers and forms (``Name:   Ada``) are none.
    """
    found: list[Line | Table] = []
    at = 0
    while at < len(lines):
        end = _stretch(lines, at)
        table = None
        while end - at >= _LEAST_ROWS and table is None:
            table = _table(lines[at:end])
            if table is None:
                break
        if table is None:
            found.append(lines[at])
            at += 1
        else:
            found.append(table)
            at = end
    return found


def _stretch(lines: list[Line], start: int) -> int:
    """The end of the lines from ``start`` that may be one table: evenly spaced, mostly of runs."""
    if len(lines[start].runs) < 2:
        return start
    end = last = start + 1
    pitch = _WIDEST_PITCH * lines[start].size
    while end < len(lines) and lines[end].runs:
        step = lines[end].box.middle - lines[end - 1].box.middle
        if step > pitch:
            break
        if end - start >= 2:
            pitch = min(pitch, 2.2 * max(_steps(lines[start:end])))
            if step > pitch:
                break
        if len(lines[end].runs) > 1:
            last = end + 1
        elif end - last >= 2 or _is_long(lines[end], lines[start:end]):
            break
        end += 1
    return last


def _steps(lines: list[Line]) -> list[float]:
    return [b.box.middle - a.box.middle for a, b in pairwise(lines)]


def _is_long(line: Line, above: list[Line]) -> bool:
    """Whether a line without gaps reaches over more than one cell of the lines above."""
    box = line.box
    return any(
        sum(run.box.x0 < box.x1 and run.box.x1 > box.x0 for run in other.runs) > 1
        for other in above
    )


def _table(lines: list[Line]) -> Table | None:
    several = [line for line in lines if len(line.runs) > 1]
    columns = _columns(several)
    if len(columns) < 2 or len(several) < max(_LEAST_ROWS, 0.5 * len(lines)):
        return None
    cells = [(line, _cells(line, columns)) for line in lines]
    clashes = sum(len(line.runs) != len(placed) for line, placed in cells)
    if clashes > 0.1 * len(lines):
        return None
    by_column: list[list[Run]] = [[] for _ in columns]
    for _, placed in cells:
        for column, runs in placed.items():
            by_column[column] += runs
    words = median(n_words(run.text) for runs in by_column for run in runs)
    if words > _MOST_WORDS or not all(_is_aligned(runs) for runs in by_column):
        return None
    first = by_column[0]
    if _share(first, _MARKER) > 0.5 or (len(columns) == 2 and _share(first, _LABEL) > 0.5):
        return None
    rows = _rows(cells, len(columns))
    if len(rows) < _LEAST_ROWS:
        return None
    box = around(line.box for line in lines)
    return Table(box, tuple(tuple(row) for row in rows), int(_has_header(rows)))


def _has_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: it has words, and no number above numbers.

    Years may stand above numbers.
    """
    first, *others = rows
    if not any(character.isalpha() for cell in first for character in cell):
        return False
    return not any(
        _NUMBER.fullmatch(cell)
        and not _YEAR.fullmatch(cell)
        and sum(bool(_NUMBER.fullmatch(row[at])) for row in others) > 0.5 * len(others)
        for at, cell in enumerate(first)
    )


def _columns(lines: list[Line]) -> list[float]:
    """Left edges of the columns: runs that overlap along x are in one column."""
    spans = sorted((run.box.x0, run.box.x1) for line in lines for run in line.runs)
    starts: list[float] = []
    end = float("-inf")
    for x0, x1 in spans:
        if x0 > end:
            starts.append(x0)
        end = max(end, x1)
    return starts


def _cells(line: Line, columns: list[float]) -> dict[int, list[Run]]:
    placed: dict[int, list[Run]] = {}
    for run in line.runs:
        column = max(0, bisect_right(columns, run.box.x0 + 0.01) - 1)
        placed.setdefault(column, []).append(run)
    return placed


def _is_aligned(runs: list[Run]) -> bool:
    """Whether most cells of a column share their left edge, right edge or centre."""
    near = 0.6 * median(run.size for run in runs)
    edges = (
        [run.box.x0 for run in runs],
        [run.box.x1 for run in runs],
        [(run.box.x0 + run.box.x1) / 2 for run in runs],
    )
    return any(
        sum(abs(value - median(values)) <= near for value in values) >= _LEAST_ALIGNED * len(values)
        for values in edges
    )


def _share(runs: list[Run], pattern: re.Pattern[str]) -> float:
    return sum(bool(pattern.search(run.text)) for run in runs) / max(len(runs), 1)


def _rows(cells: list[tuple[Line, dict[int, list[Run]]]], width: int) -> list[list[str]]:
    """Rows of ``width`` cells; a line close below another that has no first cell continues it."""
    steps = _steps([line for line, _ in cells])
    close = 0.75 * median(steps) if steps else 0.0
    rows: list[list[str]] = []
    for place, (_, placed) in enumerate(cells):
        row = [join_words(run.text for run in placed.get(column, [])) for column in range(width)]
        wrapped = place > 0 and not row[0] and steps[place - 1] < close
        if wrapped:
            rows[-1] = [join_words(pair).strip() for pair in zip(rows[-1], row, strict=True)]
        else:
            rows.append(row)
    return rows
