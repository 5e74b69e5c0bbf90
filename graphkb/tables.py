"""Every table graphkb keeps, with the meaning of every column.

Names and columns follow Microsoft GraphRAG's Parquet output; graphkb adds columns and never
renames. The store keeps tables normalised (:data:`TABLES`); :data:`PARQUET` lists the columns
of the GraphRAG-shaped view that :mod:`graphkb.store.parquet` joins when it writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl


@dataclass(frozen=True)
class Table:
    """One table: column name to (type, meaning), in order; ``key`` identifies a row."""

    columns: dict[str, tuple[pl.DataType, str]]
    key: tuple[str, ...]

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """Polars schema in column order."""
        return {name: dtype for name, (dtype, _) in self.columns.items()}

    def empty(self) -> pl.DataFrame:
        """A frame with no rows and all columns."""
        return pl.DataFrame(schema=self.schema)

    def of_rows(self, rows: Collection[Sequence[object]]) -> pl.DataFrame:
        """Rows of this table's columns, in order, as a frame. By columns polars takes them many
        times faster than by rows.

        >>> made = TABLES["removals"].of_rows([("手册.md", "", "手册"), ("b.md", "", "B")])
        >>> made.shape, made["title"].to_list(), TABLES["removals"].of_rows([]).shape
        ((2, 3), ['手册', 'B'], (0, 3))
        """
        columns = zip(*rows, strict=True) if rows else ((),) * len(self.schema)
        return pl.DataFrame(
            {name: list(column) for name, column in zip(self.schema, columns, strict=True)},
            schema=self.schema,
        )

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """``frame`` with exactly this table's columns, in order and cast, sorted by key."""
        return frame.lazy().select(self._columns).sort(self.key).collect()

    @cached_property
    def _columns(self) -> list[pl.Expr]:
        return [pl.col(name).cast(dtype) for name, dtype in self.schema.items()]


_TEXT = pl.String()
_INT = pl.Int64()
_REAL = pl.Float64()
_BOOL = pl.Boolean()
_IDS = pl.List(pl.String())
_INTS = pl.List(pl.Int64())

_ID = (_TEXT, "content hash, the same for the same input")
_NUMBER = (_INT, "short number for people, given once and kept")

