"""The shortest way through the graph from the entities of a question to a text unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from graphkb.explanation import Link
from graphkb.graph.pagerank import edge_positions
from graphkb.search.snapshot import Snapshot

# Steps and nodes that a search may take; a longer way explains nothing.
_MOST_STEPS, _MOST_NODES = 6, 200_000

_STANDS_IN, _HOLDS, _CALLED_ALIKE = "stands in", "holds", "shares a name with"


def shortest_path(
    arrays: Mapping[str, npt.NDArray[Any]], starts: Iterable[int], targets: Iterable[int]
) -> list[int]:
    """Nodes from one of ``starts`` to the nearest of ``targets``, both included; breadth first,
    ties by the order of the nodes. Empty where there is no way within a few steps."""
    goal = set(targets)
    frontier = np.array(list(dict.fromkeys(starts)), dtype=np.int64)
    before = dict.fromkeys(frontier.tolist(), -1)
    indptr, indices = arrays["indptr"], arrays["indices"]
    for _ in range(_MOST_STEPS + 1):
        reached = next((node for node in frontier.tolist() if node in goal), None)
        if reached is not None:
            return _back(before, reached)
        if not frontier.size or len(before) > _MOST_NODES:
            return []
        first = indptr[frontier].astype(np.int64)
        lengths = indptr[frontier + 1].astype(np.int64) - first
        beside = indices[edge_positions(first, lengths)].tolist()
        origin = np.repeat(frontier, lengths).tolist()
        fresh: list[int] = []
        for node, source in zip(beside, origin, strict=True):
            if node not in before:
                before[node] = source
                fresh.append(node)
        frontier = np.array(sorted(fresh), dtype=np.int64)
    return []


def _back(before: Mapping[int, int], node: int) -> list[int]:
    path = [node]
    while before[node] >= 0:
        node = before[node]
        path.append(node)
    return path[::-1]


def links_of(snapshot: Snapshot, path: Sequence[int]) -> tuple[Link, ...]:
    """A path of nodes in words: entities by title, text units by their document's title, and
    what the relationship between two entities says."""
    arrays, n_units = snapshot.graph.arrays, snapshot.graph.n_units
    unit_ids = {node: bytes(arrays["unit_ids"][node]).decode() for node in path if node < n_units}
    entity_ids = {
        node: bytes(arrays["entity_ids"][node - n_units]).decode()
        for node in path
        if node >= n_units
    }
    titles = entity_titles(snapshot, entity_ids.values())
    rows = {row["id"]: row["title"] or row["path"] for row in snapshot.units(unit_ids.values())}
    names = {node: rows.get(unit_id, unit_id) for node, unit_id in unit_ids.items()}
    names |= {node: titles.get(entity_id, entity_id) for node, entity_id in entity_ids.items()}
    links = []
    for source, target in pairwise(path):
        if target < n_units:
            phrase = _STANDS_IN
        elif source < n_units:
            phrase = _HOLDS
        else:
            phrase = _said(snapshot, entity_ids[source], entity_ids[target])
        kind = "text unit" if target < n_units else "entity"
        links.append(Link(names[source], phrase, names[target], kind))
    return tuple(links)


def entity_titles(snapshot: Snapshot, entity_ids: Iterable[str]) -> dict[str, str]:
    """Titles of entities by id."""
    found = snapshot.store.where("entities", "id", entity_ids, ("id", "title"))
    return dict(found.select("id", "title").iter_rows())


def _said(snapshot: Snapshot, one: str, other: str) -> str:
    """What the strongest relationship between two entities says."""
    columns = ("id", "source_id", "target_id", "description", "type", "weight")
    found = snapshot.store.where("relationships", "source_id", (one, other), columns)
    between = [r for r in found.to_dicts() if {r["source_id"], r["target_id"]} == {one, other}]
    between.sort(key=lambda row: (-row["weight"], row["id"]))
    if not between:
        return _CALLED_ALIKE
    best = between[0]
    return " ".join(str(best["description"] or best["type"] or "").split())
