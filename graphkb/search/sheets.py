"""Sheets and rows of workbooks and CSV files for what points into their text."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from graphkb.search.snapshot import Snapshot
from graphkb.text.sheets import WITH_ROWS, SheetMap, SheetPlace
from graphkb.types import Citation, Hit

_ROWS = (".csv", ".tsv", ".CSV", ".TSV")

Place = TypeVar("Place", Citation, Hit)


def in_sheets(snapshot: Snapshot, places: Sequence[Place]) -> tuple[Place, ...]:
    """``places`` with ``sheets``, ``row`` and ``row_end`` where they are in a workbook or CSV
    file."""
    # Nothing is looked up for formats that have neither pages nor rows.
    maps = sheet_maps(
        snapshot,
        (p.document_id for p in places if p.page is not None or p.path.endswith(_ROWS)),
    )
    placed = []
    for place in places:
        if found := maps.get(place.document_id):
            at = found.place(place.char_start, place.char_end)
            place = replace(place, sheets=at.sheets, row=at.row, row_end=at.row_end)
        placed.append(place)
    return tuple(placed)


def sheet_place(snapshot: Snapshot, document_id: str, start: int, end: int) -> SheetPlace:
    """The sheets and rows of a span of a document's text; of none where it is no workbook."""
    found = sheet_maps(snapshot, [document_id]).get(document_id)
    return found.place(start, end) if found else SheetPlace()


def row_spans(
    snapshot: Snapshot, document_ids: Iterable[str], rows: Sequence[int], question: str = ""
) -> dict[str, list[tuple[int, int]]]:
    """Where the rows with those numbers stand in the texts of documents whose rows are known; of
    the sheets that the question names alone, where it names any."""
    maps = sheet_maps(snapshot.whole or snapshot, document_ids)
    return {
        document_id: [span for row in rows for span in one.spans_of(row, question)]
        for document_id, one in maps.items()
        if one.has_rows
    }


def sheet_maps(snapshot: Snapshot, document_ids: Iterable[str]) -> dict[str, SheetMap]:
    """The maps of those documents that may have rows, by id; kept with the snapshot."""
    known, wanted = snapshot.sheet_maps, set(document_ids)
    if new := wanted - known.keys():
        types = snapshot.store.where("documents", "id", new, ("id", "media_type"))
        books = [key for key, media_type in types.iter_rows() if media_type in WITH_ROWS]
        known.update(dict.fromkeys(new))
        if books:
            columns = ("id", "text", "page_starts", "metadata")
            for row in snapshot.store.where("documents", "id", books, columns).to_dicts():
                metadata = json.loads(row["metadata"] or "{}")
                known[row["id"]] = SheetMap(row["text"], row["page_starts"] or [], metadata)
    return {key: one for key in wanted if (one := known[key]) is not None}
