"""Pictures in Word documents and presentations that may hold text, read by OCR."""

from __future__ import annotations

import posixpath

from graphkb.errors import InputError
from graphkb.ingest import ocr
from graphkb.ingest.containers import read_member
from graphkb.ingest.pdf.pictures import LEAST_SHARE
from graphkb.ingest.readers.image import picture_text
from graphkb.ingest.readers.office import OfficePackage
from graphkb.ingest.records import report_page
from graphkb.settings_input import Ocr

_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp")
# What is smaller than this holds no text worth reading, however large it is shown.
_LEAST_BYTES = 2_000
_MOST_READ = 100
_UNSURE = 0.8


class Pictures:
    """The pictures of one document. Logos and decoration are left aside: what covers less than an
    eighth of its page or slide, is of few pixels, or was met before."""

    def __init__(self, package: OfficePackage, options: Ocr, page_area: float) -> None:
        self.package, self.options = package, options
        self.page_area = page_area
        self.confidence: dict[str, float] = {}
        self._recognizer = ocr.recognizer(options) if ocr.reads_pictures(options) else None
        self._met: set[str] = set()
        self._n_read = self._n_unread = self._n_unsure = 0

    def text(self, part: str, link: str, area: float) -> str:
        """The text of the picture that ``part`` shows on an ``area`` of its page, as Markdown;
        empty where there is none."""
        if not ocr.reads_pictures(self.options) or area < LEAST_SHARE * self.page_area:
            return ""
        found = self.package.relationships(part).get(link)
        info = self.package.member(found.target) if found else None
        if found is None or info is None or found.target in self._met:
            return ""
        if not found.target.lower().endswith(_SUFFIXES) or info.file_size < _LEAST_BYTES:
            return ""
        self._met.add(found.target)
        if self._recognizer is None or self._n_read >= _MOST_READ:
            self._n_unread += 1
            return ""
        self._n_read += 1
        try:
            data = read_member(self.package.archive, info)
        except InputError as error:
            self.package.notes.append(f"left out: {error}")
            return ""
        read = picture_text(data, self._recognizer)
        # The time limit is that of one picture, as it is that of one page.
        report_page(self._n_read, max(self._n_read, len(self.package.media)))
        self._n_unsure += read.n_unsure
        if read.text:
            self.confidence[posixpath.basename(found.target)] = read.confidence
        return read.text

    def note(self) -> None:
        """Says what was not read, or not surely, among the package's notes."""
        if self._n_unread:
            why = (
                f": more than {_MOST_READ}; split the document"
                if self._recognizer
                else f"; {ocr.how_to_read(self.options)}"
            )
            self.package.notes.append(ocr.unread_pictures(self._n_unread) + why)
        unsure = [name for name, value in self.confidence.items() if value < _UNSURE]
        if unsure or self._n_unsure:
            names = f" ({', '.join(unsure)})" if unsure else ""
            self.package.notes.append(f"OCR is unsure of pictures in it{names}; check their text")
