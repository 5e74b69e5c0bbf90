"""What a file is, by its content first and its name second, and which reader it gets."""

from __future__ import annotations

import re

from graphkb.errors import InputError
from graphkb.ingest.readers import READERS
from graphkb.ingest.records import FileReading, Reader, SourceFile, is_blank
from graphkb.settings_input import Input
from graphkb.types import Refused

# How files begin that are neither text nor read.
_SIGNATURES = (
    (b"GIF8", "a GIF image"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"{\\rtf", "an RTF document"),
)
# How files begin whose insides say what they are: zip containers and old Office files.
_PACKED = (b"PK\x03\x04", b"PK\x05\x06", b"\xd0\xcf\x11\xe0")
# How files begin that are read under any name.
_SHOWN = (
    (rb"(?s)(?:\xef\xbb\xbf)?\s{0,64}%PDF-", ".pdf"),
    (rb"\x89PNG\r\n", ".png"),
    (rb"\xff\xd8\xff", ".jpg"),
    (rb"II\*\x00|MM\x00\*", ".tif"),
    (rb"(?s)RIFF....WEBP", ".webp"),
    (rb"(?s)BM.{4}\x00{4}", ".bmp"),
    (rb"PK(?:\x03\x04|\x05\x06)", ".zip"),
    (rb"(?s)\x1f\x8b|BZh[1-9]1AY&SY|\xfd7zXZ\x00|.{257}ustar", ".tar"),
)
# Readers of formats that plain text cannot be.
_NEVER_TEXT = frozenset(
    READERS[suffix]
    for suffix in (".docx", ".pptx", ".xlsx", ".pdf", ".png", ".epub", ".zip", ".tar")
)
_STORED_ELSEWHERE = b"version https://git-lfs.github.com/spec/"
_ARCHIVES = frozenset({".zip", ".tar"})
_MARKED_UP = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
                        re.IGNORECASE | re.DOTALL)  # fmt: skip
_MOST_CONTROLS = 0.05


def read_data(
    source: SourceFile, data: bytes, options: Input, reader: Reader | None = None
) -> FileReading:
    """The documents of a file's bytes. Never raises for bad ones: they are in ``refused``.

    ``reader`` is the one that :func:`find_reader` has named, where it was asked before.
    An empty ``__init__.py`` is as it should be, and gives nothing.
    """
    if source.path.rpartition("/")[2] == "__init__.py" and not data.strip():
        return FileReading()
    try:
        reader = reader or find_reader(source, data)
        reading = reader(source, data, options)
    except InputError as error:
        return FileReading(refused=(Refused(source.path, str(error)),))
    return checked(source, reading)


def checked(source: SourceFile, reading: FileReading) -> FileReading:
    """The reading without documents that hold no text; a refusal where there are no others."""
    if not reading.refused and all(is_blank(record.text) for record in reading.records):
        empty = Refused(source.path, "holds no text; add text or remove the file")
        return FileReading(refused=(empty,), notes=reading.notes)
    records = tuple(record for record in reading.records if not is_blank(record.text))
    return FileReading(records, reading.refused, reading.notes)


def find_reader(source: SourceFile, data: bytes) -> Reader:
    """The reader by suffix, unless the content shows something else.

    An Office document, a book, a PDF, an image and an archive are read under any name, other
    binary content is refused under any, and a name without suffix or with an Office one is HTML
    where it begins like it. Raises InputError for what is not read, and for plain text and
    archives under the name of something else.
    """
    if not data:
        raise InputError("the file is empty (0 bytes); add text or remove it")
    packed = _packed_suffix(source, data) if data.startswith(_PACKED) else None
    if packed is not None:
        return READERS[packed]
    shown = next((suffix for start, suffix in _SHOWN if re.match(start, data)), None)
    if shown == ".zip" and is_office_name(source.suffix):
        raise InputError(f"an ordinary zip archive under a {source.suffix} name; rename it to .zip")
    # Programs and other formats that are archives inside keep the name of what they are.
    if shown is not None and (shown not in _ARCHIVES or source.suffix in ("", *READERS)):
        return READERS[shown]
    is_borrowed = source.suffix in ("", ".pdf") or is_office_name(source.suffix)
    if is_borrowed and _MARKED_UP.match(data[:2048]):
        return READERS[".html"]
    kind = _binary_kind(data) if shown is None else None
    if shown is None and kind is None and _is_misnamed_text(source, data):
        raise InputError(_text_advice(source.suffix, data))
    if kind is None and source.suffix not in READERS:
        kind = f"a {source.suffix} file"
    if kind is not None:
        raise InputError(f"{kind}; read are {_types_read()}: save it as one of these")
    return READERS[source.suffix]


def _packed_suffix(source: SourceFile, data: bytes) -> str | None:
    """The suffix of the Office document or book that is packed here, else None."""
    from graphkb.ingest.readers.epub import is_epub
    from graphkb.ingest.readers.office import office_suffix

    office = office_suffix(data, source.suffix)
    return ".epub" if office is None and data.startswith(b"PK") and is_epub(data) else office


def is_office_name(suffix: str) -> bool:
    """True for the suffixes of Office documents, old and new, which other formats borrow."""
    return re.fullmatch(r"\.(?:doc|dot|xls|xlt|ppt|pps|pot)[xmb]?", suffix) is not None


def _is_misnamed_text(source: SourceFile, data: bytes) -> bool:
    """True for text under the name of a format that is none; ``data`` is no binary kind."""
    if READERS.get(source.suffix) not in _NEVER_TEXT and not is_office_name(source.suffix):
        return False
    # What is left of a PDF without its beginning can be mostly text.
    return b"endobj" not in data


def _text_advice(suffix: str, data: bytes) -> str:
    if data.startswith(_STORED_ELSEWHERE):
        return "a Git LFS pointer in place of the file; fetch it with: git lfs pull"
    return f"plain text under a {suffix} name; rename it to .txt, or .csv if it is a table"


def _types_read() -> str:
    """The first suffix of each reader."""
    first: dict[Reader, str] = {}
    for suffix, reader in READERS.items():
        first.setdefault(reader, suffix)
    return ", ".join(first.values())


def _binary_kind(data: bytes) -> str | None:
    """What a file is that is not text, or None."""
    for start, kind in _SIGNATURES:
        if data.startswith(start):
            return kind
    sample = data[:8192]
    if sample.startswith((b"\xff\xfe", b"\xfe\xff", b"\x00\x00\xfe\xff")):
        return None
    zeros_even, zeros_odd = sample[0::2].count(0), sample[1::2].count(0)
    if min(zeros_even, zeros_odd) * 20 < max(zeros_even, zeros_odd) > len(sample) * 0.05:
        return None  # UTF-16 without a byte order mark: zeros at one of every two places
    controls = len(re.findall(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]", sample))
    return "binary data" if controls > len(sample) * _MOST_CONTROLS else None
