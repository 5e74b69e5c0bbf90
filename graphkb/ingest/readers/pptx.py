"""Presentations (.pptx, .pptm, .ppsx, .potx) as Markdown, a page a slide."""

from __future__ import annotations

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text
from graphkb.ingest.readers.office import Element, OfficePackage, child, children, own_title
from graphkb.ingest.readers.pptx_slide import read_slide
from graphkb.ingest.records import FileReading, Record, SourceFile, creation_date
from graphkb.settings_input import Input

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


def read_pptx(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The slides in their order: title as heading, then shapes, notes and comments.

    Title: the properties', else the first slide's, else the file name. Hidden slides are kept
    and named in a note; a slide that cannot be read is named and the others are kept. Dates and
    slide numbers are left out, a footer is kept where it stands first.
    """
    package = OfficePackage(data)
    text, title = "", ""
    starts: list[int] = []
    hidden: list[int] = []
    footers: set[str] = set()
    for page, part in enumerate(_slide_parts(package), 1):
        starts.append(len(text))
        root = package.optional(part)
        if root is None:
            continue
        if root.get("show") in {"0", "false"}:
            hidden.append(page)
        try:
            slide = read_slide(package, part, root, page)
        except RecursionError:
            raise InputError(f"slide {page} is nested too deeply; ungroup its shapes") from None
        title = title or slide.title
        blocks = [*slide.blocks, *(one for one in slide.footers if one not in footers)]
        footers.update(slide.footers)
        shown = clean_text("\n\n".join(blocks))[0]
        if shown:
            text += f"{shown}\n\n"
    metadata = dict(package.properties)
    record = Record(
        own_id=None,
        title=own_title(metadata) or clean_text(title)[0] or source.stem,
        text=text,
        media_type=MEDIA_TYPE,
        metadata=metadata,
        creation_date=creation_date(metadata),
        page_starts=tuple(starts),
    )
    notes = list(package.notes)
    if hidden:
        notes.append(f"hidden slides are read too: {', '.join(map(str, hidden))}")
    return FileReading((record,), (), tuple(f"{source.path}: {note}" for note in notes))


def _slide_parts(package: OfficePackage) -> list[str]:
    slides: Element | None = child(package.root(package.main), "p:sldIdLst")
    links = package.relationships(package.main)
    names = [node.get("r:id", "") for node in children(slides)]
    return [links[name].target for name in names if name in links]
