"""What the reading process and its parent say to each other: length-prefixed messages."""

from __future__ import annotations

import json
import struct
from dataclasses import asdict
from typing import IO, Any

from graphkb.ingest.records import FileReading, Record
from graphkb.types import Refused

_LENGTH = struct.Struct(">Q")


def send(stream: IO[bytes], payload: bytes) -> None:
    """Write one message. Raises OSError where nobody reads it any more."""
    stream.write(_LENGTH.pack(len(payload)) + payload)
    stream.flush()


def receive(stream: IO[bytes], most: float = float("inf")) -> bytes | None:
    """The next message; None at the end, also where the other side ended within a message.

    Raises ValueError for one that claims to have more than ``most`` bytes.
    """
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    if length > most:
        raise ValueError(f"a message of {length} bytes")
    payload = stream.read(length)
    return payload if len(payload) == length else None


def pack(kind: str, **values: Any) -> bytes:
    """A message as JSON; the parent runs nothing that a damaged file could have put there."""
    return json.dumps({"kind": kind, **values}).encode("ascii")


def pack_reading(reading: FileReading, **more: bool) -> bytes:
    """What a file gave, as a message of kind ``read`` that says ``more`` too."""
    return pack(
        "read",
        records=[asdict(record) for record in reading.records],
        refused=[[item.where, item.reason] for item in reading.refused],
        notes=reading.notes,
        **more,
    )


def unpack_reading(message: dict[str, Any]) -> FileReading:
    """The inverse of :func:`pack_reading`."""
    return FileReading(
        tuple(
            Record(**{**record, "page_starts": tuple(record["page_starts"])})
            for record in message["records"]
        ),
        tuple(Refused(*item) for item in message["refused"]),
        tuple(message["notes"]),
    )
