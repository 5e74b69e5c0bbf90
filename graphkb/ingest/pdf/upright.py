"""Text by its direction: each quarter turn in a frame of its own, in which it is upright."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from graphkb.ingest.pdf.glyphs import Drawing
from graphkb.ingest.pdf.shapes import Box
from graphkb.ingest.pdf.words import Glyph


@dataclass(frozen=True)
class Frame:
    """The glyphs of one direction with the page and its ruling lines, turned upright."""

    page: Box
    glyphs: list[Glyph]
    rules: list[Box]


def frames(drawing: Drawing) -> tuple[list[Frame], str]:
    """The directions of a page, the one with most glyphs first, and the slanted text.

    Slanted text is a watermark or a stamp and stands outside the reading order.
    """
    if not drawing.angles:
        return [Frame(drawing.page, drawing.glyphs, drawing.rules)], ""
    by_turn: dict[int, list[Glyph]] = {}
    slanted: list[str] = []
    for glyph, turn in zip(drawing.glyphs, drawing.angles, strict=True):
        if turn is None:
            slanted.append(glyph.text)
        else:
            by_turn.setdefault(turn, []).append(glyph)
    visible = Counter(
        {turn: sum(not g.text.isspace() for g in group) for turn, group in by_turn.items()}
    )
    ordered = sorted(visible, key=lambda turn: (-visible[turn], turn))
    made = [
        Frame(
            turned(drawing.page, turn),
            _turned_glyphs(by_turn[turn], turn),
            [turned(rule, turn) for rule in drawing.rules] if place == 0 else [],
        )
        for place, turn in enumerate(ordered)
    ]
    return made, " ".join("".join(slanted).split())


def turned(box: Box, turn: int) -> Box:
    """The box after turning text that runs at ``turn`` quarter turns back to upright.

    Turns count against the clock, as in PDF; y grows downwards.
    """
    if turn == 1:
        return Box(-box.bottom, box.x0, -box.top, box.x1)
    if turn == 2:
        return Box(-box.x1, -box.bottom, -box.x0, -box.top)
    if turn == 3:
        return Box(box.top, -box.x1, box.bottom, -box.x0)
    return box


def _turned_glyphs(glyphs: list[Glyph], turn: int) -> list[Glyph]:
    if turn == 0:
        return glyphs
    return [Glyph(g.n, g.text, *_sides(turned(Box(*g[2:]), turn))) for g in glyphs]


def _sides(box: Box) -> tuple[float, float, float, float]:
    return box.x0, box.top, box.x1, box.bottom
