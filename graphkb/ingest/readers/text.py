"""Plain text."""

from __future__ import annotations

from graphkb.ingest.decode import decode_bytes
from graphkb.ingest.records import FileReading, Record, SourceFile
from graphkb.settings_input import Input


def read_text(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The whole file as one document titled by its file name."""
    decoded = decode_bytes(data, options.encoding)
    record = Record(None, source.stem, decoded.text, "text/plain")
    notes = (f"{source.path}: {decoded.note}",) if decoded.note else ()
    return FileReading((record,), (), notes)
