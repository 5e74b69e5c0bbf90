"""One file to documents, whatever its format, and the table of what the files gave."""

from __future__ import annotations

import hashlib
import json
import stat

import polars as pl

from graphkb.errors import InputError
from graphkb.ingest.convert import read_converted
from graphkb.ingest.detect import read_data
from graphkb.ingest.folder import list_files
from graphkb.ingest.readers import READERS
from graphkb.ingest.records import FileReading, Record, SourceFile
from graphkb.settings_input import Input
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


def file_hash(source: SourceFile) -> str:
    """Hash of the file's bytes; of its name where it cannot be read, so that it is tried again."""
    if source.leads_to:
        return content_hash("a link", source.path, source.leads_to)
    try:
        if not stat.S_ISREG(source.location.stat().st_mode):
            return content_hash("not a file", source.path)
        with source.location.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError:
        return content_hash("not readable", source.path)


def read_file(source: SourceFile, options: Input) -> FileReading:
    """The documents of one file. Never raises for a bad file: it is in ``refused`` with why.

    The reader is the one that :func:`graphkb.ingest.detect.find_reader` names, or the converter
    of its suffix in the settings.
    """
    try:
        data = read_bytes(source, options)
        if source.suffix in options.converters:
            return read_converted(source, options)
    except InputError as error:
        return FileReading(refused=(Refused(source.path, str(error)),))
    return read_data(source, data, options)


def read_bytes(source: SourceFile, options: Input) -> bytes:
    """A file's bytes. Raises InputError where it cannot be opened or is larger than allowed, and
    for a link that is not followed."""
    if source.leads_to:
        raise InputError(
            f"a link that leads out of the input folder, to {source.leads_to}; set "
            "input.follow_links: true to read what is there, or put a copy in its place"
        )
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
