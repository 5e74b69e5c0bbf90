"""Glyphs by pdfplumber, for fonts that are not embedded and that PDFium shows no text for."""

from __future__ import annotations

import binascii
import io
import math
import struct
import zlib
from typing import TYPE_CHECKING, Any

from graphkb.errors import MissingExtraError
from graphkb.ingest.pdf.glyphs import Drawing
from graphkb.ingest.pdf.shapes import Box
from graphkb.ingest.pdf.words import Glyph, Style

if TYPE_CHECKING:
    from pdfplumber.pdf import PDF


# What its parser raises on damaged objects, beside its own errors.
_BROKEN = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, RecursionError,
    TypeError, ValueError, binascii.Error, struct.error, zlib.error,
)  # fmt: skip


class Rereader:
    """One document opened a second time, when the first page asks for it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.document: PDF | None = None

    def count_pages(self) -> int:
        """Pages that its tree of pages holds; 0 where pdfplumber cannot read it."""
        try:
            return len(self._opened().pages)
        except _errors():
            return 0

    def _opened(self) -> PDF:
        try:
            import pdfplumber
        except ImportError:
            raise MissingExtraError("reading PDF files", "pdf") from None
        self.document = self.document or pdfplumber.open(io.BytesIO(self.data))
        return self.document

    def read(self, number: int) -> tuple[Drawing, Style]:
        """The page's glyphs, from page 0; an empty page where pdfplumber cannot read it."""
        try:
            page = self._opened().pages[number]
            chars = page.chars
        except _errors():
            return Drawing(Box(0, 0, 1, 1)), lambda n: (1.0, False)
        left, _, _, upper = (float(side) for side in page.mediabox)
        drawing = Drawing(Box(left, -upper, left + float(page.width), float(page.height) - upper))
        drawing.glyphs = [_glyph(n, char, left, upper) for n, char in enumerate(chars)]
        drawing.turned = page.rotation % 360 != 0
        turns = [_turn(char["matrix"]) for char in chars]
        drawing.angles = turns if any(turn != 0 for turn in turns) else []
        styles = {n: (_size(char), "bold" in char["fontname"].lower())
                  for n, char in enumerate(chars)}  # fmt: skip
        page.close()
        return drawing, styles.__getitem__


def _errors() -> tuple[type[Exception], ...]:
    """What pdfplumber raises on damaged files."""
    try:
        from pdfminer.psexceptions import PSException
        from pdfplumber.utils.exceptions import MalformedPDFException, PdfminerException
    except ImportError:
        raise MissingExtraError("reading PDF files", "pdf") from None
    return (PdfminerException, MalformedPDFException, PSException, *_BROKEN)


def _glyph(n: int, char: dict[str, Any], left: float, upper: float) -> Glyph:
    """The glyph in the coordinates of :class:`Drawing`."""
    x0, top, x1, bottom = (float(char[key]) for key in ("x0", "top", "x1", "bottom"))
    return Glyph(n, str(char["text"]), x0 + left, top - upper, x1 + left, bottom - upper)


def _size(char: dict[str, Any]) -> float:
    return float(char["size"])


def _turn(matrix: tuple[float, ...]) -> int | None:
    turn = math.atan2(matrix[1], matrix[0]) / (math.pi / 2)
    return round(turn) % 4 if abs(turn - round(turn)) < 0.06 else None
