"""Communities of the entity graph: a hierarchy that stays put when the graph changes a little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from graphkb.graph.leiden import (
    Edges,
    Integers,
    Prior,
    partition_levels,
    qualities,
    undirected_edges,
)
from graphkb.settings import Cluster
from graphkb.tables import TABLES, content_hash

_TITLE_ENTITIES = 3
_OLDEST = pl.CompatLevel.oldest()

# Columns of the table that a community's members give.
_OWN = ("id", "level", "parent", "title", "entity_ids", "size")

# Below this Jaccard overlap a community is a new one and gets a new number.
_SAME_COMMUNITY = 0.25


@dataclass(frozen=True)
class Communities:
    """A hierarchy: the communities table, and each entity's deepest community.

    ``leaf`` has columns ``entity_id`` (sorted, every entity once) and ``community``, -1 for an
    entity without relationships.
    """

    communities: pl.DataFrame
    leaf: pl.DataFrame


def find_communities(
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    options: Cluster,
    previous: pl.DataFrame | None = None,
) -> Communities:
    """Hierarchical Leiden communities of every connected component.

    An entity without a relationship to another entity stands in no community (leaf -1), so
    that nobody writes reports on single names. Weights that are zero, negative or not a number
    count as a small positive one. ``max_cluster_size`` is soft: a community that Leiden cannot
    take apart (a star, a clique) stays whole.

    With ``previous``, the last communities table, its partition is kept wherever its modularity
    is within 0.5 % of a fresh run's (5 % below level 0), else it is Leiden's start; a community
    keeps the number of the old one it overlaps most with. New numbers follow the highest old
    one. Without ``previous`` numbers run by level, then size (largest first), then entity ids.
    """
    ids = sorted(set(entities["id"].to_list()))
    edges = undirected_edges(ids, relationships)
    prior = None if previous is None else _prior(ids, previous)
    levels = partition_levels(
        edges, options.max_cluster_size, options.resolution, options.seed, prior
    )
    levels = [_in_order(labels) for labels in levels]
    numbers = _numbers(levels, previous, prior)
    leaf = np.full(len(ids), -1, dtype=np.int64)
    for labels, number in zip(levels, numbers, strict=True):
        leaf = np.where(labels >= 0, number[labels], leaf)
    schema = {"entity_id": pl.String(), "community": pl.Int64()}
    return Communities(
        _table(ids, entities, edges, levels, numbers),
        pl.DataFrame({"entity_id": ids, "community": leaf}, schema=schema),
    )


def leaf_cover(communities: pl.DataFrame, level: int) -> list[int]:
    """Numbers of the communities that cover the graph once at ``level``, sorted.

    The communities of that level and, for parts that end higher, their childless communities
    above it. A level deeper than the hierarchy gives all leaves.
    """
    at_level = pl.col("level") == level
    ends_above = (pl.col("level") < level) & (pl.col("children").list.len() == 0)
    return communities.filter(at_level | ends_above)["community"].sort().to_list()


def modularity(
    communities: pl.DataFrame, relationships: pl.DataFrame, resolution: float = 1.0
) -> float:
    """Modularity of level 0; 0.0 without edges. Edges are read as :func:`find_communities` does.

    An entity in no community counts as one of its own.
    """
    ends = pl.concat([relationships["source_id"], relationships["target_id"]])
    ids = ends.unique().sort().to_list()
    edges = undirected_edges(ids, relationships)
    if not len(edges.source):
        return 0.0
    labels = _old_numbers(ids, communities, 0)
    alone = np.arange(len(ids)) + labels.max(initial=-1) + 1
    labels = np.unique(np.where(labels >= 0, labels, alone), return_inverse=True)[1]
    return float(qualities(edges, np.zeros(len(ids), dtype=np.int64), labels, resolution)[0])


def _prior(ids: list[str], previous: pl.DataFrame) -> Prior | None:
    if previous.is_empty():
        return None
    depth = int(previous["level"].to_numpy().max()) + 1
    parents = dict(zip(previous["community"].to_list(), previous["parent"].to_list(), strict=True))
    return Prior(tuple(_old_numbers(ids, previous, level) for level in range(depth)), parents)


def _old_numbers(ids: list[str], communities: pl.DataFrame, level: int) -> Integers:
    members = (
        communities.lazy()
        .filter(pl.col("level") == level)
        .select("community", pl.col("entity_ids").alias("id"))
        .explode("id")
        .unique("id", keep="first", maintain_order=True)
    )
    frame = pl.LazyFrame({"id": ids}, schema={"id": pl.String()})
    joined = frame.join(members, on="id", how="left", maintain_order="left").collect()
    return joined["community"].fill_null(-1).cast(pl.Int64).to_numpy()


def _in_order(labels: Integers) -> Integers:
    """Labels renumbered by size, largest first; ties by the first node."""
    kept = labels >= 0
    _, first, inverse, sizes = np.unique(
        labels[kept], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.lexsort((first, -sizes))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    result = np.full(len(labels), -1, dtype=np.int64)
    result[kept] = rank[inverse]
    return result


def _numbers(
    levels: list[Integers], previous: pl.DataFrame | None, prior: Prior | None
) -> list[Integers]:
    """Community number of each label, by level."""
    if previous is None or prior is None:
        following = 0
        old_sizes: dict[int, int] = {}
    else:
        following = int(previous["community"].to_numpy().max()) + 1
        sizes = previous["size"].to_list()
        old_sizes = dict(zip(previous["community"].to_list(), sizes, strict=True))
    result = []
    for level, labels in enumerate(levels):
        number = np.full(int(labels.max(initial=-1)) + 1, -1, dtype=np.int64)
        if prior is not None and level < len(prior.numbers):
            _keep_numbers(number, labels, prior.numbers[level], old_sizes)
        new = number < 0
        number[new] = following + np.arange(int(new.sum()))
        following += int(new.sum())
        result.append(number)
    return result


def _keep_numbers(
    number: Integers, labels: Integers, old: Integers, old_sizes: dict[int, int]
) -> None:
    """Greedy matching by Jaccard overlap, best first; ties by old number, then by label."""
    both = (labels >= 0) & (old >= 0)
    pairs, shared = np.unique(np.stack([labels[both], old[both]]), axis=1, return_counts=True)
    sizes = np.bincount(labels[labels >= 0])
    candidates = []
    for label, was, count in zip(*pairs.tolist(), shared.tolist(), strict=True):
        overlap = count / (int(sizes[label]) + old_sizes[was] - count)
        if overlap >= _SAME_COMMUNITY:
            candidates.append((-overlap, was, label))
    taken: set[int] = set()
    for _, was, label in sorted(candidates):
        if was not in taken and number[label] < 0:
            number[label] = was
            taken.add(was)


def _table(
    ids: list[str],
    entities: pl.DataFrame,
    edges: Edges,
    levels: list[Integers],
    numbers: list[Integers],
) -> pl.DataFrame:
    named = entities.sort("id").unique("id", keep="first", maintain_order=True)
    names = named["title"].fill_null("").to_list()
    columns: dict[str, list[Any]] = {name: [] for name in ("community", *_OWN)}
    children: dict[int, list[int]] = {}
    above: Integers | None = None
    for level, (labels, number) in enumerate(zip(levels, numbers, strict=True)):
        central = _central(edges, labels)
        for label, nodes in enumerate(_groups(labels)):
            community = int(number[label])
            parent = -1 if above is None else int(above[nodes[0]])
            children.setdefault(parent, []).append(community)
            entity_ids = [ids[node] for node in nodes]
            columns["community"].append(community)
            columns["id"].append(content_hash(str(level), *entity_ids))
            columns["level"].append(level)
            columns["parent"].append(parent)
            columns["title"].append(", ".join(names[node] for node in central[label]))
            columns["entity_ids"].append(entity_ids)
            columns["size"].append(len(nodes))
        above = number[labels]
    columns["children"] = [
        sorted(children.get(community, [])) for community in columns["community"]
    ]
    table = TABLES["communities"]
    series = [_series(name, values, table.schema[name]) for name, values in columns.items()]
    return table.conform(
        pl.DataFrame(series).with_columns(
            human_readable_id="community", period=pl.lit(None, pl.String)
        )
    )


def _series(name: str, values: list[Any], dtype: pl.DataType) -> pl.Series:
    """A column. Polars takes each list of a list column by itself, which is slow: they are given
    in one row."""
    if not isinstance(dtype, pl.List):
        return pl.Series(name, values, dtype=dtype)
    ends = pl.Series(np.cumsum([0, *map(len, values)]), dtype=pl.Int32)
    flat = pl.Series([one for part in values for one in part], dtype=dtype.inner)
    parts = (column.to_arrow(compat_level=_OLDEST) for column in (ends, flat))
    return pl.Series(name, pa.ListArray.from_arrays(*parts))


def _groups(labels: Integers) -> list[list[int]]:
    """Nodes of each label in order, by label."""
    nodes = np.flatnonzero(labels >= 0)
    order = nodes[np.argsort(labels[nodes], kind="stable")]
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return [part.tolist() for part in np.split(order, starts[1:])]


def _central(edges: Edges, labels: Integers) -> list[list[int]]:
    """The nodes of each label with most neighbours inside it; ties by all neighbours, then id."""
    inside, degree = edges.inside(labels).degrees(), edges.degrees()
    nodes = np.flatnonzero(labels >= 0)
    order = nodes[np.lexsort((nodes, -degree[nodes], -inside[nodes], labels[nodes]))]
    starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return [part[:_TITLE_ENTITIES].tolist() for part in np.split(order, starts[1:])]