TABLES: dict[str, Table] = {
    "sources": Table(
        {
            "path": (_TEXT, "path below the input folder, with / on every system"),
            "file_hash": (_TEXT, "hash of the file's bytes"),
            "row": (_INT, "record within the file, from 0"),
            "own_id": (_TEXT, "the record's own id, or null"),
            "title": (_TEXT, "title found in this file"),
            "content_hash": (_TEXT, "documents.content_hash"),
            "media_type": (_TEXT, "text/markdown, text/csv, …"),
            "metadata": (_TEXT, "JSON object"),
            "raw_data": (_TEXT, "JSON of the original row, or null"),
            "creation_date": (_TEXT, "ISO 8601, or null"),
            "n_pages": (_INT, "pages, or null"),
            "page_starts": (_INTS, "offset in the text where each page begins; or empty"),
            "member": (_TEXT, "path inside the file, of what a container holds; or empty"),
        },
        key=("path", "row"),
    ),
    "removals": Table(
        {
            "path": (_TEXT, "documents.path"),
            "record": (_TEXT, "documents.id of one row of a file; empty for the whole file"),
            "title": (_TEXT, "title when it was removed"),
        },
        key=("path", "record"),
    ),
    "decisions": Table(
        {
            "number": (_INT, "order of the user's decisions, from 1; the newest one wins"),
            "action": (_TEXT, "merge, split or rename"),
            "name": (_TEXT, "the name it is about"),
            "other": (_TEXT, "the name it is joined with, kept apart from, or called; or empty"),
        },
        key=("number",),
    ),
    "documents": Table(
        {
            "id": (_TEXT, "the row's own id where it has one, else a content hash"),
            "human_readable_id": _NUMBER,
            "title": (_TEXT, "from frontmatter, first heading, HTML title, row or file name"),
            "text": (_TEXT, "decoded text, line ends as \\n; all character spans point here"),
            "creation_date": (_TEXT, "date in the document's own metadata, ISO 8601, or null"),
            "raw_data": (_TEXT, "JSON of the original row for tables and JSON, or null"),
            "path": (_TEXT, "path below the input folder, with / on every system"),
            "content_hash": (_TEXT, "hash of title and text"),
            "media_type": (_TEXT, "text/markdown, text/csv, …"),
            "language": (_TEXT, "ISO 639-1 code by script, or und"),
            "metadata": (_TEXT, "JSON object: frontmatter, URL, updated_at, duplicate paths"),
            "n_pages": (_INT, "pages, or null where the format has none"),
            "page_starts": (_INTS, "offset in the text where each page begins; or empty"),
        },
        key=("id",),
    ),
    "text_units": Table(
        {
            "id": _ID,
            "human_readable_id": _NUMBER,
            "text": (_TEXT, "exactly documents.text[char_start:char_end]"),
            "n_tokens": (_INT, "o200k_base tokens of text"),
            "document_id": (_TEXT, "documents.id"),
            "heading_path": (_IDS, "headings above the unit, outermost first"),
            "index": (_INT, "place in the document, from 0"),
            "char_start": (_INT, "offset in the document's text"),
            "char_end": (_INT, "offset in the document's text, exclusive"),
            "page_start": (_INT, "first page, 1-based, or null"),
            "page_end": (_INT, "last page, or null"),
            "parent_id": (_TEXT, "the same for neighbours that are one larger unit, or null"),
            "kind": (_TEXT, "prose, table, row (of a large table), code or question"),
            "context": (
                _TEXT,
                "title › headings, prepended for search, never quoted; below them "
                "column=value of rows, signatures of code, the model's sentence",
            ),
            "language": (_TEXT, "ISO 639-1 code by script, or und"),
        },
        key=("id",),
    ),
    "code_files": Table(
        {
            "document_id": (_TEXT, "documents.id"),
            "paths": (_IDS, "documents.path, then those of files with the same content"),
            "language": (_TEXT, "programming language"),
            "symbols": (_TEXT, "JSON: definitions, imports, calls and variables with their spans"),
        },
        key=("document_id",),
    ),
    "situations": Table(
        {
            "text_unit_id": (_TEXT, "text_units.id"),
            "sentence": (_TEXT, "where the unit stands in its document, by the model; or empty"),
            "status": (_TEXT, "done; failed: asked again next run"),
            "reason": (_TEXT, "why it failed, or null"),
        },
        key=("text_unit_id",),
    ),
    "terms": Table(
        {
            "term": (_TEXT, "a word mined from the corpus or given by the user"),
            "frequency": (_INT, "occurrences in the corpus"),
            "document_frequency": (_INT, "text units that hold it"),
            "origin": (_TEXT, "user, mined (by its use) or title (of a document or heading)"),
            "cohesion": (_REAL, "smallest mutual information over its cuts, or null: not mined"),
            "entropy": (_REAL, "smaller entropy of the characters beside it, or null: not mined"),
        },
        key=("term",),
    ),
    "questions": Table(
        {
            "text_unit_id": (_TEXT, "text_units.id of the unit that answers it"),
            "id": _ID,
            "question": (_TEXT, "the question in words"),
            "method": (_TEXT, "offline or llm; failed: offline, and asked again next run"),
            "tokens": (_TEXT, "search tokens of the question, joined by spaces"),
        },
        key=("text_unit_id", "id"),
    ),
    "extractions": Table(
        {
            "text_unit_id": (_TEXT, "text_units.id"),
            "method": (_TEXT, "offline, llm, code or imported: what the unit's evidence is from"),
            "status": (
                _TEXT,
                "done; partial, failed or budget: asked again next run; cut: asked again when "
                "llm.max_tokens or llm.context_tokens change",
            ),
            "reason": (_TEXT, "why it is not done, or null; of a cut unit it ends with the limits"),
            "repaired": (_INT, "records mended"),
            "dropped": (_INT, "records left out, such as names that the text does not hold"),
        },
        key=("text_unit_id",),
    ),
    "mention_evidence": Table(
        {
            "text_unit_id": (_TEXT, "text_units.id"),
            "char_start": (_INT, "offset in the unit's text, -1 when only in its context"),
            "char_end": (_INT, "offset in the unit's text, exclusive"),
            "surface": (_TEXT, "the words as written"),
            "name": (_TEXT, "the name they stand for"),
            "type": (_TEXT, "entity type"),
            "alias_of": (_TEXT, "the name this one abbreviates where the text says so, or null"),
        },
        key=("text_unit_id", "char_start", "char_end", "name"),
    ),
    "entity_evidence": Table(
        {
            "text_unit_id": (_TEXT, "text_units.id"),
            "name": (_TEXT, "the name as the unit writes it"),
            "type": (_TEXT, "entity type"),
            "description": (_TEXT, "what the unit says of it, in a model's words"),
        },
        key=("text_unit_id", "name"),
    ),
    "relationship_evidence": Table(
        {
            "text_unit_id": (_TEXT, "text_units.id"),
            "source": (_TEXT, "name"),
            "target": (_TEXT, "name"),
            "description": (_TEXT, "what the text says between them"),
            "type": (_TEXT, "relationship type"),
            "weight": (_REAL, "strength of this evidence, above 0"),
            "directed": (_BOOL, "whether source and target may not be swapped"),
            "char_start": (_INT, "sentence span in the unit's text"),
            "char_end": (_INT, "sentence span in the unit's text, exclusive"),
        },
        key=("text_unit_id", "char_start", "char_end", "source", "target", "type"),
    ),
    "claim_evidence": Table(
        {
            "text_unit_id": (_TEXT, "text_units.id"),
            "subject": (_TEXT, "name"),
            "object": (_TEXT, "name, or null"),
            "type": (_TEXT, "claim type"),
            "description": (_TEXT, "the claim in words"),
            "status": (_TEXT, "TRUE, FALSE or SUSPECTED"),
            "start_date": (_TEXT, "ISO 8601, or null"),
            "end_date": (_TEXT, "ISO 8601, or null"),
            "source_text": (_TEXT, "the sentence"),
            "char_start": (_INT, "sentence span in the unit's text"),
            "char_end": (_INT, "sentence span in the unit's text, exclusive"),
        },
        key=("text_unit_id", "char_start", "char_end", "subject", "type"),
    ),
    "entities": Table(
        {
            "id": _ID,
            "human_readable_id": _NUMBER,
            "title": (_TEXT, "the most frequent spelling"),
            "type": (_TEXT, "PERSON, ORGANIZATION, …"),
            "description": (_TEXT, "what the documents say of it"),
            "aliases": (_IDS, "other spellings, sorted"),
            "frequency": (_INT, "text units that mention it"),
        },
        key=("id",),
    ),
    "merges": Table(
        {
            "name": (_TEXT, "a name that was joined to an entity of another name"),
            "into": (_TEXT, "entities.title"),
            "rule": (_TEXT, "alias, honorific, legal form, model or user"),
            "evidence": (_INT, "mentions that say so; 1 for a rule, a judgement or a decision"),
        },
        key=("name", "into", "rule"),
    ),
    "judgements": Table(
        {
            "name": (_TEXT, "one of two names that may mean the same"),
            "other": (_TEXT, "the other one"),
            "evidence_hash": (_TEXT, "hash of all that the model was shown of the two"),
            "verdict": (_TEXT, "same, different or unsure; empty when it is still to be asked"),
        },
        key=("name", "other"),
    ),
    "descriptions": Table(
        {
            "evidence_hash": (_TEXT, "hash of the statements and of how they were to be merged"),
            "description": (_TEXT, "the checked description; empty when it is still to be asked"),
        },
        key=("evidence_hash",),
    ),
    "mentions": Table(
        {
            "entity_id": (_TEXT, "entities.id"),
            "text_unit_id": (_TEXT, "text_units.id"),
            "char_start": (_INT, "offset in the unit's text, -1 when only in its context"),
            "char_end": (_INT, "offset in the unit's text, exclusive"),
            "surface": (_TEXT, "the words as written"),
        },
        key=("entity_id", "text_unit_id", "char_start", "char_end"),
    ),
    "relationships": Table(
        {
            "id": _ID,
            "human_readable_id": _NUMBER,
            "source": (_TEXT, "entities.title"),
            "target": (_TEXT, "entities.title"),
            "source_id": (_TEXT, "entities.id"),
            "target_id": (_TEXT, "entities.id"),
            "description": (_TEXT, "the strongest connecting phrases"),
            "weight": (_REAL, "sum over its evidence, above 0"),
            "type": (_TEXT, "relationship type"),
            "directed": (_BOOL, "whether source and target may not be swapped"),
            "text_unit_ids": (_IDS, "text units that state it, sorted"),
        },
        key=("id",),
    ),
    "covariates": Table(
        {
            "id": _ID,
            "human_readable_id": _NUMBER,
            "covariate_type": (_TEXT, "claim"),
            "type": (_TEXT, "claim type"),
            "description": (_TEXT, "the claim in words"),
            "subject_id": (_TEXT, "entities.title of the subject, as in GraphRAG"),
            "object_id": (_TEXT, "entities.title of the object, or null"),
            "status": (_TEXT, "TRUE, FALSE or SUSPECTED"),
            "start_date": (_TEXT, "ISO 8601, or null"),
            "end_date": (_TEXT, "ISO 8601, or null"),
            "source_text": (_TEXT, "the sentence"),
            "text_unit_id": (_TEXT, "text_units.id"),
            "char_start": (_INT, "sentence span in the unit's text"),
            "char_end": (_INT, "sentence span in the unit's text, exclusive"),
        },
        key=("id",),
    ),
    "nodes": Table(
        {
            "entity_id": (_TEXT, "entities.id"),
            "degree": (_INT, "distinct neighbours"),
            "rank": (_REAL, "PageRank, sums to 1"),
            "community": (_INT, "leaf community, -1 when it stands in none"),
            "x": (_REAL, "map position, null until a layout is made"),
            "y": (_REAL, "map position, null until a layout is made"),
        },
        key=("entity_id",),
    ),
    "communities": Table(
        {
            "id": _ID,
            "human_readable_id": _NUMBER,
            "community": (_INT, "number within this version"),
            "level": (_INT, "0 is the coarsest"),
            "parent": (_INT, "community number one level up, -1 at level 0"),
            "children": (_INTS, "community numbers one level down"),
            "title": (_TEXT, "from its central entities"),
            "entity_ids": (_IDS, "entities.id, sorted"),
            "period": (_TEXT, "null; kept for GraphRAG's readers"),
            "size": (_INT, "number of entities"),
        },
        key=("community",),
    ),
    "community_reports": Table(
        {
            "id": _ID,
            "human_readable_id": _NUMBER,
            "community": (_INT, "communities.community"),
            "level": (_INT, "communities.level"),
            "parent": (_INT, "communities.parent"),
            "children": (_INTS, "communities.children"),
            "title": (_TEXT, "what the community is about"),
            "summary": (_TEXT, "central and diverse sentences"),
            "full_content": (_TEXT, "Markdown: title, summary, findings"),
            "rank": (_REAL, "importance, 0 to 10"),
            "rating_explanation": (_TEXT, "why that rank"),
            "findings": (_TEXT, "JSON list of {summary, explanation, text_unit_ids}"),
            "full_content_json": (_TEXT, "the whole report as JSON"),
            "period": (_TEXT, "null; kept for GraphRAG's readers"),
            "size": (_INT, "number of entities"),
            "method": (_TEXT, "offline, llm, or rejected: quoted, the model's rested on nothing"),
            "evidence_hash": (_TEXT, "hash of what the report was made from"),
        },
        key=("community",),
    ),
    "search_texts": Table(
        {
            "id": (_TEXT, "text_units.id"),
            "tokens": (_TEXT, "search tokens of context and text, joined by spaces"),
        },
        key=("id",),
    ),
    "vectors": Table(
        {
            "id": (_TEXT, "text_units.id"),
            "text_hash": (_TEXT, "hash of the embedded text"),
            "language": (_TEXT, "text_units.language"),
            "vector": (pl.List(pl.Float32()), "unit length; stored as a fixed-size list"),
        },
        key=("id",),
    ),
}

