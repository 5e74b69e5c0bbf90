"""The values that travel between the folder, the readers and the sources table."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from graphkb.settings_input import Input
from graphkb.types import Refused


@dataclass
class Allowance:
    """What may still be unpacked of one file, whatever is packed in what inside it."""

    members: int = 20_000
    bytes: int = 1_000_000_000


@dataclass(frozen=True)
class SourceFile:
    """One file below the input folder; ``path`` uses ``/``, ``size`` is in bytes.

    Names that are not UTF-8 appear in ``path`` with their bytes as ``\\xNN``. A member of a
    container has its path after the container's, the container's ``location``, the number of
    containers around it as ``depth`` and the ``allowance`` that it shares with the others.
    ``leads_to`` is the target of a link out of the folder that is not followed.
    """

    path: str
    location: Path
    size: int
    depth: int = 0
    allowance: Allowance | None = field(default=None, compare=False)
    leads_to: str = ""

    @property
    def stem(self) -> str:
        """File name without its last suffix."""
        return PurePosixPath(self.path).stem

    @property
    def suffix(self) -> str:
        """Last suffix in lower case with its dot, or the empty string."""
        return PurePosixPath(self.path).suffix.lower()


@dataclass(frozen=True)
class Record:
    """One document as a reader found it; ``raw_data`` is the JSON of a row, else None.

    ``page_starts``: offset in ``text`` where each page begins, ascending, one for every page; a
    page without text begins where the next one does. Empty where the format has no pages.
    ``member``: path inside the file of a document that a container holds (an archive's file, a
    mail's attachment), with ``/``; empty for the file itself.
    """

    own_id: str | None
    title: str
    text: str
    media_type: str
    metadata: dict[str, Any] = field(default_factory=dict)
    raw_data: str | None = None
    creation_date: str | None = None
    page_starts: tuple[int, ...] = ()
    member: str = ""

    @property
    def n_pages(self) -> int | None:
        """Number of pages, or None where the format has none."""
        return len(self.page_starts) or None


@dataclass(frozen=True)
class FileReading:
    """What one file gave: its records, what was refused of it and why, and what to log.

    ``given_up``: reading was broken off by a limit or a crash, as it would be again.
    """

    records: tuple[Record, ...] = ()
    refused: tuple[Refused, ...] = ()
    notes: tuple[str, ...] = ()
    given_up: bool = False


PAGES_FOR_OCR = "pages_for_ocr"
"""Metadata of a document: the pages, from 1, whose text is missing until OCR is installed."""

Reader = Callable[[SourceFile, bytes, Input], FileReading]
"""Reads a file's bytes; raises InputError only where nothing of the file can be used."""

page_listener: ContextVar[Callable[[int, int], None] | None] = ContextVar("pages", default=None)
"""What is told of pages while a file is read, see :func:`report_page`."""


def report_page(done: int, total: int) -> None:
    """A reader says how many of its file's pages are read; its time limit starts anew."""
    listener = page_listener.get()
    if listener is not None:
        listener(done, total)


# Zero-width characters that str.strip leaves in place.
_VISIBLE = re.compile(r"[^\s\u200b-\u200f\u2028-\u202e\u2060\ufeff\u00ad]")


def is_blank(text: str) -> bool:
    """True where there is nothing to see: white space and zero-width characters only.

    >>> is_blank("\\u3000 \\u200b\\ufeff"), is_blank("。")
    (True, False)
    """
    return _VISIBLE.search(text) is None


_DATE_KEYS = (
    "creation_date", "created", "created_at", "date", "published", "published_at", "pubdate",
    "article:published_time", "dc.date", "dcterms.created",
)  # fmt: skip
_DATE = re.compile(
    r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?|年(\d{1,2})月(?:(\d{1,2})日)?)"
    r"(?:[T ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d+)?\s*(Z|[+-]\d{2}:?\d{2})?)?"
)


def creation_date(metadata: Mapping[str, Any]) -> str | None:
    """The first date among the usual keys as ISO 8601, or None.

    >>> creation_date({"Date": "2024/3/5"}), creation_date({"created": "2024年3月5日"})
    ('2024-03-05', '2024-03-05')
    """
    folded = {str(key).casefold(): value for key, value in metadata.items()}
    for key in _DATE_KEYS:
        match = _DATE.match(str(folded.get(key, "")).strip())
        if match is None:
            continue
        year, month, day, zh_month, zh_day, time, zone = match.groups()
        month, day = month or zh_month, day or zh_day
        if not 1 <= int(month) <= 12 or not 1 <= int(day or 1) <= 31:
            continue
        date = f"{year}-{int(month):02}" + (f"-{int(day):02}" if day else "")
        return date + (f"T{time}{zone or ''}" if time and day else "")
    return None
