"""The glyphs, ruling lines and images of one page, by PDFium."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphkb.ingest.pdf.shapes import Box
from graphkb.ingest.pdf.words import Glyph

if TYPE_CHECKING:
    import pypdfium2

_MOST_SEGMENTS = 20_000
_MOST_OBJECTS = 200_000
_DEEPEST_FORM = 8
_MOST_NOTES = 5_000
_MOST_IMAGES = 200
_BOLD_WEIGHT = 600
_HYPHEN_CODES = (2, 0xFFFE)  # PDFium's marks for a hyphen at a line end
_INVISIBLE = 3  # text render mode: neither filled nor stroked (ISO 32000-1, 9.3.6)

Matrix = tuple[float, float, float, float, float, float]
_UNIT: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass
class Drawing:
    """What a page holds, in PDF coordinates with y turned to grow downwards.

    ``glyphs`` in drawing order; ``angles`` quarter turns of each glyph (0 to 3), None for slanted
    ones, empty where all are upright; ``hidden`` numbers of invisible glyphs; ``rules`` are the
    straight edges of lines and rectangles; ``images`` are boxes of images with the number of
    their pixels, and ``image_share`` is the part of the page that they cover; ``n_lost`` text
    objects that PDFium shows no character for; ``unmapped`` share of the words whose font does
    not say which characters its glyphs are; ``turned`` where the coordinates are those of the
    page as it is shown, turned.
    """

    page: Box
    glyphs: list[Glyph] = field(default_factory=list)
    angles: list[int | None] = field(default_factory=list)
    hidden: set[int] = field(default_factory=set)
    rules: list[Box] = field(default_factory=list)
    images: list[tuple[Box, int]] = field(default_factory=list)
    image_share: float = 0.0
    n_lost: int = 0
    unmapped: float = 0.0
    turned: bool = False
    styles: dict[int, tuple[float, bool]] = field(default_factory=dict)

    def style(self, n: int) -> tuple[float, bool]:
        """Font size in points and boldness of a glyph."""
        if n in self.styles:
            return self.styles[n]
        glyph = self.glyphs[n]
        return (glyph.bottom - glyph.top) / 1.15, False


def read_drawing(page: pypdfium2.PdfPage) -> Drawing:
    """Everything on the page that layout needs; the page itself stays open.

    Raises ``pypdfium2.PdfiumError`` where the text cannot be loaded.
    """
    left, bottom, right, top = page.get_bbox()
    drawing = Drawing(Box(left, -top, right, -bottom))
    text_page = page.get_textpage()
    try:
        objects = _Objects(page, text_page, drawing)
        _Glyphs(text_page, drawing, objects).read()
    finally:
        text_page.close()
    return drawing


def draw_fields(page: pypdfium2.PdfPage) -> bool:
    """Makes filled-in form fields and typed notes part of the page; whether it has any.

    The page has to be opened anew to show them. Nothing is written to the file.
    """
    import pypdfium2.raw as raw

    wanted = {raw.FPDF_ANNOT_WIDGET, raw.FPDF_ANNOT_FREETEXT}
    for place in range(min(raw.FPDFPage_GetAnnotCount(page), _MOST_NOTES)):
        note = raw.FPDFPage_GetAnnot(page, place)
        kind = raw.FPDFAnnot_GetSubtype(note)
        raw.FPDFPage_CloseAnnot(note)
        if kind in wanted:
            done = raw.FPDFPage_Flatten(page, raw.FLAT_NORMALDISPLAY)
            return bool(done == raw.FLATTEN_SUCCESS)
    return False


class _Objects:
    """The page's objects: ruling lines and images are noted, fonts and hidden text looked up."""

    def __init__(self, page: Any, text_page: Any, drawing: Drawing) -> None:
        import pypdfium2.raw as raw

        self.raw, self.text_page, self.drawing = raw, text_page, drawing
        self.upright = True
        self.has_hidden = False
        self.n_segments = 0
        self.fonts: dict[int, bool] = {}
        area = max(drawing.page.width * drawing.page.height, 1.0)
        for count, (item, matrix, kind) in enumerate(self._walk(page.raw, _UNIT, 0)):
            if count > _MOST_OBJECTS:
                break
            if kind == raw.FPDF_PAGEOBJ_TEXT:
                self._text(item, matrix)
            elif kind == raw.FPDF_PAGEOBJ_PATH and self.n_segments < _MOST_SEGMENTS:
                self._path(item, matrix)
            elif kind == raw.FPDF_PAGEOBJ_IMAGE:
                share = drawing.image_share + self._image_area(item, matrix) / area
                drawing.image_share = min(share, 1.0)
                self._image(item, matrix)

    def _walk(self, holder: Any, matrix: Matrix, depth: int) -> Iterator[tuple[Any, Matrix, int]]:
        raw = self.raw
        if depth:
            count, get = raw.FPDFFormObj_CountObjects, raw.FPDFFormObj_GetObject
        else:
            count, get = raw.FPDFPage_CountObjects, raw.FPDFPage_GetObject
        for place in range(count(holder)):
            item = get(holder, place)
            kind = raw.FPDFPageObj_GetType(item)
            if kind == raw.FPDF_PAGEOBJ_FORM and depth < _DEEPEST_FORM:
                yield from self._walk(item, _product(self._matrix(item), matrix), depth + 1)
            else:
                yield item, matrix, kind

    def _matrix(self, item: Any) -> Matrix:
        found = self.raw.FS_MATRIX()
        if not self.raw.FPDFPageObj_GetMatrix(item, found):
            return _UNIT
        return found.a, found.b, found.c, found.d, found.e, found.f

    def _bounds(self, item: Any) -> tuple[float, float, float, float]:
        sides = [ctypes.c_float() for _ in range(4)]
        self.raw.FPDFPageObj_GetBounds(item, *sides)
        left, bottom, right, top = (side.value for side in sides)
        return left, bottom, right, top

    def _text(self, item: Any, matrix: Matrix) -> None:
        raw = self.raw
        a, b, c, d, _, _ = _product(self._matrix(item), matrix)
        if abs(b) > 0.01 * abs(a) or abs(c) > 0.3 * abs(d) or a <= 0:
            self.upright = False
        if raw.FPDFTextObj_GetTextRenderMode(item) == _INVISIBLE:
            self.has_hidden = True
        left, bottom, right, top = self._bounds(item)
        # Fonts that are neither embedded nor known have no glyphs, so PDFium drops their text.
        if (right - left) * (top - bottom) <= 0.01 and not raw.FPDFFont_GetIsEmbedded(
            raw.FPDFTextObj_GetFont(item)
        ):
            length = raw.FPDFTextObj_GetText(item, self.text_page, None, 0)
            self.drawing.n_lost += length <= 2

    def _image_area(self, item: Any, matrix: Matrix) -> float:
        left, bottom, right, top = self._bounds(item)
        a, b, c, d, _, _ = matrix
        return abs(a * d - b * c) * abs((right - left) * (top - bottom))

    def _image(self, item: Any, matrix: Matrix) -> None:
        """Notes where an image stands; of very many small ones, as in maps, only the first."""
        if len(self.drawing.images) >= _MOST_IMAGES:
            return
        left, bottom, right, top = self._bounds(item)
        corners = [_apply(matrix, x, y) for x in (left, right) for y in (bottom, top)]
        across, up = [x for x, _ in corners], [y for _, y in corners]
        width, height = ctypes.c_uint(), ctypes.c_uint()
        self.raw.FPDFImageObj_GetImagePixelSize(item, width, height)
        box = Box(min(across), -max(up), max(across), -min(up))
        self.drawing.images.append((box, width.value * height.value))

    def _path(self, item: Any, matrix: Matrix) -> None:
        """Notes the axis-parallel straight edges of what is filled or stroked."""
        raw = self.raw
        fill, stroke = ctypes.c_int(), ctypes.c_int()
        raw.FPDFPath_GetDrawMode(item, fill, stroke)
        if not fill.value and not stroke.value:
            return
        transform = _product(self._matrix(item), matrix)
        n_segments = raw.FPDFPath_CountSegments(item)
        self.n_segments += n_segments
        x, y = ctypes.c_float(), ctypes.c_float()
        start = last = (0.0, 0.0)
        for place in range(min(n_segments, _MOST_SEGMENTS)):
            segment = raw.FPDFPath_GetPathSegment(item, place)
            raw.FPDFPathSegment_GetPoint(segment, x, y)
            point = _apply(transform, x.value, y.value)
            kind = raw.FPDFPathSegment_GetType(segment)
            if kind == raw.FPDF_SEGMENT_MOVETO:
                start = point
            elif kind == raw.FPDF_SEGMENT_LINETO:
                self._edge(last, point)
            last = point
            if raw.FPDFPathSegment_GetClose(segment):
                self._edge(last, start)
                last = start

    def _edge(self, first: tuple[float, float], second: tuple[float, float]) -> None:
        x0, x1 = sorted((first[0], second[0]))
        y0, y1 = sorted((-first[1], -second[1]))
        if min(x1 - x0, y1 - y0) < 0.5 and max(x1 - x0, y1 - y0) > 3:
            self.drawing.rules.append(Box(x0, y0, x1, y1))

    def is_hidden(self, item: Any) -> bool:
        """Whether a text object is drawn invisibly."""
        return bool(self.raw.FPDFTextObj_GetTextRenderMode(item) == _INVISIBLE)

    def is_bold(self, item: Any) -> bool:
        """Whether a text object's font is bold by name or weight."""
        raw = self.raw
        font = raw.FPDFTextObj_GetFont(item)
        key = ctypes.cast(font, ctypes.c_void_p).value or 0
        if key not in self.fonts:
            name = ctypes.create_string_buffer(128)
            raw.FPDFFont_GetBaseFontName(font, name, 128)
            known = name.value.lower()
            heavy = any(word in known for word in (b"bold", b"black", b"heavy", b"simhei"))
            self.fonts[key] = heavy or raw.FPDFFont_GetWeight(font) >= _BOLD_WEIGHT
        return self.fonts[key]


