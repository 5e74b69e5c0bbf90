"""Layouts of pages as bytes, for the way from the process that read them to the one that joins."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from typing import Any

from graphkb.ingest.pdf.page import PageLayout
from graphkb.ingest.pdf.pictures import Zone
from graphkb.ingest.pdf.shapes import Box, Line, Run, Table

_LEVEL = 1


def pack_layouts(layouts: Iterable[PageLayout]) -> bytes:
    """The layouts as compressed JSON, which runs nothing where it is read."""
    packed = [
        [
            _box(layout.box),
            [[_packed_item(item) for item in zone] for zone in layout.zones],
            layout.problem,
            layout.confidence,
            layout.n_unsure,
            layout.left_out,
            layout.n_pictures,
        ]
        for layout in layouts
    ]
    return zlib.compress(json.dumps(packed, separators=(",", ":")).encode("ascii"), _LEVEL)


def unpack_layouts(data: bytes) -> list[PageLayout]:
    """The inverse of :func:`pack_layouts`."""
    return [
        PageLayout(Box(*box), [_zone(zone) for zone in zones], *rest)
        for box, zones, *rest in json.loads(zlib.decompress(data))
    ]


def _box(box: Box) -> list[float]:
    return [box.x0, box.top, box.x1, box.bottom]


def _packed_item(item: Line | Table) -> list[Any]:
    if isinstance(item, Table):
        return [_box(item.box), item.rows, item.n_header, item.continues]
    runs = [
        [run.text, *_box(run.box), run.size, int(run.bold), int(run.starts_bold)]
        for run in item.runs
    ]
    return [_box(item.box), runs]


def _zone(items: list[list[Any]]) -> Zone:
    return [_line(*item) if len(item) == 2 else _table(*item) for item in items]


def _line(box: list[float], runs: list[list[Any]]) -> Line:
    found = (
        Run(text, Box(x0, top, x1, bottom), size, bool(bold), bool(starts_bold))
        for text, x0, top, x1, bottom, size, bold, starts_bold in runs
    )
    return Line(tuple(found), Box(*box))


def _table(box: list[float], rows: list[list[str]], n_header: int, continues: bool) -> Table:
    return Table(Box(*box), tuple(map(tuple, rows)), n_header, continues)
