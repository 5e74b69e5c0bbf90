"""What is said of a PDF file beside its text."""

from __future__ import annotations

from collections.abc import Sequence

from graphkb.ingest import ocr
from graphkb.ingest.pdf.document import Pages
from graphkb.settings_input import Input

_SHOWN = 5
_LONGEST_SHOWN = 80
_UNSURE = 0.8


def why_nothing(pages: Pages, total: int, options: Input) -> str:
    """Why a file without any text is refused, and what to do."""
    share = f"no text on {total} of {total} pages"
    if pages.scanned:
        done = "OCR found none either" if has_ocr(options) else ocr.how_to_read(options.ocr)
        return f"{share}: {_which(pages.scanned, total)} scanned; {done}"
    if pages.garbled:
        done = "OCR found none either" if has_ocr(options) else ocr.how_to_read(options.ocr)
        return f"{share} can be read: the fonts do not say which characters they show; {done}"
    return f"{share}: blank; add text or remove the file"


def has_ocr(options: Input) -> bool:
    """Whether scanned pages are read."""
    return options.ocr.enabled != "off" and ocr.is_installed()


def _which(pages: Sequence[int], total: int) -> str:
    if len(pages) == total:
        return "all are"
    return f"{_numbers(pages)} {'is' if len(pages) == 1 else 'are'}"


def notes_of(pages: Pages, total: int, options: Input) -> list[str]:
    """What is to be said of a file that was read: text that is missing, unsure or left out."""
    notes = []
    without = f"; {ocr.how_to_read(options.ocr)}" if not has_ocr(options) else ""
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
    if pages.pictures:
        n = sum(pages.pictures.values())
        notes.append(f"{ocr.unread_pictures(n)} on {_numbers(sorted(pages.pictures))}{without}")
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
    # That page numbers are taken out goes without saying.
    if lines := [line for line in pages.furniture if not line.strip(" -–—/").isdecimal()]:
        notes.append(
            "removed as headers, footers and page numbers: "
            f"{_quoted(lines)} (input.pdf.repeated_lines: keep leaves them in)"
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
