"""Evidence that another tool's model found, kept by document so that any text units can use it.

A document is known by the hash of its text, and evidence by spans in it: an unchanged document
keeps its evidence through other chunk sizes, other file names and a rebuild; a changed one has
none. What a summary was written from is kept with it, and it is used only while all of that is
there, so that a deleted document takes its facts with it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from graphkb.extract.offline import Extraction
from graphkb.tables import TABLES, Table, content_hash

_Column = tuple[pl.DataType, str]
_TEXTS = pl.List(pl.String())


def _placed(name: str) -> dict[str, _Column]:
    """The columns of an evidence table, with spans in a document instead of in a text unit."""
    place: dict[str, _Column] = {
        "document": (pl.String(), "hash of the document's text"),
        "char_start": (pl.Int64(), "offset in the document's text"),
        "char_end": (pl.Int64(), "offset in the document's text, exclusive"),
    }
    own = {**place, "text_unit_id": None, "alias_of": None}
    rest = {key: column for key, column in TABLES[name].columns.items() if key not in own}
    return {**place, **rest}


_SUMMARY_OF: _Column = (_TEXTS, "hashes of the documents that the words were written from, sorted")
_PASSAGE: _Column = (pl.String(), "the other tool's text unit")
_PLAIN: _Column = (pl.String(), "the sentence, where the description may not be used")

_MENTIONS = _placed("mention_evidence")
_RELATIONSHIPS = _placed("relationship_evidence")
_CLAIMS = _placed("claim_evidence")
_NAMES = TABLES["entity_evidence"].columns

IMPORTED: dict[str, Table] = {
    "passages": Table(
        {"passage": _PASSAGE, **{key: _MENTIONS[key] for key in list(_MENTIONS)[:3]}},
        key=("passage", "document", "char_start"),
    ),
    "mentions": Table(_MENTIONS, key=("document", "char_start", "char_end", "name")),
    "descriptions": Table(
        {
            **{key: _NAMES[key] for key in ("name", "type", "description")},
            "summary_of": _SUMMARY_OF,
        },
        key=("name",),
    ),
    "relationships": Table(
        {**_RELATIONSHIPS, "plain": _PLAIN, "summary_of": _SUMMARY_OF},
        key=("document", "char_start", "char_end", "source", "target", "type"),
    ),
    "claims": Table(_CLAIMS, key=("document", "char_start", "char_end", "subject", "type")),
}

# A text unit counts as read by the other tool when its passages cover this much of it.
_COVERED = 0.9

Frames = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class ImportedExtraction:
    """Evidence of the text units in ``unit_ids``, in table order; ``entities`` is their
    entity_evidence."""

    unit_ids: pl.Series
    extraction: Extraction
    entities: pl.DataFrame


def text_hash(text: str) -> str:
    """How imported evidence knows a document."""
    return content_hash("document", text)


def imported_evidence(
    imported: Frames, documents: pl.DataFrame, text_units: pl.DataFrame
) -> ImportedExtraction:
    """What is kept of the text units, for those that the other tool read.

    ``imported`` holds the frames of :data:`IMPORTED`; of ``documents`` id and text are read. A
    mention counts in every unit that holds it, a relationship or claim in the first one.
    """
    covered = covered_units(imported, documents, text_units)
    whole = is_whole(covered)
    mentions = _inside(imported["mentions"], covered)
    relationships = _in_one(imported["relationships"], covered).with_columns(
        description=pl.when(whole).then("description").otherwise("plain")
    )
    entities = _described(imported["descriptions"].filter(whole), mentions)
    return ImportedExtraction(
        covered["id"].sort(),
        Extraction(
            _table("mention_evidence", mentions.with_columns(alias_of=pl.lit(None, pl.String))),
            _table("relationship_evidence", _summed(relationships)),
            _table("claim_evidence", _in_one(imported["claims"], covered)),
        ),
        entities,
    )


def covered_units(
    imported: Frames, documents: pl.DataFrame, text_units: pl.DataFrame
) -> pl.DataFrame:
    """The text units that the other tool read, by document and place; ``document`` is the hash
    of their document's text."""
    passages = imported["passages"]
    known = set(passages["document"])
    hashes = documents.select(
        pl.col("id").alias("document_id"),
        pl.Series("document", [text_hash(text) for text in documents["text"]], dtype=pl.String),
    ).filter(pl.col("document").is_in(known))
    units = text_units.join(hashes, on="document_id").sort("document", "document_id", "index")
    spans: dict[str, list[tuple[int, int]]] = {}
    columns = ("document", "char_start", "char_end")
    for document, start, end in passages.select(columns).iter_rows():
        spans.setdefault(document, []).append((start, end))
    joined = {document: merged(found) for document, found in spans.items()}
    kept = []
    for document, start, end in units.select(columns).iter_rows():
        found = joined[document]
        first = max(bisect_right(found, (start, start)) - 1, 0)
        last = bisect_left(found, (end, end))
        covered = sum(max(0, min(b, end) - max(a, start)) for a, b in found[first:last])
        kept.append(covered >= _COVERED * (end - start))
    return units.filter(pl.Series(kept, dtype=pl.Boolean))