class _Glyphs:
    def __init__(self, text_page: Any, drawing: Drawing, objects: _Objects) -> None:
        self.text_page, self.drawing, self.objects = text_page.raw, drawing, objects
        self.raw = objects.raw

    def read(self) -> None:
        """Fills the drawing's glyphs, angles, styles and hidden numbers."""
        raw, page, drawing = self.raw, self.text_page, self.drawing
        rectangle = raw.FS_RECTF()
        unicode, loose = raw.FPDFText_GetUnicode, raw.FPDFText_GetLooseCharBox
        glyphs = drawing.glyphs
        opens = True
        n_words = n_unmapped = 0
        high = 0
        for place in range(max(raw.FPDFText_CountChars(page), 0)):
            code = unicode(page, place)
            if 0xD800 <= code < 0xDC00:
                high = code
                continue
            if 0xDC00 <= code < 0xE000 and high:
                code = 0x10000 + ((high - 0xD800) << 10) + (code - 0xDC00)
            high = 0
            is_hyphen = code == 0xAD or (
                code in _HYPHEN_CODES and raw.FPDFText_IsHyphen(page, place) == 1
            )
            text = "-" if is_hyphen else _character(code)
            loose(page, place, rectangle)
            x0, x1, top, bottom = rectangle.left, rectangle.right, -rectangle.top, -rectangle.bottom
            number = len(glyphs)
            if bottom - top < 0.5:
                top = bottom - max(raw.FPDFText_GetFontSize(page, place), 1.0)
            glyphs.append(Glyph(number, text, x0, top, x1, bottom))
            if not self.objects.upright:
                drawing.angles.append(self._angle(place))
            if opens or self.objects.has_hidden:
                self._style(place, number)
            if text.isspace():
                opens = True
            elif opens:
                opens = False
                n_words += 1
                n_unmapped += raw.FPDFText_HasUnicodeMapError(page, place) == 1
        drawing.unmapped = n_unmapped / n_words if n_words else 0.0

    def _style(self, place: int, number: int) -> None:
        raw = self.raw
        item = raw.FPDFText_GetTextObject(self.text_page, place)
        if not item:
            return
        if self.objects.has_hidden and self.objects.is_hidden(item):
            self.drawing.hidden.add(number)
        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(self.text_page, place, matrix)
        size = raw.FPDFText_GetFontSize(self.text_page, place) * math.hypot(matrix.c, matrix.d)
        self.drawing.styles[number] = (size, self.objects.is_bold(item))

    def _angle(self, place: int) -> int | None:
        # PDFium counts with the clock.
        turn = self.raw.FPDFText_GetCharAngle(self.text_page, place) / (math.pi / 2)
        return -round(turn) % 4 if abs(turn - round(turn)) < 0.06 else None


def _character(code: int) -> str:
    valid = 0 < code < 0x110000 and not 0xD800 <= code < 0xE000
    return chr(code) if valid else "\ufffd"


def _product(first: Matrix, second: Matrix) -> Matrix:
    """The matrix that applies ``first``, then ``second``."""
    a, b, c, d, e, f = first
    g, h, i, j, k, m = second
    return (
        a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j,
        e * g + f * i + k, e * h + f * j + m,
    )  # fmt: skip


def _apply(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f
