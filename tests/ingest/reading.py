"""Reading bytes as the file that a name says they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graphkb.ingest.detect import read_data
from graphkb.ingest.records import FileReading, Record, SourceFile
from graphkb.settings_input import Input

CASES = Path(__file__).parents[1] / "data" / "cases"


def read(name: str, data: bytes | str, **options: Any) -> FileReading:
    content = data.encode() if isinstance(data, str) else data
    return read_data(SourceFile(name, Path(name), len(content)), content, Input(**options))


def only(reading: FileReading) -> Record:
    """The one record of a reading that refused nothing."""
    assert not reading.refused, reading.refused
    (record,) = reading.records
    return record


def by_member(reading: FileReading) -> dict[str, str]:
    """The text of each record by its path in the container."""
    return {record.member: record.text for record in reading.records}


def refused(reading: FileReading) -> dict[str, str]:
    """The reason of each refusal by what was refused."""
    return {item.where: item.reason for item in reading.refused}
