"""Text units, claims, entities and relationships around a question, read from the arrays of the
graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphkb.graph.lookup import find_ids
from graphkb.graph.rows import row_of

Arrays = Mapping[str, npt.NDArray[Any]]
Row = dict[str, Any]


def unit_rows(arrays: Arrays, text_unit_ids: Iterable[str]) -> list[Row]:
    """Rows of text units with their ids and texts, in the order of these; unknown ids have
    none."""
    starts, texts = arrays["text_indptr"], arrays["text"]
    return [
        {
            "id": unit_id,
            **row_of(arrays, "unit", place),
            "text": texts[starts[place] : starts[place + 1]].tobytes().decode(),
        }
        for unit_id, place in _places(arrays["unit_ids"], text_unit_ids)
    ]


def claim_rows(arrays: Arrays, text_unit_ids: Iterable[str]) -> list[Row]:
    """Rows of the claims that text units make, unit by unit, each's by id."""
    indptr = arrays["claim_indptr"]
    return [
        row_of(arrays, "claim", claim)
        for _, place in _places(arrays["unit_ids"], text_unit_ids)
        for claim in range(indptr[place], indptr[place + 1])
    ]


def entities_mentioned(arrays: Arrays, unit: int) -> list[str]:
    """Ids of the entities that a text unit mentions, each once, sorted."""
    start, end = arrays["mention_indptr"][unit : unit + 2]
    return _ids(arrays["entity_ids"], np.unique(arrays["mention_entities"][start:end]))


def entity_rows(arrays: Arrays, entity_ids: Iterable[str]) -> list[Row]:
    """Rows of entities, with their ids, in the order of these; unknown ids have none."""
    return [
        {"id": entity_id, **row_of(arrays, "entity", place)}
        for entity_id, place in _places(arrays["entity_ids"], entity_ids)
    ]


def communities_of(arrays: Arrays, entity_ids: Iterable[str]) -> dict[str, int]:
    """The leaf community of each entity that stands in one."""
    known = arrays["entity_communities"]
    found = {i: int(known[place]) for i, place in _places(arrays["entity_ids"], entity_ids)}
    return {entity_id: community for entity_id, community in found.items() if community >= 0}


def relationship_rows(arrays: Arrays, entity_ids: Iterable[str], most: int) -> list[Row]:
    """Rows of ``most`` relationships of some entities, with ids and weights: those between two of
    them first, then the heaviest; ties by id."""
    entities = [place for _, place in _places(arrays["entity_ids"], entity_ids)]
    chosen = _strongest(arrays, entities, most)
    ids, weights = arrays["relationship_ids"], arrays["relationship_weights"][chosen].tolist()
    rows = []
    for relationship_id, weight, place in zip(_ids(ids, chosen), weights, chosen, strict=True):
        row = row_of(arrays, "relationship", place)
        # In the order of the table's columns.
        units = row.pop("text_unit_ids")
        rows.append({"id": relationship_id, **row, "weight": weight, "text_unit_ids": units})
    return rows


def _strongest(arrays: Arrays, entities: Sequence[int], most: int) -> npt.NDArray[np.intp]:
    indptr, linked, ends = arrays["linked_indptr"], arrays["linked"], arrays["relationship_ends"]
    # One more than there are entities, for the end -1 that is none of them.
    named = np.zeros(len(indptr), dtype=bool)
    named[list(entities)] = True
    candidates = [np.empty(0, dtype=linked.dtype)]
    for entity in entities:
        own = linked[indptr[entity] : indptr[entity + 1]]
        inside = named[ends[own]].all(axis=1)
        candidates += [own[inside], own[~inside][:most]]
    numbers = np.unique(np.concatenate(candidates)).astype(np.intp)
    inside = named[ends[numbers]].all(axis=1)
    order = np.lexsort((numbers, -arrays["relationship_weights"][numbers], ~inside))
    return numbers[order[:most]]


def _places(known: npt.NDArray[Any], ids: Iterable[str]) -> list[tuple[str, int]]:
    """Ids with their places in a sorted array, without those that are not there."""
    wanted = list(ids)
    return [(wanted[n], place) for n, place in find_ids(known, wanted)]


def _ids(known: npt.NDArray[Any], places: npt.NDArray[np.integer]) -> list[str]:
    return [one.decode() for one in known[places].tolist()]
