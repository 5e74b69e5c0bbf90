"""Word documents (.docx, .docm, .dotx) as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text
from graphkb.ingest.readers.docx_body import Body, Text
from graphkb.ingest.readers.docx_inline import read_inline
from graphkb.ingest.readers.office import Element, OfficePackage, child, number
from graphkb.ingest.readers.office_pictures import Pictures
from graphkb.ingest.readers.office_record import office_reading
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.settings_input import Input

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
_A4 = (11_906, 16_838)
_EMU_IN_TWIP = 635
# What is left of a line of page numbers without its numbers.
_PAGE_LINE = re.compile(
    r"[-–—|/\s]*|(?:page\s*)?(?:of|/)?\s*|第?\s*页?[\s,，/|]*(?:共\s*页?)?", re.IGNORECASE
)


def read_docx(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The document with headings, lists, tables, text boxes, notes and comments.

    Title: the properties', else the paragraph styled as title, else the first heading, else the
    file name. Changes are taken as accepted: inserted text is in, deleted and hidden text is
    not. Each different header stands once before the text and each footer once after it, but
    for page numbers and what the body says too.
    """
    package = OfficePackage(data)
    try:
        body = child(package.root(package.main), "w:body")
        pictures = Pictures(package, options.ocr, _page_area(body))
        reader = Body(package, package.main, pictures)
        blocks = reader.blocks(body) if body is not None else []
        if body is not None and any(node.tag == "w:altChunk" for node in body.iter()):
            package.notes.append(
                "documents of other formats embedded in it are left out; open and save it in Word"
            )
        text = joined(blocks)
        header = _margin_lines(package, "header", text)
        footer = _margin_lines(package, "footer", text)
    except RecursionError:
        raise InputError("nested too deeply; flatten the document") from None
    text = "\n\n".join(part for part in ("\n".join(header), text, "\n".join(footer)) if part)
    text = clean_text(text)[0]
    return office_reading(
        source, package, text, MEDIA_TYPE, title=_title(blocks), pictures=pictures
    )


def _page_area(body: Element | None) -> float:
    """Square EMU of a page, by the last section's size; an A4 page where none is given."""
    size = child(body, "w:sectPr", "w:pgSz")
    sides = [number(size.get(f"w:{side}")) for side in "wh"] if size is not None else []
    width, height = sides if sides and all(side > 0 for side in sides) else _A4
    return float(width) * float(height) * _EMU_IN_TWIP**2


def joined(blocks: Iterable[Text]) -> str:
    """The blocks with a blank line between them, but for items of a list."""
    text, in_list = "", False
    for block in blocks:
        gap = "\n" if in_list and block.is_item else "\n\n"
        text += (gap if text else "") + block.text
        in_list = block.is_item
    return text


def _title(blocks: list[Text]) -> str:
    titles = [block.heading for block in blocks if block.is_title]
    headings = [block.heading for block in blocks if block.heading]
    return next(iter(titles + headings), "")


def _margin_lines(package: OfficePackage, kind: str, body: str) -> list[str]:
    """The different lines of all headers or footers, without those that the body has too."""
    found: dict[str, None] = {}
    for part in dict.fromkeys(package.related(package.main, kind)):
        root = package.optional(part)
        for paragraph in _paragraphs(root):
            for line in read_inline(paragraph, page_numbers=False).text.split("\n"):
                if not _PAGE_LINE.fullmatch(line) and line not in body:
                    found[line] = None
    return list(found)


def _paragraphs(root: Element | None) -> Iterable[Element]:
    return root.iter("w:p") if root is not None else ()
