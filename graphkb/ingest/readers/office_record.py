"""The document of an Office package: its title, metadata and date, and what reading it noted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphkb.ingest.decode import clean_text
from graphkb.ingest.readers.office import OfficePackage
from graphkb.ingest.readers.office_pictures import Pictures
from graphkb.ingest.records import FileReading, Record, SourceFile, creation_date
from graphkb.types import Refused

_GENERIC_TITLE = re.compile(
    r"(?:microsoft (?:word|powerpoint|excel)\b.*|untitled.*|(?:document|presentation|book) ?\d*|"
    r"powerpoint (?:presentation|演示文稿)|(?:无标题|未命名).*|幻灯片 ?\d+|slide ?\d+|"
    r"(?:文档|演示文稿|工作簿) ?\d*)",
    re.IGNORECASE,
)


def office_reading(
    source: SourceFile,
    package: OfficePackage,
    text: str,
    media_type: str,
    *,
    title: str = "",
    page_starts: Sequence[int] = (),
    refused: Sequence[Refused] = (),
    pictures: Pictures | None = None,
    told: Mapping[str, Any] | None = None,
) -> FileReading:
    """The package's ``text`` as one document, with its properties, its notes and what is to be
    said of its ``pictures``. ``told`` is metadata that the reader itself found.

    Title: the properties', else ``title``, else the file name.
    """
    metadata: dict[str, Any] = {**package.properties, **(told or {})}
    if pictures is not None:
        pictures.note()
        if pictures.confidence:
            metadata["ocr_confidence"] = pictures.confidence
    record = Record(
        own_id=None,
        title=_own_title(metadata) or clean_text(title)[0] or source.stem,
        text=text,
        media_type=media_type,
        metadata=metadata,
        creation_date=creation_date(metadata),
        page_starts=tuple(page_starts),
    )
    notes = tuple(f"{source.path}: {note}" for note in package.notes)
    return FileReading((record,), tuple(refused), notes)


def _own_title(properties: dict[str, Any]) -> str:
    """Takes the title out of the properties; empty where it is a program's stopgap."""
    title = str(properties.pop("title", ""))
    return "" if _GENERIC_TITLE.fullmatch(title) else title