PARQUET: dict[str, list[str]] = {
    "documents": (
        "id human_readable_id title text text_unit_ids creation_date raw_data "
        "path content_hash media_type language metadata n_pages"
    ).split(),
    "text_units": (
        "id human_readable_id text n_tokens document_id entity_ids relationship_ids covariate_ids "
        "heading_path index char_start char_end page_start page_end parent_id kind context language"
    ).split(),
    "entities": (
        "id human_readable_id title type description text_unit_ids frequency degree x y "
        "aliases rank"
    ).split(),
    "relationships": (
        "id human_readable_id source target description weight combined_degree text_unit_ids "
        "type directed"
    ).split(),
    "covariates": list(TABLES["covariates"].columns),
    "communities": (
        "id human_readable_id community level parent children title entity_ids relationship_ids "
        "text_unit_ids period size"
    ).split(),
    "community_reports": list(TABLES["community_reports"].columns),
    "mentions": list(TABLES["mentions"].columns),
}


def content_hash(*parts: str, length: int = 32) -> str:
    """Hexadecimal SHA-256 of the parts, each delimited by its length, cut to ``length`` digits.

    >>> content_hash("a", "bc") != content_hash("ab", "c")
    True
    """
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big"))
        digest.update(data)
    return digest.hexdigest()[:length]


def rows(name: str, records: Iterable[dict[str, object]]) -> pl.DataFrame:
    """A frame of table ``name`` from row dictionaries; missing columns are null."""
    table = TABLES[name]
    data = list(records)
    columns = {column: [row.get(column) for row in data] for column in table.schema}
    return pl.DataFrame(columns, schema=table.schema)
