"""Ruling lines to the cells they enclose.

Lines to cells by pdfplumber's table functions (after Nurminen, *Algorithmic Extraction of Data in
Tables in PDF Documents*, 2013); the lines come from PDFium, which is many times faster.
"""

from __future__ import annotations

from statistics import median
from typing import Any

from graphkb.ingest.pdf.shapes import Box

TOLERANCE = 3.0
"""Lines this close, in points, meet or are one."""

_NEAR = 5.0
_MOST_RULES = 20_000
_MOST_EDGES = 1500
_MOST_POINTS = 4000


def ruled_cells(rules: list[Box]) -> list[list[Box]]:
    """The cells of each table that the edges make."""
    horizontal = sum(rule.width >= rule.height for rule in rules)
    if horizontal < 2 or horizontal == len(rules):
        return []
    from pdfplumber import table as tables

    tolerances = [TOLERANCE] * 4
    edges: list[Any] = tables.merge_edges(
        [_edge(r) for r in dict.fromkeys(rules[:_MOST_RULES])], *tolerances
    )
    if len(edges) > _MOST_EDGES:
        return []
    sides = _open_sides([Box(e["x0"], e["top"], e["x1"], e["bottom"]) for e in edges])
    edges = tables.merge_edges([*edges, *(_edge(side) for side in sides)], *tolerances)
    points = tables.edges_to_intersections(edges, TOLERANCE, TOLERANCE)
    if not 6 <= len(points) <= _MOST_POINTS:
        return []
    groups = tables.cells_to_tables(tables.intersections_to_cells(points))
    return [[Box(*cell) for cell in group] for group in groups if len(group) >= 4]


def _open_sides(edges: list[Box]) -> list[Box]:
    """The missing sides of tables that have none left and right, or none below their columns.

    Horizontal lines from the same left to the same right that vertical lines touch in between
    belong to one table.
    """
    across = [edge for edge in edges if edge.width >= edge.height]
    down = [edge for edge in edges if edge.width < edge.height]
    groups: dict[tuple[int, int], list[Box]] = {}
    for edge in across:
        groups.setdefault((round(edge.x0 / 5), round(edge.x1 / 5)), []).append(edge)
    sides: list[Box] = []
    for lines in groups.values():
        left, right = lines[0].x0, lines[0].x1
        inside = [e for e in down if left + 2 * _NEAR < e.x0 < right - 2 * _NEAR]
        touched = [line for line in lines if any(_touches(e, line) for e in inside)]
        inside = [e for e in inside if any(_touches(e, line) for line in touched)]
        closed = all(any(abs(e.x0 - x) < _NEAR for e in down) for x in (left, right))
        if len(lines) < 2 or not inside or closed:
            continue
        top = min(line.top for line in touched)
        bottom = max([*(line.top for line in touched), median(e.bottom for e in inside)])
        sides += [
            Box(left, top, left, bottom), Box(right, top, right, bottom),
            Box(left, bottom, right, bottom),
        ]  # fmt: skip
    return sides


def _touches(down: Box, across: Box) -> bool:
    return down.top - _NEAR <= across.top <= down.bottom + _NEAR


def _edge(rule: Box) -> dict[str, Any]:
    return {
        "x0": rule.x0, "x1": rule.x1, "top": rule.top, "bottom": rule.bottom,
        "width": rule.width, "height": rule.height, "doctop": rule.top,
        "orientation": "h" if rule.width >= rule.height else "v", "object_type": "line",
    }  # fmt: skip
