"""Reading order of a page with columns.

Gutters are tall white strips between runs of prose, found by extending the gap between two
neighbours up and down until a run crosses it (after Breuel, *Two Geometric Algorithms for Layout
Analysis*, 2002). The page is then cut recursively, as in the XY cut (Nagy and Seth, 1984): what
is above a gutter, left of it, right of it, below it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from graphkb.ingest.pdf.shapes import Box, Line, Run, around, n_words

_LEAST_ROWS = 3
_LEAST_WORDS = 3.5
_LEAST_GAP = 0.8
_LEAST_SIDE = 2
_INDENT = 30
_FARTHEST = 2.0
_LONG_RULE = 0.3
_LIKE_SIZE = 1.6


@dataclass(frozen=True, slots=True)
class Gutter:
    """A white strip around ``x`` from ``top`` to ``bottom`` that parts ``n_rows`` lines."""

    x: float
    top: float
    bottom: float
    n_rows: int


def reading_order(
    runs: list[Run], blocks: list[Box], rules: Sequence[Box] = ()
) -> list[list[Line]]:
    """Zones of lines, each read from top to bottom, in reading order.

    ``blocks`` are tables; no column runs through one, and each stands in its zone as a line
    without runs, ``Line((), block)``. Nor does a column run through a long ruling line.
    """
    zones: list[list[Line]] = []
    if runs:
        page = around(run.box for run in runs)
        long = [rule for rule in rules if rule.width > _LONG_RULE * page.width]
        _cut(runs, blocks, find_gutters(runs, [*blocks, *long]), zones)
    else:
        _cut(runs, blocks, [], zones)
    return zones


def find_gutters(runs: list[Run], blocks: list[Box]) -> list[Gutter]:
    """The gutters between columns of prose, those that part most lines first.

    None runs through one of ``blocks``.
    """
    if len(runs) < 2 * _LEAST_ROWS:
        return []
    boxes = [run.box for run in runs]
    sides = np.array([(b.x0, b.top, b.x1, b.bottom) for b in [*boxes, *blocks]])
    gaps = _gaps(runs, sides[: len(runs)])
    found: list[Gutter] = []
    starts = Counter(round(boxes[right].x0) for _, right in gaps)
    for right in sorted(start for start in starts if _near(start, starts) >= _LEAST_ROWS - 1):
        found += _strips(right, gaps, boxes, sides, runs)
    found.sort(key=lambda gutter: (-gutter.n_rows, gutter.x))
    kept: list[Gutter] = []
    for gutter in found:
        if not any(_same(gutter, other) for other in kept):
            kept.append(gutter)
    return kept


def _near(start: int, starts: Counter[int]) -> int:
    """Lines that begin within an indent of ``start``; a column without any is none."""
    return sum(count for other, count in starts.items() if 0 <= other - start <= _INDENT)


def _gaps(runs: list[Run], sides: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of runs on one line with nothing between them, left and right."""
    x0, top, x1, bottom = sides.T
    middle, height = (top + bottom) / 2, bottom - top
    pairs = []
    for left in range(len(runs)):
        level = np.abs(middle - middle[left]) < 0.6 * np.minimum(height, height[left])
        beside = np.flatnonzero(level & (x0 >= x1[left]))
        if len(beside):
            right = int(beside[np.argmin(x0[beside])])
            if x0[right] - x1[left] >= _LEAST_GAP * min(runs[left].size, runs[right].size):
                pairs.append((left, right))
    return pairs


def _strips(
    right: int, gaps: list[tuple[int, int]], boxes: list[Box], sides: np.ndarray, runs: list[Run]
) -> list[Gutter]:
    """The gutters that end near ``x = right``, where a column begins."""
    size = median(runs[b].size for _, b in gaps if round(boxes[b].x0) == right)
    low, high = right - 0.7 * size, right - 1.0
    crossing = sides[(sides[:, 0] < high) & (sides[:, 2] > low)]
    crossing = crossing[np.argsort(crossing[:, 1])]
    strips: list[tuple[float, float]] = []
    top = -np.inf
    for _, above, _, below in crossing:
        if above > top:
            strips.append((top, above))
        top = max(top, below)
    strips.append((top, np.inf))
    parted = [(a, b) for a, b in gaps if boxes[a].x1 <= high <= boxes[b].x0]
    found = []
    for first, last in strips:
        beside = [
            (a, b)
            for a, b in parted
            if first <= boxes[a].middle <= last and first <= boxes[b].middle <= last
        ]
        if len(beside) >= _LEAST_ROWS and _parts_prose(beside, runs):
            box = around(boxes[place] for pair in beside for place in pair)
            gutter = Gutter((low + high) / 2, box.top, box.bottom, len(beside))
            found.append(_extended(gutter, first, last, boxes))
    return found


