"""PDF: text page by page in reading order, tables, and OCR for scanned pages."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import Any

from graphkb.errors import InputError, MissingExtraError
from graphkb.ingest import ocr
from graphkb.ingest.blocks import first_title
from graphkb.ingest.decode import clean_text
from graphkb.ingest.pdf.document import Pages, Progress, read_pages
from graphkb.ingest.pdf.quality import is_garbled
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
_SHOWN = 5
_LONGEST_SHOWN = 80
_UNSURE = 0.8


def read_pdf(
    source: SourceFile, data: bytes, options: Input, *, progress: Progress | None = None
) -> FileReading:
    """The whole file as one Markdown document with its pages.

    Title: the file's own where it is one, else the first heading of level 1, else the file name.
    Pages that cannot be opened are refused by number; scanned and garbled pages without OCR,
    removed headers and footers, hidden text and unsure OCR are noted. Raises InputError for
    encrypted and damaged files and where no page gave any text.
    """
    document = _open(data)
    try:
        # pdfplumber's parser reports odd fonts and objects one by one.
        logging.getLogger("pdfminer").setLevel(logging.ERROR)
        recognizer = ocr.recognizer(options.ocr)
        pages = read_pages(
            document,
            data,
            recognizer.read_page if recognizer else None,
            keep_repeated=options.pdf.repeated_lines == "keep",
            progress=progress or report_page,
        )
        facts = document.get_metadata_dict(skip_empty=True)
        total = len(document)
    except MissingExtraError as error:
        raise InputError(str(error)) from None
    finally:
        document.close()
    if is_blank(pages.text):
        raise InputError(_nothing(pages, total, options))
    record = _record(source, pages, facts, has_ocr=_has_ocr(options))
    refused = tuple(
        Refused(f"{source.path}, page {number}", "cannot be opened; this page is damaged, left out")
        for number in pages.damaged
    )
    notes = tuple(f"{source.path}: {note}" for note in _notes(pages, total, options))
    return FileReading((record,), refused, notes)


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


def _record(source: SourceFile, pages: Pages, facts: dict[str, str], *, has_ocr: bool) -> Record:
    metadata: dict[str, Any] = {}
    for key, name in _KEPT.items():
        value = _clean(facts.get(key, ""))
        if value and not _NO_TITLE.match(value):
            metadata[name] = value
    if pages.confidence:
        metadata["ocr_confidence"] = {str(page): c for page, c in pages.confidence.items()}
    unread = sorted({*pages.scanned, *pages.garbled})
    if unread and not has_ocr:
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


def _nothing(pages: Pages, total: int, options: Input) -> str:
    """Why a file without any text is refused, and what to do."""
    share = f"no text on {total} of {total} pages"
    if pages.scanned:
        done = "OCR found none either" if _has_ocr(options) else ocr.how_to_read(options.ocr)
        return f"{share}: {_which(pages.scanned, total)} scanned; {done}"
    if pages.garbled:
        done = "OCR found none either" if _has_ocr(options) else ocr.how_to_read(options.ocr)
        return f"{share} can be read: the fonts do not say which characters they show; {done}"
    return f"{share}: blank; add text or remove the file"


def _has_ocr(options: Input) -> bool:
    return options.ocr.enabled != "off" and ocr.is_installed()


def _which(pages: Sequence[int], total: int) -> str:
    if len(pages) == total:
        return "all are"
    return f"{_numbers(pages)} {'is' if len(pages) == 1 else 'are'}"


def _notes(pages: Pages, total: int, options: Input) -> list[str]:
    notes = []
    without = f"; {ocr.how_to_read(options.ocr)}" if not _has_ocr(options) else ""
    if pages.scanned:
        notes.append(
            f"no text on {len(pages.scanned)} of {total} pages ({_numbers(pages.scanned)}): "
            f"scanned{without or ', and OCR found none'}"
        )
    if pages.garbled:
        notes.append(
            f"the text layer of {_numbers(pages.garbled)} cannot be read and was left out: its "
            f"fonts do not say which characters they show{without or ', and OCR found none'}"
        )
    unsure = sorted({p for p, c in pages.confidence.items() if c < _UNSURE} | pages.unsure.keys())
    if unsure:
        left_out = sum(pages.unsure.values())
        notes.append(
            f"OCR is unsure of {_numbers(unsure)}"
            + (
                f", {left_out} lines below input.ocr.min_confidence were left out"
                if left_out
                else ""
            )
            + "; check them"
        )
    if pages.furniture:
        notes.append(
            "removed as headers, footers and page numbers: "
            f"{_quoted(pages.furniture)} (input.pdf.repeated_lines: keep leaves them in)"
        )
    notes += [
        f"left out {text[:_LONGEST_SHOWN]!r} on {_numbers(numbers)}"
        for text, numbers in list(pages.left_out.items())[:_SHOWN]
    ]
    if len(pages.left_out) > _SHOWN:
        notes.append(f"left out {len(pages.left_out) - _SHOWN} more hidden or slanted texts")
    return notes


def _quoted(texts: Sequence[str]) -> str:
    shown = ", ".join(repr(text[:_LONGEST_SHOWN]) for text in texts[:_SHOWN])
    return shown + (f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else "")


def _numbers(pages: Sequence[int]) -> str:
    """Page numbers with runs joined.

    >>> _numbers([2]), _numbers([1, 2, 3, 7])
    ('page 2', 'pages 1-3, 7')
    """
    spans: list[list[int]] = []
    for page in pages:
        if spans and page == spans[-1][1] + 1:
            spans[-1][1] = page
        else:
            spans.append([page, page])
    text = ", ".join(f"{a}-{b}" if b > a else str(a) for a, b in spans)
    return f"page {text}" if len(pages) == 1 else f"pages {text}"
