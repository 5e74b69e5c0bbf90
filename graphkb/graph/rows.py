"""Rows of text units, entities, relationships and claims as flat arrays, so that a question reads
a few hundred of them without asking the store, hubs included."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from graphkb.graph.lookup import pointers, text_arrays

Arrays = dict[str, npt.NDArray[Any]]

ENTITY_COLUMNS = ("human_readable_id", "title", "type", "description", "aliases")
RELATIONSHIP_COLUMNS = ("human_readable_id", "source", "target", "description", "text_unit_ids")
UNIT_COLUMNS = (
    "human_readable_id", "n_tokens", "document_id", "heading_path", "index", "char_start",
    "char_end", "page_start", "page_end", "context", "kind", "language", "title", "path",
    "page_breaks",
)  # fmt: skip
"""Of a text unit beside its text, with title and path of its document and the offsets in that
one's text at which pages begin inside the unit."""
CLAIM_COLUMNS = (
    "id", "human_readable_id", "subject_id", "object_id", "type", "description", "status",
    "start_date", "end_date", "text_unit_id",
)  # fmt: skip

_COLUMNS = {
    "entity": ENTITY_COLUMNS,
    "relationship": RELATIONSHIP_COLUMNS,
    "unit": UNIT_COLUMNS,
    "claim": CLAIM_COLUMNS,
}

TABLES = ("entities", "relationships", "nodes", "text_units", "documents", "covariates")
"""What :func:`row_arrays` takes, in this order."""

NO_COMMUNITY = -1
_ENDS = ("source", "target")


def row_arrays(
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    nodes: pl.DataFrame,
    text_units: pl.DataFrame,
    documents: pl.DataFrame,
    covariates: pl.DataFrame,
) -> Arrays:
    """Rows of the tables by the order of their ids, and what ranks relationships.

    ====================  ==================================================================
    unit_row*             JSON of :data:`UNIT_COLUMNS`, by text unit
    claim_row*            JSON of :data:`CLAIM_COLUMNS`, by text unit and id
    claim_indptr          by text unit: its claims
    entity_row*           JSON of :data:`ENTITY_COLUMNS`, by entity
    entity_communities    int64 [n_entities], nodes.community; -1 without
    relationship_ids      bytes, sorted; position is the number used below
    relationship_row*     JSON of :data:`RELATIONSHIP_COLUMNS`, by relationship
    relationship_weights  float64
    relationship_ends     int32 [n, 2], source and target entity; -1: none of the table's
    linked_indptr,        by entity: numbers of its relationships, the heaviest first, ties by
    linked                number; one that joins an entity with itself stands there once
    ====================  ==================================================================
    """
    entities, relationships = entities.sort("id"), relationships.sort("id")
    index = entities.select("id").with_row_index("entity")
    ends = np.column_stack([_places(relationships, f"{end}_id", index) for end in _ENDS])
    weights = relationships["weight"].to_numpy().astype(np.float64)
    arrays: Arrays = {
        "entity_communities": _communities(index, nodes),
        "relationship_ids": np.array(relationships["id"].to_list(), dtype="S"),
        "relationship_weights": weights,
        "relationship_ends": ends,
    }
    arrays |= _packed("entity", entities)
    arrays |= _packed("relationship", relationships)
    arrays |= _packed("unit", _placed_units(text_units, documents))
    arrays |= _claims(covariates, text_units)
    return arrays | _linked(ends, weights, entities.height)


def row_of(arrays: Mapping[str, npt.NDArray[Any]], name: str, place: int) -> dict[str, Any]:
    """The columns of one row, by name: of an ``entity``, ``relationship``, ``unit`` or
    ``claim``."""
    start, end = arrays[f"{name}_row_indptr"][place : place + 2]
    packed = json.loads(arrays[f"{name}_row"][start:end].tobytes())
    return {column: packed[str(number)] for number, column in enumerate(_COLUMNS[name])}


def _places(frame: pl.DataFrame, column: str, index: pl.DataFrame) -> npt.NDArray[np.int32]:
    """Numbers of the entities in a column of ids; -1 for those that are not there."""
    found = frame.select(pl.col(column).alias("id")).join(
        index, on="id", how="left", maintain_order="left"
    )
    return np.asarray(found["entity"].cast(pl.Int32).fill_null(-1).to_numpy(), dtype=np.int32)


def _placed_units(text_units: pl.DataFrame, documents: pl.DataFrame) -> pl.DataFrame:
    """Text units by id with what their documents say of them."""
    above = documents.select(pl.col("id").alias("document_id"), "title", "path", "page_starts")
    first, last = pl.col("page_start").fill_null(0), pl.col("page_end").fill_null(0)
    begins = pl.col("page_starts").fill_null([]).list.slice(first, last - first)
    placed = text_units.join(above, on="document_id", how="left").sort("id")
    texts = [pl.col(name).fill_null("") for name in ("title", "path")]
    return placed.with_columns(*texts, begins.alias("page_breaks"))


def _claims(covariates: pl.DataFrame, text_units: pl.DataFrame) -> Arrays:
    index = text_units.select(pl.col("id").alias("text_unit_id")).sort("text_unit_id")
    claims = covariates.join(index.with_row_index("unit"), on="text_unit_id").sort("unit", "id")
    owners = claims["unit"].to_numpy().astype(np.int64)
    return {"claim_indptr": pointers(owners, index.height), **_packed("claim", claims)}


def _communities(index: pl.DataFrame, nodes: pl.DataFrame) -> npt.NDArray[np.int64]:
    known = nodes.select(pl.col("entity_id").alias("id"), pl.col("community").cast(pl.Int64))
    found = index.join(known, on="id", how="left", maintain_order="left")["community"]
    return np.asarray(found.fill_null(NO_COMMUNITY).to_numpy(), dtype=np.int64)


def _packed(name: str, frame: pl.DataFrame) -> Arrays:
    """One JSON object a row, its keys the numbers of the columns."""
    columns = enumerate(_COLUMNS[name])
    numbered = [pl.col(column).alias(str(number)) for number, column in columns]
    made = text_arrays(frame.select(pl.struct(numbered).struct.json_encode()).to_series())
    return {f"{name}_row_indptr": made["text_indptr"], f"{name}_row": made["text"]}


def _linked(
    ends: npt.NDArray[np.int32], weights: npt.NDArray[np.float64], n_entities: int
) -> Arrays:
    numbers = np.arange(len(weights))
    loops = ends[:, 0] == ends[:, 1]
    owners = np.concatenate([ends[:, 0], ends[~loops, 1]])
    linked = np.concatenate([numbers, numbers[~loops]])
    known = owners >= 0
    owners, linked = owners[known], linked[known]
    order = np.lexsort((linked, -weights[linked], owners))
    return {
        "linked_indptr": pointers(owners[order], n_entities),
        "linked": linked[order].astype(np.int32),
    }
