"""Pictures on pages of text that may hold text themselves: which, and where theirs belongs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from graphkb.ingest.pdf.glyphs import Drawing
from graphkb.ingest.pdf.shapes import Box, Line, Run, Table, around

Zone = list[Line | Table]

LEAST_SHARE = 0.12
"""Part of a page that a picture covers at least; smaller ones are logos and decoration."""
LEAST_PIXELS = 40_000
"""Fewer pixels hold no text worth reading."""
MOST_PICTURES = 4
"""Pictures of a page that are read, the largest."""
_MOST_GLYPHS = 20
_GAP = 2.0


def pictures_of(drawing: Drawing) -> list[Box]:
    """The pictures of a page of text that OCR should read, from the top.

    Images that touch are one picture: scanners cut them in strips. Where text stands on it, a
    picture is a background, or its text is in the text layer.
    """
    page = drawing.page
    area = max(page.width * page.height, 1.0)
    found = [
        box
        for box, pixels in _joined(_clipped(drawing.images, page))
        if box.width * box.height >= LEAST_SHARE * area
        and pixels >= LEAST_PIXELS
        and _n_glyphs(drawing, box) < _MOST_GLYPHS
    ]
    largest = sorted(found, key=lambda box: -box.width * box.height)[:MOST_PICTURES]
    return sorted(largest, key=lambda box: (box.top, box.x0))


def _clipped(images: Iterable[tuple[Box, int]], page: Box) -> Iterable[tuple[Box, int]]:
    for box, pixels in images:
        x0, top = max(box.x0, page.x0), max(box.top, page.top)
        x1, bottom = min(box.x1, page.x1), min(box.bottom, page.bottom)
        if x1 > x0 and bottom > top:
            yield Box(x0, top, x1, bottom), pixels


def _joined(images: Iterable[tuple[Box, int]]) -> list[tuple[Box, int]]:
    """Images that touch as one, with the pixels of all."""
    found: list[tuple[Box, int]] = []
    for box, pixels in images:
        while touching := [one for one in found if _touch(one[0], box)]:
            found = [one for one in found if one not in touching]
            box = around([box, *(other for other, _ in touching)])
            pixels += sum(n for _, n in touching)
        found.append((box, pixels))
    return found


def _touch(one: Box, other: Box) -> bool:
    return (
        one.x0 <= other.x1 + _GAP
        and other.x0 <= one.x1 + _GAP
        and one.top <= other.bottom + _GAP
        and other.top <= one.bottom + _GAP
    )


def _n_glyphs(drawing: Drawing, box: Box) -> int:
    return sum(
        box.x0 <= (glyph.x0 + glyph.x1) / 2 <= box.x1
        and box.top <= (glyph.top + glyph.bottom) / 2 <= box.bottom
        for glyph in drawing.glyphs
        if not glyph.text.isspace()
    )


def in_text(runs: Iterable[Run], picture: Box, zones: list[Zone]) -> list[Run]:
    """Runs of a picture, from its top left corner, as runs of the page.

    They are no larger than its lines, so that none becomes a heading.
    """
    sizes = [item.size for zone in zones for item in zone if isinstance(item, Line)]
    largest = median(sizes) if sizes else float("inf")
    return [
        replace(
            run,
            box=Box(
                run.box.x0 + picture.x0,
                run.box.top + picture.top,
                run.box.x1 + picture.x0,
                run.box.bottom + picture.top,
            ),
            size=min(run.size, largest),
        )
        for run in runs
    ]


def put_in(zones: list[Zone], text: list[Zone], picture: Box) -> list[Zone]:
    """The page's zones with those of a picture: behind what stands above it in its column, else
    before what stands below, else at the end."""
    above: tuple[float, int, int] | None = None
    below: tuple[float, int] | None = None
    for at, zone in enumerate(zones):
        for place, item in enumerate(zone):
            if item.box.x1 <= picture.x0 or item.box.x0 >= picture.x1:
                continue
            if item.box.middle <= picture.middle:
                if above is None or item.box.bottom >= above[0]:
                    above = item.box.bottom, at, place
            elif below is None or item.box.top < below[0]:
                below = item.box.top, at
    if above is not None:
        _, at, place = above
        parts = [zones[at][: place + 1], *text, zones[at][place + 1 :]]
        return [*zones[:at], *(part for part in parts if part), *zones[at + 1 :]]
    at = below[1] if below is not None else len(zones)
    return [*zones[:at], *text, *zones[at:]]
