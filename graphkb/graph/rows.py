"""Rows of entities and relationships as flat arrays, so that a question reads a few hundred of
them without asking the store, hubs included."""

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

NO_COMMUNITY = -1
_ENDS = ("source", "target")


def row_arrays(
    entities: pl.DataFrame, relationships: pl.DataFrame, nodes: pl.DataFrame | None = None
) -> Arrays:
    """Rows of both tables by the order of their ids, and what ranks relationships.

    ====================  ==================================================================
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
    arrays |= _packed("entity", entities, ENTITY_COLUMNS)
    arrays |= _packed("relationship", relationships, RELATIONSHIP_COLUMNS)
    return arrays | _linked(ends, weights, entities.height)


def row_of(arrays: Mapping[str, npt.NDArray[Any]], name: str, place: int) -> dict[str, Any]:
    """The columns of one row, by name: ``entity`` or ``relationship``."""
    columns = ENTITY_COLUMNS if name == "entity" else RELATIONSHIP_COLUMNS
    start, end = arrays[f"{name}_row_indptr"][place : place + 2]
    packed = json.loads(arrays[f"{name}_row"][start:end].tobytes())
    return {column: packed[str(number)] for number, column in enumerate(columns)}


def _places(frame: pl.DataFrame, column: str, index: pl.DataFrame) -> npt.NDArray[np.int32]:
    """Numbers of the entities in a column of ids; -1 for those that are not there."""
    found = frame.select(pl.col(column).alias("id")).join(
        index, on="id", how="left", maintain_order="left"
    )
    return np.asarray(found["entity"].cast(pl.Int32).fill_null(-1).to_numpy(), dtype=np.int32)


def _communities(index: pl.DataFrame, nodes: pl.DataFrame | None) -> npt.NDArray[np.int64]:
    if nodes is None:
        return np.full(index.height, NO_COMMUNITY, dtype=np.int64)
    known = nodes.select(pl.col("entity_id").alias("id"), pl.col("community").cast(pl.Int64))
    found = index.join(known, on="id", how="left", maintain_order="left")["community"]
    return np.asarray(found.fill_null(NO_COMMUNITY).to_numpy(), dtype=np.int64)


def _packed(name: str, frame: pl.DataFrame, columns: tuple[str, ...]) -> Arrays:
    """One JSON object a row, its keys the numbers of the columns."""
    numbered = [pl.col(column).alias(str(number)) for number, column in enumerate(columns)]
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
