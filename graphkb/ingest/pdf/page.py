"""One page: its text layer or OCR, laid out in reading order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from graphkb.ingest.pdf.columns import reading_order
from graphkb.ingest.pdf.glyphs import Drawing, read_drawing
from graphkb.ingest.pdf.pictures import Zone, in_text, pictures_of, put_in
from graphkb.ingest.pdf.quality import as_gbk, is_garbled, looks_scrambled, redecoded
from graphkb.ingest.pdf.rulings import ruled_tables
from graphkb.ingest.pdf.shapes import Box, Line, Run, around, join_words
from graphkb.ingest.pdf.upright import frames
from graphkb.ingest.pdf.words import Glyph, Style, is_vertical, runs_of, words_of

if TYPE_CHECKING:
    import pypdfium2

    from graphkb.ingest.ocr import Recognized

_SCAN_SHARE = 0.5
_MOST_WATERMARK = 100
_LEAST_KEPT = 40
_LEAST_IMAGE = 0.02
_MOST_UNMAPPED = 0.5

Reread = Callable[[], "tuple[Drawing, Style]"]


class Recognize(Protocol):
    """Reads a page by OCR, or a part of it; boxes from the top left corner of what is read."""

    def __call__(self, page: pypdfium2.PdfPage, part: Box | None = None, /) -> Recognized: ...


@dataclass
class PageLayout:
    """A page's zones in reading order and how they were got.

    ``problem`` says why text is missing: ``scanned`` (an image without a text layer),
    ``garbled`` (a text layer that cannot be read) or ``damaged`` (the page cannot be opened), and
    is empty where nothing is missing.
    ``confidence`` is that of OCR, None where the text layer alone was taken. ``left_out`` is
    hidden and slanted text, ``n_pictures`` how many pictures may hold text and were not read.
    """

    box: Box
    zones: list[Zone] = field(default_factory=list)
    problem: str = ""
    confidence: float | None = None
    n_unsure: int = 0
    left_out: list[str] = field(default_factory=list)
    n_pictures: int = 0


def read_page(
    page: pypdfium2.PdfPage, reread: Reread, recognize: Recognize | None, *, pictures: bool = False
) -> PageLayout:
    """The layout of a page. OCR, where there is one, reads scanned and garbled pages, with
    ``pictures`` also what :func:`~graphkb.ingest.pdf.pictures.pictures_of` names.

    ``reread`` gives the glyphs by another library, for fonts whose text PDFium does not show.
    A page is scanned where an image covers half of it and fewer than 100 characters are text
    (a watermark, a stamp), or where it has an image or drawing and no text at all.
    """
    drawing = read_drawing(page)
    source: tuple[Drawing, Style] = drawing, drawing.style
    if drawing.n_lost:
        again, style = reread()
        if _n_visible(again) > _n_visible(drawing):
            again.image_share, again.images = drawing.image_share, drawing.images
            again.rules = [] if again.turned else drawing.rules
            source = again, style
    left_out = _drop_hidden(source[0])
    visible = "".join(glyph.text for glyph in source[0].glyphs)
    n_visible = _n_visible(source[0])
    scanned = _is_scanned(source[0], n_visible)
    garbled = is_garbled(visible) or (
        drawing.unmapped > _MOST_UNMAPPED and looks_scrambled(visible)
    )
    decodes = garbled and redecoded(visible) is not None
    if (scanned or (garbled and not decodes)) and recognize is not None:
        return _by_ocr(page, source[0].page, recognize, "scanned" if scanned else "garbled")
    if garbled and not decodes:
        return PageLayout(drawing.page, problem="garbled", left_out=left_out)
    if scanned and n_visible < _LEAST_KEPT:
        return PageLayout(drawing.page, problem="scanned", left_out=left_out)
    layout = _by_text(*source, decodes)
    layout.left_out = left_out + layout.left_out
    layout.problem = "scanned" if scanned else ""
    if pictures and not scanned:
        _read_pictures(layout, page, source[0], recognize)
    return layout


def _read_pictures(
    layout: PageLayout, page: pypdfium2.PdfPage, drawing: Drawing, recognize: Recognize | None
) -> None:
    """Adds the text of the page's pictures where they stand; that of a turned page at its end."""
    found = pictures_of(drawing)
    if recognize is None:
        layout.n_pictures = len(found)
        return
    weights: list[tuple[float, int]] = []
    for picture in found:
        read = recognize(page, picture)
        layout.n_unsure += read.n_unsure
        if not read.runs:
            continue
        weights.append((read.confidence, sum(len(run.text) for run in read.runs)))
        text = lay_out(in_text(read.runs, picture, layout.zones), [], words=False)
        is_upright = not (drawing.angles or page.get_rotation())
        layout.zones = put_in(layout.zones, text, picture) if is_upright else layout.zones + text
    if total := sum(length for _, length in weights):
        layout.confidence = round(sum(score * length for score, length in weights) / total, 3)