def is_whole(covered: pl.DataFrame) -> pl.Expr:
    """Whether all documents that a summary was written from are there as they were."""
    there = pl.lit(covered["document"].unique().sort().implode())
    return pl.col("summary_of").list.set_difference(there).list.len() == 0


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans joined where they touch or overlap, in order.

    >>> merged([(5, 9), (0, 3), (2, 5)])
    [(0, 9)]
    """
    joined: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _shared(
    rows: pl.DataFrame, units: pl.DataFrame, overlap: bool
) -> Iterator[tuple[int, int, int]]:
    """(unit, row, shared characters) by unit and place, for rows inside a unit or overlapping
    it."""
    placed = rows.select("document", "char_start", "char_end").with_row_index("row")
    by_document = {
        str(key[0]): [frame[name].to_numpy() for name in ("row", "char_start", "char_end")]
        for key, frame in placed.sort("char_start", "row").group_by("document")
    }
    columns = ("document", "char_start", "char_end")
    for unit, (document, start, end) in enumerate(units.select(columns).iter_rows()):
        if document in by_document:
            numbers, starts, ends = by_document[document]
            shared = np.minimum(ends, end) - np.maximum(starts, start)
            fits = shared > 0 if overlap else (starts >= start) & (ends <= end)
            for number, count in zip(numbers[fits].tolist(), shared[fits].tolist(), strict=True):
                yield unit, number, count


def _inside(rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Each row in every unit that holds its span."""
    return _joined(rows, units, [(unit, row) for unit, row, _ in _shared(rows, units, False)])


def _in_one(rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """Each row once in each document: in the unit that holds most of its span, the first such.

    The same text may be there as several documents.
    """
    documents = units["document_id"].to_list()
    best: dict[tuple[str, int], tuple[int, int]] = {}
    for unit, row, shared in _shared(rows, units, True):
        known = best.get((documents[unit], row))
        if known is None or shared > known[1]:
            best[documents[unit], row] = (unit, shared)
    return _joined(rows, units, [(unit, row) for (_, row), (unit, _) in best.items()])


def _joined(rows: pl.DataFrame, units: pl.DataFrame, pairs: list[tuple[int, int]]) -> pl.DataFrame:
    """Rows with their text_unit_id and spans within it."""
    chosen = units.select(
        pl.col("id").alias("text_unit_id"),
        pl.col("char_start").alias("_from"),
        pl.col("char_end").alias("_to"),
    )
    joined = pl.concat(
        [chosen[[unit for unit, _ in pairs]], rows[[row for _, row in pairs]]], how="horizontal"
    )
    return joined.with_columns(
        char_start=pl.max_horizontal("char_start", "_from") - pl.col("_from"),
        char_end=pl.min_horizontal("char_end", "_to") - pl.col("_from"),
    )


def _summed(relationships: pl.DataFrame) -> pl.DataFrame:
    """Those that fall on one span of a unit as one, with all their weight."""
    key = list(TABLES["relationship_evidence"].key)
    rows = relationships.sort(*key, "description")
    return rows.group_by(key, maintain_order=True).agg(
        pl.col("weight").sum(), pl.col("description", "directed").first()
    )


def _described(descriptions: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """What is said of each entity in its first text unit, and in the others that it is there."""
    first = pl.int_range(pl.len()).over("name") == 0
    said = (
        mentions.unique(["text_unit_id", "name"], keep="first", maintain_order=True)
        .join(descriptions.select("name", "description"), on="name", how="left")
        .with_columns(description=pl.when(first).then("description").fill_null(""))
    )
    return _table("entity_evidence", said)


def _table(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The rows as table ``name``; of those with one key the first in the order of all columns."""
    table = TABLES[name]
    columns = list(table.schema)
    rows = frame.select(columns).sort(columns).unique(list(table.key), keep="first")
    return table.conform(rows)
