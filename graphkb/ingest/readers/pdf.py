"""PDF: text page by page in reading order, tables, and OCR for scanned pages."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator, Sequence
from typing import Any

from graphkb.errors import InputError, MissingExtraError
from graphkb.ingest import ocr
from graphkb.ingest.blocks import first_title
from graphkb.ingest.decode import clean_text
from graphkb.ingest.pdf.document import Pages, Progress, finish, read_layouts
from graphkb.ingest.pdf.packed import pack_layouts, unpack_layouts
from graphkb.ingest.pdf.page import PageLayout, is_scan
from graphkb.ingest.pdf.quality import is_garbled
from graphkb.ingest.pdf.tree import count_pages
from graphkb.ingest.readers.pdf_notes import has_ocr, notes_of, why_nothing
from graphkb.ingest.records import (
    PAGES_FOR_OCR,
    FileReading,
    Record,
    SourceFile,
    creation_date,
    is_blank,
    report_page,
)
from graphkb.settings_input import Input
from graphkb.types import Refused

_NO_TITLE = re.compile(
    r"untitled|\(?(?:anonymous|unspecified)\)?$|microsoft \w+ - |.*\.(?:docx?|pdf|indd|tex|dvi|"
    r"pptx?|xlsx?|odt|qxd|ai|eps|html?|rtf|wpd|txt)$|(?:slide|document|doc|无标题|文档) ?\d*$",
    re.IGNORECASE,
)
_FILE_NAME = re.compile(r"[A-Za-z0-9]*[-_.\d][\w.-]*")
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d{2})(\d{2})(?:(\d{2})(\d{2})(\d{2}))?(?:(Z|[+-]\d{2})'?(\d{2})?)?"
)
_KEPT = {"Author": "author", "Subject": "subject", "Keywords": "keywords"}
# From how many pages on a file is shared by several processes, and the fewest that one gets.
_LEAST_SHARED = 40
_LEAST_PART = 10
_LEAST_SCANNED = 4


def read_pdf(
    source: SourceFile, data: bytes, options: Input, *, progress: Progress | None = None
) -> FileReading:
    """The whole file as one Markdown document with its pages.

    Title: the file's own where it is one, else the first heading of level 1, else the file name.
    Pages that cannot be opened are refused by number; scanned and garbled pages without OCR,
    removed headers and footers, hidden text and unsure OCR are noted. Raises InputError for
    encrypted and damaged files and where no page gave any text.
    """
    with _opened(data) as document:
        numbers = range(count_pages(document, data))
        layouts = _layouts(document, data, options, numbers, progress or report_page)
        return _reading(source, document, layouts, options)


def pages_apart(data: bytes, options: Input) -> tuple[int, int]:
    """Pages of the file, and how many of them are worth a process of their own; 0 where it is read
    faster by one, and for files that :func:`read_pdf` refuses."""
    try:
        with _opened(data) as document:
            least = _worth_sharing(document, len(document), options)
            return (count_pages(document, data), least) if least else (len(document), 0)
    except InputError:
        return 0, 0


def _worth_sharing(document: Any, total: int, options: Input) -> int:
    if ocr.recognizer(options.ocr) is not None and total >= _LEAST_SCANNED:
        shown = (0, total // 2, total - 1)
        if sum(is_scan(document, number) for number in shown if number < len(document)) > 1:
            return 1
    return _LEAST_PART if total >= _LEAST_SHARED else 0


def read_pdf_part(data: bytes, options: Input, numbers: range) -> bytes:
    """Some pages of a file, by number from 0, for :func:`join_pdf`. Raises InputError."""
    with _opened(data) as document:
        return pack_layouts(_layouts(document, data, options, numbers, report_page))


def join_pdf(
    source: SourceFile, data: bytes, options: Input, parts: Sequence[bytes]
) -> FileReading:
    """What :func:`read_pdf` gives, of all pages in parts and in their order. Raises InputError."""
    layouts = [layout for part in parts for layout in unpack_layouts(part)]
    with _opened(data) as document:
        return _reading(source, document, layouts, options)


def _layouts(
    document: Any, data: bytes, options: Input, numbers: range, progress: Progress
) -> list[PageLayout]:
    # pdfplumber's parser reports odd fonts and objects one by one.
    logging.getLogger("pdfminer").setLevel(logging.ERROR)
    recognizer = ocr.recognizer(options.ocr)
    try:
        return read_layouts(
            document,
            data,
            numbers,
            recognizer.read_page if recognizer else None,
            progress,
            pictures=ocr.reads_pictures(options.ocr),
        )
    except MissingExtraError as error:
        raise InputError(str(error)) from None


def _reading(
    source: SourceFile, document: Any, layouts: Sequence[PageLayout], options: Input
) -> FileReading:
    """The document of all its pages and what is to be said about it."""
    pages = finish(layouts, keep_repeated=options.pdf.repeated_lines == "keep")
    total, told = len(layouts), len(document)
    if is_blank(pages.text):
        raise InputError(why_nothing(pages, total, options))
    facts = document.get_metadata_dict(skip_empty=True)
    record = _record(source, pages, facts, with_ocr=has_ocr(options))
    refused = tuple(
        Refused(f"{source.path}, page {number}", "cannot be opened; this page is damaged, left out")
        for number in pages.damaged
    )
    if total < told:
        where = f"{source.path}, pages {total + 1:,}-{told:,}"
        refused += (
            Refused(where, f"not there, though it says that it has {told:,}; get it again"),
        )
    notes = notes_of(pages, total, options)
    if total > told:
        notes.insert(
            0,
            f"says that it has {told} pages, but holds {total}; all are read, "
            "but of the last ones images and ruled tables: save it anew",
        )
    return FileReading((record,), refused, tuple(f"{source.path}: {note}" for note in notes))


@contextlib.contextmanager
def _opened(data: bytes) -> Iterator[Any]:
    document = _open(data)
    try:
        yield document
    finally:
        document.close()


def _open(data: bytes) -> Any:
    """The opened document; raises InputError with why not."""
    try:
        import pdfplumber  # noqa: F401
        import pypdfium2
        import pypdfium2.raw as raw
    except ImportError:
        raise InputError(str(MissingExtraError("reading PDF files", "pdf"))) from None
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if getattr(error, "err_code", None) == raw.FPDF_ERR_PASSWORD:
            raise InputError(
                "encrypted, skipped: it opens only with a password; save a copy without one"
            ) from None
        raise InputError(
            f"damaged or cut off, not readable as PDF ({_reason(error)}); get the file again"
        ) from None
    if len(document) == 0:
        document.close()
        raise InputError("damaged or cut off: it has no pages; get the file again")
    return document


def _reason(error: Exception) -> str:
    found = re.search(r"PDFium: (.*?)\)?\.?$", str(error))
    return (found.group(1) if found else str(error)).rstrip(".").lower()


def _record(source: SourceFile, pages: Pages, facts: dict[str, str], *, with_ocr: bool) -> Record:
    metadata: dict[str, Any] = {}
    for key, name in _KEPT.items():
        value = _clean(facts.get(key, ""))
        if value and not _NO_TITLE.match(value):
            metadata[name] = value
    if pages.confidence:
        metadata["ocr_confidence"] = {str(page): c for page, c in pages.confidence.items()}
    unread = sorted({*pages.scanned, *pages.garbled, *pages.pictures})
    if unread and not with_ocr:
        metadata[PAGES_FOR_OCR] = unread
    title = _clean(facts.get("Title", ""))
    if len(title) < 3 or _NO_TITLE.match(title) or is_garbled(title):
        title = ""
    if not title or _FILE_NAME.fullmatch(title):
        title = first_title(pages.text) or title or source.stem
    return Record(
        own_id=None,
        title=title,
        text=pages.text,
        media_type="application/pdf",
        metadata=metadata,
        creation_date=_created(facts.get("CreationDate", "")),
        page_starts=pages.page_starts,
    )


def _clean(text: str) -> str:
    return " ".join(clean_text(text)[0].split())


def _created(text: str) -> str | None:
    """A PDF date as ISO 8601, or None."""
    match = _DATE.match(text.strip())
    if match is None:
        return None
    year, month, day, hour, minute, second, zone, zone_minute = match.groups()
    date = f"{year}-{month}-{day}"
    if hour:
        offset = f"{zone}:{zone_minute or '00'}" if zone and zone != "Z" else zone or ""
        date += f"T{hour}:{minute}:{second}{offset}"
    return creation_date({"date": date})
