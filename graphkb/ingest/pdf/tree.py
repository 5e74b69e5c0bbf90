"""How many pages a PDF has, where its own count of them may be wrong."""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from graphkb.ingest.pdf.reread import Rereader

if TYPE_CHECKING:
    import pypdfium2

# A page as its dictionary says it, and streams that hold such dictionaries (ISO 32000-1, 7.5.7).
_PAGE = re.compile(rb"/Type\s*/Page(?![A-Za-z])")
_OBJECTS = re.compile(rb"/Type\s*/ObjStm\b.{0,400}?stream\r?\n", re.DOTALL)
_MOST_UNPACKED = 50_000_000
# So many pages that cannot be opened are named one by one.
_MOST_MISSING = 100
_LONGEST_PACKED = 1_000_000


def count_pages(document: pypdfium2.PdfDocument, data: bytes) -> int:
    """Pages of an open document; ``data`` are its bytes.

    PDFium believes the number (``/Count``) that the root of the tree of pages gives, and opens
    no page beyond it. The tree is counted where the file holds another number of pages; where it
    has more of them than the number says, that is the answer, and also where it has far fewer and
    none of the others opens.
    """
    told = len(document)
    written = _n_written(data)
    if written == told:
        return told
    found = max(Rereader(data).count_pages(), written if written < told else 0)
    if found and told - found > _MOST_MISSING:
        missing = (found, (found + told) // 2, told - 1)
        if not any(_opens(document, number) for number in missing):
            return found
    return max(told, found)


def _opens(document: pypdfium2.PdfDocument, number: int) -> bool:
    import pypdfium2

    try:
        document[number].close()
    except pypdfium2.PdfiumError:
        return False
    return True


def _n_written(data: bytes) -> int:
    """Dictionaries of pages in the file, in the open or in compressed objects; some may be old."""
    count = len(_PAGE.findall(data))
    left = _MOST_UNPACKED
    for found in _OBJECTS.finditer(data):
        packed = data[found.end() : found.end() + _LONGEST_PACKED]
        try:
            unpacked = zlib.decompressobj().decompress(packed, left)
        except zlib.error:
            continue
        count += len(_PAGE.findall(unpacked))
        left -= len(unpacked)
        if left <= 0:
            break
    return count
