"""Hierarchical Leiden over arrays: each community too large is split on its own sub-network.

Unlike ``graspologic_native.hierarchical_leiden``, which draws all splits from one random stream
so that one moved node reshuffles the later ones, each split is its own seeded run: a subtree
depends on its own edges only. Leiden: Traag, Waltman and van Eck 2019, in graspologic_native.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]

# What a weight that is zero, negative or not a number counts as.
SMALLEST_WEIGHT = 1e-6
LARGEST_WEIGHT = 1e12

# A partition carried over from the last run is kept while its modularity is at least
# 1 - slack of a fresh run's. At level 0 this is what holds the change law (modularity within 1 %).
_SLACK_TOP = 0.005
_SLACK_BELOW = 0.05
_PLACEMENT_ROUNDS = 10
_LARGEST_SHARE = 0.8

# One pass leaves modularity up to 0.04 below what two reach, and seeds 0.005 apart; further
# passes add less than 0.003 (planted communities, 5,000 and 100,000 nodes).
_ITERATIONS = 2


@dataclass(frozen=True)
class Edges:
    """An undirected weighted graph: ``source[i] < target[i]``, sorted, every pair once."""

    n_nodes: int
    source: Integers
    target: Integers
    weight: Reals

    def inside(self, labels: Integers) -> Edges:
        """The edges whose two ends have the same label, -1 being no label."""
        keep = (labels[self.source] == labels[self.target]) & (labels[self.source] >= 0)
        return Edges(self.n_nodes, self.source[keep], self.target[keep], self.weight[keep])

    def degrees(self) -> Integers:
        """Distinct neighbours of each node."""
        ends = np.concatenate([self.source, self.target])
        return np.bincount(ends, minlength=self.n_nodes).astype(np.int64)


@dataclass(frozen=True)
class Prior:
    """The last run's hierarchy on today's nodes.

    ``numbers[level][node]`` is the old community number, -1 for none; ``parents`` maps an old
    number to its parent's.
    """

    numbers: tuple[Integers, ...]
    parents: dict[int, int]


def undirected_edges(entity_ids: Sequence[str], relationships: pl.DataFrame) -> Edges:
    """Relationships summed per unordered pair; self-loops and unknown ends are left out.

    ``entity_ids`` are sorted and distinct; their places are the node numbers. Weights are
    summed in sorted order, so that the sums do not depend on the row order.
    """
    place = pl.DataFrame({"entity": entity_ids, "node": np.arange(len(entity_ids))})
    place = place.cast({"entity": pl.String, "node": pl.Int64})
    ends = (
        relationships.select("source_id", "target_id", pl.col("weight").cast(pl.Float64))
        .join(place.rename({"entity": "source_id", "node": "source"}), on="source_id")
        .join(place.rename({"entity": "target_id", "node": "target"}), on="target_id")
        .filter(pl.col("source") != pl.col("target"))
    )
    source = ends["source"].to_numpy()
    target = ends["target"].to_numpy()
    weight = ends["weight"].fill_null(np.nan).to_numpy()
    usable = np.greater(weight, 0, where=~np.isnan(weight), out=np.zeros(len(weight), dtype=bool))
    weight = np.minimum(np.where(usable, weight, SMALLEST_WEIGHT), LARGEST_WEIGHT)
    low, high = np.minimum(source, target), np.maximum(source, target)
    order = np.lexsort((weight, high, low))
    low, high, weight = low[order], high[order], weight[order]
    first = np.flatnonzero(np.diff(low, prepend=-1) | np.diff(high, prepend=-1))
    sums = np.add.reduceat(weight, first) if len(first) else np.zeros(0)
    return Edges(len(entity_ids), low[first], high[first], sums)


def partition_levels(
    edges: Edges, max_size: int, resolution: float, seed: int, prior: Prior | None = None
) -> list[Integers]:
    """Labels of every node, level 0 (coarsest) first; -1 where a node is in no community.

    Level 0 holds every node with an edge; a deeper level the nodes of those communities that
    were larger than ``max_size`` and came apart. All are connected. Empty without edges.
    """
    parent = np.where(edges.degrees() > 0, 0, -1).astype(np.int64)
    levels: list[Integers] = []
    slack = _SLACK_TOP
    while len(edges.inside(parent).source):
        carried = None
        if prior is not None and len(levels) < len(prior.numbers):
            above = prior.numbers[len(levels) - 1] if levels else None
            known = _of_matched_parent(parent, prior.numbers[len(levels)], above, prior.parents)
            carried = _carry_over(edges, parent, known)
        labels = _split(edges, parent, carried, resolution, seed, slack)
        if levels:
            labels = _taken_apart(parent, labels, max_size)
        if not (labels >= 0).any():
            break
        levels.append(labels)
        sizes = np.bincount(labels[labels >= 0])
        parent = np.where((labels >= 0) & (sizes[labels] > max_size), labels, -1)
        slack = _SLACK_BELOW
    return levels


def qualities(edges: Edges, parent: Integers, labels: Integers, resolution: float) -> Reals:
    """Modularity of ``labels`` inside each parent's own sub-network, by parent number.

    Labels lie inside parents; a parent with unlabelled nodes gets no meaningful value, one
    without edges 0. Newman and Girvan 2004, resolution of Reichardt and Bornholdt 2006.
    """
    inner = edges.inside(np.where(labels >= 0, parent, -1))
    n_parents = int(parent.max(initial=-1)) + 1
    n_labels = int(labels.max(initial=-1)) + 1
    owner = np.zeros(n_labels, dtype=np.int64)
    owner[labels[labels >= 0]] = parent[labels >= 0]
    total = np.bincount(parent[inner.source], inner.weight, n_parents)
    same = labels[inner.source] == labels[inner.target]
    within = np.bincount(parent[inner.source][same], inner.weight[same], n_parents)
    ends = np.concatenate([labels[inner.source], labels[inner.target]])
    strength = np.bincount(ends, np.concatenate([inner.weight, inner.weight]), n_labels)
    safe = np.where(total > 0, total, 1.0)
    expected = np.bincount(owner, (strength / (2 * safe[owner])) ** 2, n_parents)
    return np.where(total > 0, within / safe - resolution * expected, 0.0)


def _split(
    edges: Edges,
    parent: Integers,
    carried: Integers | None,
    resolution: float,
    seed: int,
    slack: float,
) -> Integers:
    """Labels one level down: the carried ones of a parent where they are still good enough.

    Where they are not, Leiden goes on from them; where that is not good enough either, the
    fresh run stands.
    """
    fresh = _leiden_each(edges, parent, None, resolution, seed)
    if carried is None:
        return _connected(edges, parent, fresh)
    best = qualities(edges, parent, fresh, resolution)
    least = best - slack * np.abs(best)
    has_carried = np.zeros(len(best), dtype=bool)
    has_carried[parent[carried >= 0]] = True
    kept = has_carried & (qualities(edges, parent, carried, resolution) >= least)
    retry = np.where((parent >= 0) & (has_carried & ~kept)[parent], parent, -1)
    chosen = np.where((parent >= 0) & kept[parent], carried, fresh + carried.max(initial=-1) + 1)
    if (retry >= 0).any():
        improved = _leiden_each(edges, retry, carried, resolution, seed)
        good = qualities(edges, retry, improved, resolution)
        taken = np.zeros(len(best), dtype=bool)
        taken[: len(good)] = good >= least[: len(good)]
        use = (retry >= 0) & taken[retry]
        chosen = np.where(use, improved + chosen.max(initial=-1) + 1, chosen)
    return _connected(edges, parent, np.where(parent >= 0, chosen, -1))


def _leiden_each(
    edges: Edges, parent: Integers, start: Integers | None, resolution: float, seed: int
) -> Integers:
    """One seeded Leiden run for each parent's sub-network; labels are distinct across parents.

    Edge order and direction change Leiden's result, so they come sorted from :class:`Edges`.
    """
    import graspologic_native

    inner = edges.inside(parent)
    owner = parent[inner.source]
    order = np.argsort(owner, kind="stable")
    names = [str(node) for node in range(edges.n_nodes)]
    source = [names[node] for node in inner.source[order].tolist()]
    target = [names[node] for node in inner.target[order].tolist()]
    network = list(zip(source, target, inner.weight[order].tolist(), strict=True))
    bounds = [*np.flatnonzero(np.diff(owner[order], prepend=-1)).tolist(), len(network)]
    labels = np.full(edges.n_nodes, -1, dtype=np.int64)
    offset = 0
    for low, high in pairwise(bounds):
        starting = None
        if start is not None:
            nodes = sorted({int(node) for node in (*source[low:high], *target[low:high])})
            compact = np.unique(start[nodes], return_inverse=True)[1].tolist()
            starting = {names[node]: old for node, old in zip(nodes, compact, strict=True)}
        _, found = graspologic_native.leiden(
            network[low:high],
            starting_communities=starting,
            resolution=resolution,
            iterations=_ITERATIONS,
            seed=seed,
        )
        for node, label in found.items():
            labels[int(node)] = offset + label
        offset += max(found.values(), default=-1) + 1
    return labels


def _of_matched_parent(
    parent: Integers, numbers: Integers, above: Integers | None, parents: dict[int, int]
) -> Integers:
    """Old numbers, kept where they lie under the old community that matches the node's parent.

    The matching old community is the one most of the parent's nodes come from.
    """
    if above is None:
        return numbers
    known = (parent >= 0) & (above >= 0)
    pairs, count = np.unique(np.stack([parent[known], above[known]]), axis=1, return_counts=True)
    order = np.lexsort((pairs[1], -count, pairs[0]))
    heads, first = np.unique(pairs[0][order], return_index=True)
    matched = np.full(int(parent.max(initial=-1)) + 1, -1, dtype=np.int64)
    matched[heads] = pairs[1][order][first]
    size = int(numbers.max(initial=-1)) + 2
    parent_of = np.full(size, -2, dtype=np.int64)
    for child, its_parent in parents.items():
        if 0 <= child < size:
            parent_of[child] = its_parent
    keep = (parent >= 0) & (numbers >= 0) & (parent_of[numbers] == matched[parent])
    return np.where(keep, numbers, -1)


def _carry_over(edges: Edges, parent: Integers, numbers: Integers) -> Integers:
    """Old numbers made a partition of today's nodes, connected; -1 in parents that have none.

    A new node joins the neighbours it is tied to most (ties: lowest number), round by round;
    new nodes tied to new ones only stand together.
    """
    inner = edges.inside(parent)
    labels = np.where(parent >= 0, numbers, -1)
    width = int(labels.max(initial=-1)) + 2
    for _ in range(_PLACEMENT_ROUNDS):
        ends = np.concatenate([inner.source, inner.target])
        label = labels[np.concatenate([inner.target, inner.source])]
        open_ = (labels[ends] < 0) & (label >= 0)
        if not open_.any():
            break
        weight = np.concatenate([inner.weight, inner.weight])[open_]
        key, inverse = np.unique(ends[open_] * width + label[open_], return_inverse=True)
        pull = np.bincount(inverse, weight)
        node, number = key // width, key % width
        order = np.lexsort((number, -pull, node))
        placed, first = np.unique(node[order], return_index=True)
        labels[placed] = number[order][first]
    has_any = np.zeros(int(parent.max(initial=-1)) + 1, dtype=bool)
    has_any[parent[(labels >= 0) & (parent >= 0)]] = True
    rest = (labels < 0) & (parent >= 0) & has_any[parent]
    labels[rest] = width - 1
    return _connected(edges, parent, labels)


def _connected(edges: Edges, parent: Integers, labels: Integers) -> Integers:
    """Connected pieces of each (parent, label), numbered from 0; -1 stays."""
    inner = edges.inside(np.where(labels >= 0, parent, -1)).inside(labels)
    piece = components(edges.n_nodes, inner.source, inner.target)
    kept = labels >= 0
    result = np.full(edges.n_nodes, -1, dtype=np.int64)
    result[kept] = np.unique(piece[kept], return_inverse=True)[1]
    return result


def components(n_nodes: int, source: Integers, target: Integers) -> Integers:
    """The lowest node of each node's connected component, int64 [n_nodes].

    Trees are hooked to the lowest neighbouring root and flattened, until nothing moves
    (Shiloach and Vishkin 1982), a few array operations a round.

    >>> components(5, np.array([3, 0]), np.array([4, 3])).tolist()
    [0, 1, 2, 0, 0]
    """
    root = np.arange(n_nodes, dtype=np.int64)
    while True:
        one, other = root[source], root[target]
        apart = one != other
        if not apart.any():
            return root
        source, target, one, other = source[apart], target[apart], one[apart], other[apart]
        np.minimum.at(root, np.maximum(one, other), np.minimum(one, other))
        while (root != root[root]).any():
            root = root[root]


def _taken_apart(parent: Integers, labels: Integers, max_size: int) -> Integers:
    """Labels with -1 where a parent did not come apart: it stays a leaf, however large.

    Neither one child nor a star that lost a few rays (a child above ``max_size`` with over four
    fifths) is a split: its reports would say the same level after level.
    """
    held = labels >= 0
    sizes = np.bincount(labels[held])
    _, first = np.unique(labels[held], return_index=True)
    owner = parent[held][first]
    largest = np.zeros(int(parent.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(largest, owner, sizes)
    whole = np.bincount(parent[held], minlength=len(largest))
    apart = (largest < whole) & ((largest <= max_size) | (largest <= _LARGEST_SHARE * whole))
    return np.where(held & apart[parent], labels, -1)
