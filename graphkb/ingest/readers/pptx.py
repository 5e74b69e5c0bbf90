"""Presentations (.pptx, .pptm, .ppsx, .potx) as Markdown, a page a slide."""

from __future__ import annotations

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text
from graphkb.ingest.readers.office import OfficePackage, child, children, number
from graphkb.ingest.readers.office_pictures import Pictures
from graphkb.ingest.readers.office_record import office_reading
from graphkb.ingest.readers.pptx_slide import read_slide
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.settings_input import Input

_USUAL = (9_144_000, 6_858_000)
MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def read_pptx(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The slides in their order: title as heading, then shapes, notes and comments.

    Title: the properties', else the first slide's, else the file name. Hidden slides are kept
    and named in a note; a slide that cannot be read is named and the others are kept. Dates and
    slide numbers are left out, a footer is kept where it stands first.
    """
    package = OfficePackage(data)
    pictures = Pictures(package, options.ocr, _slide_area(package))
    text, title = "", ""
    starts: list[int] = []
    hidden: list[int] = []
    footers: set[str] = set()
    for page, part in enumerate(_slide_parts(package), 1):
        starts.append(len(text))
        root = package.optional(part)
        if root is None:
            if package.member(part) is None:
                package.notes.append(f"left out: slide {page} is missing in it")
            continue
        if root.get("show") in {"0", "false"}:
            hidden.append(page)
        try:
            slide = read_slide(package, part, root, page, pictures)
        except RecursionError:
            raise InputError(f"slide {page} is nested too deeply; ungroup its shapes") from None
        title = title or slide.title
        blocks = [*slide.blocks, *(one for one in slide.footers if one not in footers)]
        footers.update(slide.footers)
        shown = clean_text("\n\n".join(blocks))[0]
        if shown:
            text += f"{shown}\n\n"
    if hidden:
        package.notes.append(f"hidden slides are read too: {', '.join(map(str, hidden))}")
    return office_reading(
        source, package, text, MEDIA_TYPE, title=title, page_starts=starts, pictures=pictures
    )


def _slide_area(package: OfficePackage) -> float:
    """Square EMU of a slide; one of 10 by 7.5 inches where no size is given."""
    size = child(package.root(package.main), "p:sldSz")
    sides = [number(size.get(side)) for side in ("cx", "cy")] if size is not None else []
    width, height = sides if sides and all(side > 0 for side in sides) else _USUAL
    return float(width) * float(height)


def _slide_parts(package: OfficePackage) -> list[str]:
    """The slides' parts in their order; empty for a slide whose link is missing."""
    links = package.relationships(package.main)
    found = (
        links.get(node.get("r:id", ""))
        for node in children(child(package.root(package.main), "p:sldIdLst"))
    )
    return [link.target if link else "" for link in found]
