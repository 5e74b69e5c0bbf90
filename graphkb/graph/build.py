"""The passage-entity graph as flat arrays that can be saved with ``numpy.save`` and mapped.

Nodes ``0 … n_units - 1`` are text units in the order of their ids, the entities follow in the
order of theirs. A unit is joined to the entities it mentions, entities to those they are
related to or share a name with. Common entities count less: their edges are divided by
``log2(1 + frequency)``, the part of a pointwise mutual information that depends on them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from graphkb.extract.context import title_names
from graphkb.extract.unit import RELATED
from graphkb.graph import lookup
from graphkb.text.names import name_key

Arrays = dict[str, npt.NDArray[Any]]

_TITLE_WEIGHT = 2.0
_SAME_NAME_WEIGHT = 1.0
_MAX_NAMESAKES = 20


def build_graph(
    entities: pl.DataFrame,
    mentions: pl.DataFrame,
    relationships: pl.DataFrame,
    text_units: pl.DataFrame,
    search_texts: pl.DataFrame | None = None,
) -> Arrays:
    """All arrays :class:`graphkb.search.graph.GraphIndex` reads; the same for any row order.

    ====================  ==================================================================
    unit_ids, entity_ids  bytes, sorted; position is the index used everywhere else
    indptr, indices,      CSR adjacency of [n_units + n_entities] nodes, symmetric, columns
    weights, strength     sorted in each row; strength is the sum of each row
    frequency             int32 [n_entities], units that mention the entity
    mention_*             by unit: entity and character offset (-1: in the title), by offset
    unit_documents        int32 [n_units], number of the document each unit belongs to
    title_entity          int32 [n_units], the entity its title names, -1 without
    fact_indptr, fact_*   by unit: source and target entity of what it states, in words
    titled_*              by entity: the units it is the title of
    text_indptr, text     UTF-8 text of each unit
    token_*               inverted index: hash of token, units, counts; unit_lengths
    key_*                 hash of name key, entity, weight (1 title, less for shared aliases)
    word_*                by hash of a name's word: entities; entity_words counts them
    ====================  ==================================================================
    """
    units = text_units.select("id", "text", "context").sort("id")
    entities = entities.select("id", "title", "aliases").sort("id")
    unit_index = units.select(pl.col("id").alias("text_unit_id")).with_row_index("unit")
    entity_index = entities.select(pl.col("id").alias("entity_id")).with_row_index("entity")
    placed = mentions.join(unit_index, on="text_unit_id").join(entity_index, on="entity_id")
    placed = placed.sort(
        "unit", "char_start", pl.col("char_end"), "entity", descending=[False, False, True, False]
    )
    n_units, n_entities = units.height, entities.height
    pairs = placed.group_by("unit", "entity").agg((pl.col("char_start") < 0).any().alias("above"))
    frequency = np.bincount(pairs["entity"].to_numpy(), minlength=n_entities).astype(np.int32)
    keys = lookup.name_keys(entities)
    arrays: Arrays = {
        "unit_ids": np.array(units["id"].to_list(), dtype="S"),
        "entity_ids": np.array(entities["id"].to_list(), dtype="S"),
        "frequency": frequency,
    }
    edges = [
        _mention_edges(pairs, frequency, n_units),
        _relationship_edges(relationships, entity_index, frequency, n_units),
        _same_name_edges(keys, n_units),
    ]
    arrays |= _adjacency(pl.concat(edges), n_units + n_entities)
    arrays |= _mention_arrays(placed, n_units)
    arrays |= _titles(units, keys, n_entities)
    arrays |= _fact_arrays(relationships, entity_index, unit_index)
    arrays["unit_documents"] = _documents(text_units)
    arrays |= lookup.text_arrays(units["text"])
    arrays |= lookup.token_arrays(units, search_texts)
    arrays |= lookup.key_arrays(keys)
    arrays |= lookup.word_arrays(keys, n_entities)
    return arrays


def _damping(frequency: npt.NDArray[np.int32]) -> npt.NDArray[np.float64]:
    return np.asarray(1.0 / np.log2(1.0 + np.maximum(frequency, 1)))


def _edges(
    source: npt.NDArray[np.integer],
    target: npt.NDArray[np.integer],
    weight: npt.NDArray[np.float64],
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "source": source.astype(np.int64),
            "target": target.astype(np.int64),
            "weight": weight.astype(np.float64),
        }
    )


def _mention_edges(
    pairs: pl.DataFrame, frequency: npt.NDArray[np.int32], n_units: int
) -> pl.DataFrame:
    """Unit to entity, heavier where the entity stands in the title or a heading."""
    pairs = pairs.sort("unit", "entity")
    entity = pairs["entity"].to_numpy()
    weight = _damping(frequency)[entity] + _TITLE_WEIGHT * pairs["above"].to_numpy()
    return _edges(pairs["unit"].to_numpy(), entity.astype(np.int64) + n_units, weight)


def _relationship_edges(
    relationships: pl.DataFrame,
    entity_index: pl.DataFrame,
    frequency: npt.NDArray[np.int32],
    n_units: int,
) -> pl.DataFrame:
    """Entity to entity, damped by the more common of the two."""
    ends = relationships.select("source_id", "target_id", "weight")
    for end in ("source", "target"):
        index = entity_index.rename({"entity_id": f"{end}_id", "entity": end})
        ends = ends.join(index, on=f"{end}_id")
    source, target = ends["source"].to_numpy(), ends["target"].to_numpy()
    damping = _damping(frequency)
    weight = ends["weight"].to_numpy() * np.minimum(damping[source], damping[target])
    return _edges(source.astype(np.int64) + n_units, target.astype(np.int64) + n_units, weight)


def _same_name_edges(keys: pl.DataFrame, n_units: int) -> pl.DataFrame:
    """Entities that one name may stand for, except where it may stand for very many."""
    shared = keys.filter(pl.len().over("key").is_between(2, _MAX_NAMESAKES))
    pairs = shared.join(shared, on="key", suffix="_other").filter(
        pl.col("entity") < pl.col("entity_other")
    )
    pairs = pairs.group_by("entity", "entity_other").agg(pl.col("size").min())
    return _edges(
        pairs["entity"].to_numpy().astype(np.int64) + n_units,
        pairs["entity_other"].to_numpy().astype(np.int64) + n_units,
        _SAME_NAME_WEIGHT / np.maximum(pairs["size"].to_numpy() - 1.0, 1.0),
    )


def _adjacency(edges: pl.DataFrame, n_nodes: int) -> Arrays:
    """Symmetric CSR arrays with equal edges summed and columns sorted."""
    both = pl.concat([edges, edges.select(source="target", target="source", weight="weight")])
    # Sums of floats depend on their order, so it is fixed before they are taken.
    summed = (
        both.sort("source", "target", "weight")
        .group_by("source", "target", maintain_order=True)
        .agg(pl.col("weight").sum())
    )
    source = summed["source"].to_numpy()
    weights = summed["weight"].to_numpy().astype(np.float32)
    return {
        "indptr": lookup.pointers(source, n_nodes),
        "indices": summed["target"].to_numpy().astype(np.int32),
        "weights": weights,
        "strength": np.bincount(source, weights=weights, minlength=n_nodes).astype(np.float32),
    }


def _mention_arrays(placed: pl.DataFrame, n_units: int) -> Arrays:
    return {
        "mention_indptr": lookup.pointers(placed["unit"].to_numpy(), n_units),
        "mention_entities": placed["entity"].to_numpy().astype(np.int32),
        "mention_starts": placed["char_start"].to_numpy().astype(np.int32),
    }


def _fact_arrays(
    relationships: pl.DataFrame, entity_index: pl.DataFrame, unit_index: pl.DataFrame
) -> Arrays:
    """Relationships that have a type, by the units that state them; words as UTF-8."""
    words = pl.concat_str("source", "type", "target", separator=" ")
    typed = relationships.filter(pl.col("type") != RELATED).with_columns(words=words)
    facts = typed.explode("text_unit_ids").join(
        unit_index, left_on="text_unit_ids", right_on="text_unit_id"
    )
    for end in ("source", "target"):
        index = entity_index.rename({"entity_id": f"{end}_id", "entity": f"{end}_entity"})
        facts = facts.join(index, on=f"{end}_id")
    facts = facts.sort("unit", "source_entity", "target_entity", "words")
    said = lookup.text_arrays(facts["words"])
    return {
        "fact_indptr": lookup.pointers(facts["unit"].to_numpy(), unit_index.height),
        "fact_sources": facts["source_entity"].to_numpy().astype(np.int32),
        "fact_targets": facts["target_entity"].to_numpy().astype(np.int32),
        "fact_text_indptr": said["text_indptr"],
        "fact_text": said["text"],
    }


def _documents(text_units: pl.DataFrame) -> npt.NDArray[np.int32]:
    """Number of each unit's document, in unit order; without that column each is its own."""
    column = "document_id" if "document_id" in text_units.columns else "id"
    numbers = text_units.sort("id")[column].rank("dense").cast(pl.Int32)
    return np.asarray(numbers.to_numpy() - 1, dtype=np.int32)


def _titles(units: pl.DataFrame, keys: pl.DataFrame, n_entities: int) -> Arrays:
    """Which entity each unit's title names, and the units that each entity is the title of."""
    entity_of = dict(
        keys.filter(pl.col("size") >= 1)
        .sort("key", "entity", descending=True)
        .select("key", "entity")
        .iter_rows()
    )
    title_entity = np.full(units.height, -1, dtype=np.int32)
    for position, context in enumerate(units["context"].to_list()):
        names = title_names(context or "")
        if names:
            title_entity[position] = entity_of.get(name_key(names[0]), -1)
    order = np.argsort(title_entity, kind="stable")
    order = order[title_entity[order] >= 0]
    return {
        "title_entity": title_entity,
        "titled_indptr": lookup.pointers(title_entity[order], n_entities),
        "titled_units": order.astype(np.int32),
    }