def is_scan(document: pypdfium2.PdfDocument, number: int) -> bool:
    """Whether a page is to be read by OCR, by a quick look; False for one that is damaged."""
    import pypdfium2

    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return False
    try:
        text_page = page.get_textpage()
        few = text_page.count_chars() < _MOST_WATERMARK
        text_page.close()
        return few and next(page.get_objects([pypdfium2.raw.FPDF_PAGEOBJ_IMAGE]), None) is not None
    except pypdfium2.PdfiumError:
        return False
    finally:
        page.close()


def read_glyphs(drawing: Drawing, style: Style) -> PageLayout:
    """The layout of glyphs alone, of a page that cannot be opened otherwise."""
    visible = "".join(glyph.text for glyph in drawing.glyphs)
    if not visible.strip():
        return PageLayout(drawing.page, problem="damaged")
    if is_garbled(visible):
        return PageLayout(drawing.page, problem="garbled")
    return _by_text(drawing, style, False)


def _n_visible(drawing: Drawing) -> int:
    return sum(not glyph.text.isspace() for glyph in drawing.glyphs)


def _is_scanned(drawing: Drawing, n_visible: int) -> bool:
    if n_visible == 0:
        return drawing.image_share > _LEAST_IMAGE or drawing.n_lost > 0 or len(drawing.rules) > 50
    return drawing.image_share >= _SCAN_SHARE and n_visible < _MOST_WATERMARK


def _drop_hidden(drawing: Drawing) -> list[str]:
    """Takes invisible text off a page that is no scan, where it is not what readers see."""
    if not drawing.hidden or drawing.image_share >= _SCAN_SHARE:
        return []
    hidden = [glyph for glyph in drawing.glyphs if glyph.n in drawing.hidden]
    text = "".join(glyph.text for glyph in hidden)
    kept = [at for at, glyph in enumerate(drawing.glyphs) if glyph.n not in drawing.hidden]
    drawing.glyphs = [drawing.glyphs[at] for at in kept]
    if drawing.angles:
        drawing.angles = [drawing.angles[at] for at in kept]
    return ["hidden text: " + " ".join(text.split())] if text.strip() else []


def _by_ocr(page: pypdfium2.PdfPage, box: Box, recognize: Recognize, problem: str) -> PageLayout:
    found = recognize(page)
    zones = lay_out(list(found.runs), [], words=False) if found.runs else []
    return PageLayout(
        Box(0, 0, box.width, box.height),
        zones,
        "" if zones else problem,
        found.confidence if zones else None,
        found.n_unsure,
    )


def _by_text(drawing: Drawing, style: Style, decodes: bool) -> PageLayout:
    directions, slanted = frames(drawing)
    layout = PageLayout(directions[0].page if directions else drawing.page)
    if slanted:
        layout.left_out.append(f"slanted text: {slanted}")
    for direction in directions:
        words = words_of(_numbered(direction.glyphs), style)
        if decodes:
            words = [replace(w, text=as_gbk(w.text)) for w in words]
        layout.zones += lay_out(words, direction.rules)
    return layout


def _numbered(glyphs: list[Glyph]) -> list[Glyph]:
    return [glyph for glyph in glyphs if glyph.x1 > glyph.x0 or glyph.text.isspace()]


def lay_out(found: list[Run], rules: list[Box], *, words: bool = True) -> list[Zone]:
    """Zones in reading order; ruled tables stand where they are and hold their words alone.

    ``words`` is false where ``found`` are runs already. Vertical text is a zone of its own.
    """
    tables = ruled_tables(rules, found)
    taken = {id(word) for table in tables for word in table.words}
    free = [word for word in found if id(word) not in taken]
    vertical = [word for word in free if words and is_vertical(word)]
    free = [word for word in free if not (words and is_vertical(word))]
    by_box = {table.table.box: table.table for table in tables}
    zones: list[Zone] = [
        [line if line.runs else by_box[line.box] for line in zone]
        for zone in reading_order(runs_of(free) if words else free, list(by_box), rules)
    ]
    if vertical:
        first = sum(len(word.text) for word in vertical) > sum(len(word.text) for word in free)
        zones.insert(0 if first else len(zones), _vertical_zone(vertical))
    return zones


def _vertical_zone(words: list[Run]) -> Zone:
    """Vertical text: columns from right to left, as one paragraph."""
    ordered = sorted(words, key=lambda word: (-round(word.box.x1 / word.size), word.box.top))
    text = join_words(word.text for word in ordered)
    run = Run(text, around(word.box for word in ordered), ordered[0].size)
    return [Line.of([run])]