def _parts_prose(beside: list[tuple[int, int]], runs: list[Run]) -> bool:
    """Whether what stands on both sides are lines of prose and not the cells of a table."""
    left = median(n_words(runs[a].text) for a, _ in beside)
    right = median(n_words(runs[b].text) for _, b in beside)
    return left >= _LEAST_WORDS and right >= _LEAST_WORDS


def _extended(gutter: Gutter, first: float, last: float, boxes: list[Box]) -> Gutter:
    """The gutter over the lines on its sides that go on above and below within the strip."""
    inside = [box for box in boxes if first <= box.top and box.bottom <= last]
    pitch = _FARTHEST * median(box.height for box in inside)
    top, bottom = gutter.top, gutter.bottom
    for box in sorted(inside, key=lambda box: -box.bottom):
        if box.top < top <= box.bottom + pitch:
            top = box.top
    for box in sorted(inside, key=lambda box: box.top):
        if box.bottom > bottom >= box.top - pitch:
            bottom = box.bottom
    return Gutter(gutter.x, top, bottom, gutter.n_rows)


def _same(first: Gutter, second: Gutter) -> bool:
    """Whether two gutters stand for the same white space: close together at the same height."""
    shared = min(first.bottom, second.bottom) - max(first.top, second.top)
    return shared > 0 and abs(first.x - second.x) < 40


def _cut(
    runs: list[Run], blocks: list[Box], gutters: list[Gutter], zones: list[list[Line]]
) -> None:
    for gutter in gutters:
        parts = _parts(runs, gutter)
        _above, left, right, _below = parts
        if len(left) < _LEAST_SIDE or len(right) < _LEAST_SIDE:
            continue
        others = [other for other in gutters if other is not gutter]
        places = [_place(block, gutter) for block in blocks]
        for number, part in enumerate(parts):
            own = [b for b, place in zip(blocks, places, strict=True) if place == number]
            inner = [o for o in others if _lies_in(o, gutter, number)]
            if part or own:
                _cut(part, own, inner, zones)
        return
    lines = lines_of(runs) + [Line((), block) for block in blocks]
    if lines:
        zones.append(sorted(lines, key=lambda line: (line.box.middle, line.box.x0)))


def _parts(runs: list[Run], gutter: Gutter) -> tuple[list[Run], list[Run], list[Run], list[Run]]:
    parts: tuple[list[Run], ...] = ([], [], [], [])
    for run in runs:
        parts[_place(run.box, gutter)].append(run)
    above, left, right, below = parts
    return above, left, right, below


def _place(box: Box, gutter: Gutter) -> int:
    """0 above the gutter, 1 left of it, 2 right of it, 3 below it."""
    if box.middle < gutter.top:
        return 0
    if box.middle > gutter.bottom:
        return 3
    return 1 if (box.x0 + box.x1) / 2 < gutter.x else 2


def _lies_in(other: Gutter, gutter: Gutter, part: int) -> bool:
    if part == 0:
        return other.top < gutter.top
    if part == 3:
        return other.bottom > gutter.bottom
    return (other.x < gutter.x) == (part == 1)


def lines_of(runs: list[Run]) -> list[Line]:
    """Runs by line from top to bottom; runs share a line where they share half their height."""
    lines: list[list[Run]] = []
    for run in sorted(runs, key=lambda run: (run.box.middle, run.box.x0)):
        if lines and any(_level(run, other) for other in lines[-1][-4:]):
            lines[-1].append(run)
        else:
            lines.append([run])
    return [Line.of(line) for line in lines]


def _level(one: Run, other: Run) -> bool:
    """Whether two runs stand on one line: side by side and of like size."""
    first, second = one.box, other.box
    apart = first.x0 >= second.x1 - 1 or second.x0 >= first.x1 - 1
    near = abs(first.middle - second.middle) < 0.4 * max(first.height, second.height)
    alike = max(one.size, other.size) < _LIKE_SIZE * min(one.size, other.size)
    return apart and alike and (near or first.beside(second))
