"""PDF files for tests: the case bank's, and small ones drawn here."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from reportlab.lib.pagesizes import A4
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfgen.canvas import Canvas

from graphkb.ingest.readers.pdf import read_pdf
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.settings_input import Input

CASES = Path(__file__).parent / "data" / "cases"
SONG = "STSong-Light"
OFF = {"enabled": "off"}


def case(name: str, **options: Any) -> FileReading:
    """What the reader makes of a file of the case bank, without OCR unless asked for."""
    data = (CASES / name).read_bytes()
    return read_pdf(SourceFile(name, CASES / name, 0), data, Input(**{"ocr": OFF, **options}))


def drawn(*pages: Callable[[Canvas], None], title: str = "", **options: Any) -> FileReading:
    """What the reader makes of pages drawn by functions on an A4 canvas, 595 by 842 points."""
    data = pdf_bytes(*pages, title=title)
    return read_pdf(SourceFile("a.pdf", Path("a.pdf"), 0), data, Input(**{"ocr": OFF, **options}))


def pdf_bytes(*pages: Callable[[Canvas], None], title: str = "", **options: Any) -> bytes:
    pdfmetrics.registerFont(UnicodeCIDFont(SONG))
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=1, **options)
    if title:
        canvas.setTitle(title)
    for page in pages:
        canvas.setFont("Helvetica", 10)
        page(canvas)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def lines(texts: list[str], x: float = 60, y: float = 780, pitch: float = 13, font: str = "",
          size: float = 10) -> Callable[[Canvas], None]:  # fmt: skip
    """Draws lines of text from ``y`` downwards."""

    def draw(canvas: Canvas) -> None:
        if font:
            canvas.setFont(font, size)
        for number, text in enumerate(texts):
            canvas.drawString(x, y - number * pitch, text)

    return draw


def grid(rows: list[list[str]], xs: list[float], y: float = 700, pitch: float = 20,
         rules: bool = True, font: str = "Helvetica") -> Callable[[Canvas], None]:  # fmt: skip
    """Draws a table whose columns lie between ``xs``, with or without lines."""

    def draw(canvas: Canvas) -> None:
        canvas.setFont(font, 10)
        for number, row in enumerate(rows):
            for x, text in zip(xs, row, strict=False):
                canvas.drawString(x + 4, y - number * pitch - 14, text)
        if rules:
            for number in range(len(rows) + 1):
                canvas.line(xs[0], y - number * pitch, xs[-1], y - number * pitch)
            for x in xs:
                canvas.line(x, y, x, y - len(rows) * pitch)

    return draw


def together(*parts: Callable[[Canvas], None]) -> Callable[[Canvas], None]:
    """One page of several drawings."""

    def draw(canvas: Canvas) -> None:
        for part in parts:
            part(canvas)

    return draw


def text_of(reading: FileReading) -> str:
    (record,) = reading.records
    return record.text


def tables_of(text: str) -> list[list[list[str]]]:
    """The cells of every Markdown table, without the rule below the header."""
    tables: list[list[list[str]]] = []
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        rows = [row for row in block.strip().split("\n") if not re.fullmatch(r"[|-]+", row)]
        tables.append([[cell.strip() for cell in row[1:-1].split(" | ")] for row in rows])
    return tables


def pages_of(reading: FileReading) -> list[str]:
    """The text of each page."""
    (record,) = reading.records
    ends = [*record.page_starts[1:], len(record.text)]
    return [
        record.text[start:end].strip() for start, end in zip(record.page_starts, ends, strict=True)
    ]
