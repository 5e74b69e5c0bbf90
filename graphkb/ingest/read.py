"""One file to documents, whatever its format, and the table of what the files gave."""

from __future__ import annotations

import hashlib
import json
import re
import stat

import polars as pl

from graphkb.errors import InputError
from graphkb.ingest.folder import list_files
from graphkb.ingest.readers import READERS
from graphkb.ingest.records import FileReading, Reader, Record, SourceFile, is_blank
from graphkb.settings import Input
from graphkb.tables import content_hash
from graphkb.types import Refused

__all__ = [
    "READERS", "SOURCES", "FileReading", "Record", "SourceFile", "file_hash", "list_files",
    "read_file", "sources_frame",
]  # fmt: skip

SOURCES: dict[str, pl.DataType] = {
    "path": pl.String(),
    "file_hash": pl.String(),
    "row": pl.Int64(),
    "own_id": pl.String(),
    "title": pl.String(),
    "text": pl.String(),
    "content_hash": pl.String(),
    "media_type": pl.String(),
    "metadata": pl.String(),
    "raw_data": pl.String(),
    "creation_date": pl.String(),
    "n_pages": pl.Int64(),
    "page_starts": pl.List(pl.Int64()),
    "member": pl.String(),
}

# How files that are not text begin.
_SIGNATURES = (
    (b"%PDF-", "a PDF"),
    (b"PK\x03\x04", "a zip archive or an Office, EPUB or similar document"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old or encrypted Office document"),
    (b"\x89PNG\r\n", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF8", "a GIF image"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ\x00", "an xz archive"),
    (b"\x7fELF", "a program"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"PAR1", "a Parquet file"),
    (b"{\\rtf", "an RTF document"),
)
_SUFFIX_KINDS = {
    ".pdf": "a PDF", ".docx": "a Word document", ".doc": "a Word document",
    ".xlsx": "an Excel workbook", ".xls": "an Excel workbook", ".pptx": "a presentation",
    ".ppt": "a presentation", ".epub": "an EPUB book", ".zip": "a zip archive",
    ".eml": "an e-mail", ".ipynb": "a notebook",
}  # fmt: skip
_MARKED_UP = re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b",
                        re.IGNORECASE | re.DOTALL)  # fmt: skip
_MOST_CONTROLS = 0.05


def file_hash(source: SourceFile) -> str:
    """Hash of the file's bytes; of its name where it cannot be read, so that it is tried again."""
    try:
        if not stat.S_ISREG(source.location.stat().st_mode):
            return content_hash("not a file", source.path)
        with source.location.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return content_hash("not readable", source.path)


def read_file(source: SourceFile, options: Input) -> FileReading:
    """The documents of one file. Never raises for a bad file: it is in ``refused`` with why.

    The reader is found by suffix; what the content shows wins over it: binary content is
    refused under any name, and a name without suffix is HTML where it begins like it.
    """
    try:
        data = _read_bytes(source, options)
        reading = _reader(source, data)(source, data, options)
    except InputError as error:
        return FileReading(refused=(Refused(source.path, str(error)),))
    if not reading.refused and all(is_blank(record.text) for record in reading.records):
        empty = Refused(source.path, "holds no text; add text or remove the file")
        return FileReading(refused=(empty,), notes=reading.notes)
    records = tuple(record for record in reading.records if not is_blank(record.text))
    return FileReading(records, reading.refused, reading.notes)


def _read_bytes(source: SourceFile, options: Input) -> bytes:
    try:
        status = source.location.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError("this folder cannot be opened; check its permissions")
        if not stat.S_ISREG(status.st_mode):
            raise InputError("neither a file nor a folder; remove it from the input folder")
        if status.st_size > options.max_file_mb * 1_000_000:
            raise InputError(
                f"{status.st_size / 1e6:.1f} MB is larger than input.max_file_mb "
                f"({options.max_file_mb:g}); split the file or raise that setting"
            )
        return source.location.read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read ({error.strerror or error}); check the file and its permissions"
        ) from None


def _reader(source: SourceFile, data: bytes) -> Reader:
    if not data:
        raise InputError("the file is empty (0 bytes); add text or remove it")
    kind = _SUFFIX_KINDS.get(source.suffix) or _binary_kind(data)
    if kind is None and source.suffix not in READERS:
        kind = f"a {source.suffix} file"
    if kind is not None:
        raise InputError(f"{kind}; read are {_types_read()}: save it as one of these")
    if source.suffix == "" and _MARKED_UP.match(data[:2048]):
        return READERS[".html"]
    return READERS[source.suffix]


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


def sources_frame(source: SourceFile, hash: str, reading: FileReading) -> pl.DataFrame:
    """One row a record, in the columns of :data:`SOURCES`.

    ``content_hash`` is that of the text without trailing white space for whole files, that of
    title and text for rows.
    """
    rows = [
        {
            "path": source.path,
            "file_hash": hash,
            "row": row,
            "own_id": record.own_id,
            "title": record.title,
            "text": record.text,
            "content_hash": _record_hash(record),
            "media_type": record.media_type,
            "metadata": json.dumps(record.metadata, ensure_ascii=False, sort_keys=True),
            "raw_data": record.raw_data,
            "creation_date": record.creation_date,
            "n_pages": record.n_pages,
            "page_starts": list(record.page_starts),
            "member": record.member,
        }
        for row, record in enumerate(reading.records)
    ]
    return pl.DataFrame(rows, schema=SOURCES)


def _record_hash(record: Record) -> str:
    if record.raw_data is not None:
        return content_hash(record.title, record.text)
    return content_hash("\n".join(line.rstrip() for line in record.text.split("\n")).rstrip())
