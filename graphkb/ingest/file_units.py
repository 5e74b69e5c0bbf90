"""How one file would be read and cut, without indexing it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphkb.errors import InputError
from graphkb.ingest.records import SourceFile
from graphkb.settings import Settings
from graphkb.types import Refused

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class FileUnits:
    """The text units of one file: the rows of ``text_units`` with path and title of their
    document, of a workbook also their ``sheets``, ``row`` and ``row_end``; their sizes, what was
    refused of the file, and what reading it noted."""

    units: pl.DataFrame
    sizes: dict[str, Any]
    refused: tuple[Refused, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON values."""
        return {
            "units": self.units.to_dicts(),
            "sizes": self.sizes,
            "refused": [{"where": item.where, "reason": item.reason} for item in self.refused],
            "notes": list(self.notes),
        }


def cut_file(path: Path, settings: Settings) -> FileUnits:
    """The text units that the settings make of a file, wherever it lies; nothing is written.

    Raises InputError where there is no such file, and with the reason where nothing in it can be
    read.
    """
    import polars as pl

    from graphkb.ingest.assemble import assemble_documents
    from graphkb.ingest.chunk import cut_documents
    from graphkb.ingest.isolate import read_files
    from graphkb.ingest.read import file_hash, sources_frame
    from graphkb.ingest.sizes import unit_sizes

    if not path.exists():
        raise InputError(f"{path}: no such file")
    if path.is_dir():
        raise InputError(f"{path}: is a folder; name one file")
    source = SourceFile(path.name, path, path.stat().st_size)
    reading = read_files([source], settings.input)[0]
    if not reading.records:
        why = "; ".join(f"{item.where}: {item.reason}" for item in reading.refused)
        raise InputError(why or f"{path}: no text found in it")
    assembled = assemble_documents(sources_frame(source, file_hash(source), reading))
    documents = assembled.documents
    of_documents = documents.select(pl.col("id").alias("document_id"), "path", "title")
    units = (
        cut_documents(documents, settings.chunks)
        .join(of_documents, on="document_id", how="left", maintain_order="left")
        .drop("human_readable_id")
    )
    units = _in_sheets(units, documents)
    notes = (*reading.notes, *assembled.warnings)
    return FileUnits(units, unit_sizes(units, settings.chunks.size), reading.refused, notes)


def _in_sheets(units: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """The units with their places in sheets; as they are where no document may have rows."""
    import polars as pl

    from graphkb.text.sheets import WITH_ROWS, SheetMap, SheetPlace

    books = documents.filter(pl.col("media_type").is_in(list(WITH_ROWS)))
    maps = {
        row["id"]: SheetMap(row["text"], row["page_starts"], json.loads(row["metadata"]))
        for row in books.iter_rows(named=True)
    }
    if not maps:
        return units
    spans = units.select("document_id", "char_start", "char_end").iter_rows()
    places = [
        maps[key].place(start, end) if key in maps else SheetPlace() for key, start, end in spans
    ]
    return units.with_columns(
        pl.Series("sheets", [place.sheets for place in places], dtype=pl.List(pl.String())),
        pl.Series("row", [place.row for place in places], dtype=pl.Int64()),
        pl.Series("row_end", [place.row_end for place in places], dtype=pl.Int64()),
    )
