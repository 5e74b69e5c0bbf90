"""PageRank on a weighted graph in CSR form, global and personalised."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.integer]

# A node with more edges than this passes its residual on only while each edge gets a share of the
# tolerance worth following: hubs take most of the time and change a few of the last hits in 100.
_EDGES = 300


def pagerank(
    indptr: Integers,
    indices: Integers,
    weights: npt.NDArray[np.floating],
    damping: float = 0.85,
    tolerance: float = 1e-9,
    max_iterations: int = 200,
) -> Floats:
    """Global PageRank, float64 [n], sums to 1, by power iteration.

    Row ``i`` of the CSR arrays holds the out-edges of node ``i``. Nodes without edges give
    their mass to all. Source: Page et al. 1998; equals ``networkx.pagerank``.
    """
    n = len(indptr) - 1
    if n == 0:
        return np.zeros(0)
    strength = _strength(indptr, weights)
    scale = np.divide(1.0, strength, out=np.zeros(n), where=strength > 0)
    normal = np.asarray(weights, dtype=np.float64) * np.repeat(scale, np.diff(indptr))
    source, target = np.repeat(np.arange(n), np.diff(indptr)), np.asarray(indices)
    dangling = strength == 0
    rank = np.full(n, 1.0 / n)
    for _ in range(max_iterations):
        lost = float(rank[dangling].sum())
        passed = np.bincount(target, weights=normal * rank[source], minlength=n)
        following = damping * (passed + lost / n) + (1.0 - damping) / n
        change = float(np.abs(following - rank).sum())
        rank = following
        if change < tolerance:
            break
    return np.asarray(rank / rank.sum())


def rank_entities(entities: pl.DataFrame, relationships: pl.DataFrame) -> pl.DataFrame:
    """entity_id, degree (distinct neighbours) and rank (PageRank over weights), by entity_id."""
    ids = entities.select(pl.col("id").alias("entity_id")).sort("entity_id")
    index = ids.with_row_index("node")
    ends = relationships.select("source_id", "target_id", "weight")
    for end in ("source", "target"):
        ends = ends.join(index.rename({"entity_id": f"{end}_id", "node": end}), on=f"{end}_id")
    ends = ends.select("source", "target", "weight").filter(pl.col("source") != pl.col("target"))
    both = pl.concat([ends, ends.select(source="target", target="source", weight="weight")])
    # Sums of floats depend on their order, so it is fixed before they are taken.
    edges = (
        both.sort("source", "target", "weight")
        .group_by("source", "target", maintain_order=True)
        .agg(pl.col("weight").sum())
    )
    degree = np.bincount(edges["source"].to_numpy(), minlength=ids.height)
    indptr = np.concatenate([[0], np.cumsum(degree)])
    rank = pagerank(indptr, edges["target"].to_numpy(), edges["weight"].to_numpy())
    return ids.with_columns(
        pl.Series("degree", degree.astype(np.int64)), pl.Series("rank", rank, dtype=pl.Float64)
    )


def personalised_pagerank(
    indptr: Integers,
    indices: Integers,
    weights: npt.NDArray[np.floating],
    reset: dict[int, float],
    damping: float = 0.5,
    tolerance: float = 1e-5,
    strength: npt.NDArray[np.floating] | None = None,
) -> Floats:
    """PageRank with restarts at ``reset`` (node to weight > 0), float64 [n], sums to almost 1.

    Forward push (Andersen, Chung, Lang 2006, section 3), a whole frontier at a time: a node
    passes its residual on while that is above ``tolerance`` times the reset mass, so the cost
    follows the mass that moves and not the size of the graph. What remains unpushed is at most
    ``tolerance`` a node and is missing from the sum. Mass on nodes without edges returns to the
    reset. ``strength`` (row sums, [n]) spares their computation. Empty reset: zeros.
    """
    n = len(indptr) - 1
    scores = np.zeros(n)
    total = sum(weight for weight in reset.values() if weight > 0)
    if total <= 0:
        return scores
    nodes = np.array(sorted(node for node, weight in reset.items() if weight > 0), dtype=np.int64)
    share = np.array([reset[int(node)] for node in nodes]) / total
    residual = np.zeros(n)
    residual[nodes] = share
    frontier = nodes
    while frontier.size:
        mass = residual[frontier]
        residual[frontier] = 0.0
        scores[frontier] += (1.0 - damping) * mass
        targets, parts, lost = _push(indptr, indices, weights, strength, frontier, damping * mass)
        np.add.at(residual, targets, parts)
        if lost > 0:
            residual[nodes] += lost * share
            targets = np.concatenate([targets, nodes])
        above = _above(residual, targets, tolerance)
        edges = indptr[above + 1] - indptr[above]
        frontier = above[residual[above] > tolerance / _EDGES * edges]
    return scores


def _above(
    residual: Floats, touched: npt.NDArray[np.int64], tolerance: float
) -> npt.NDArray[np.int64]:
    """Touched nodes whose residual is above the tolerance, sorted, each once."""
    if touched.size * 2 > residual.size:  # looking at all nodes is cheaper than at these
        return np.flatnonzero(residual > tolerance)
    return np.unique(touched[residual[touched] > tolerance])


def _push(
    indptr: Integers,
    indices: Integers,
    weights: npt.NDArray[np.floating],
    strength: npt.NDArray[np.floating] | None,
    frontier: npt.NDArray[np.int64],
    mass: Floats,
) -> tuple[npt.NDArray[np.int64], Floats, float]:
    """Targets and amounts of one push, and the mass of nodes that have nowhere to send it."""
    starts = np.asarray(indptr[frontier], dtype=np.int64)
    lengths = np.asarray(indptr[frontier + 1], dtype=np.int64) - starts
    lost = float(mass[lengths == 0].sum())
    edges = edge_positions(starts, lengths)
    owner = np.repeat(np.arange(frontier.size), lengths)
    values = np.asarray(weights[edges], dtype=np.float64)
    if strength is None:
        rows = np.bincount(owner, weights=values, minlength=frontier.size)
    else:
        rows = np.asarray(strength[frontier], dtype=np.float64)
    parts = values * np.divide(mass, rows, out=np.zeros_like(mass), where=rows > 0)[owner]
    return np.asarray(indices[edges], dtype=np.int64), parts, lost


def edge_positions(
    starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Positions ``start, start + 1, … start + length - 1`` of several slices, joined.

    >>> edge_positions(np.array([5, 0]), np.array([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    ends = np.cumsum(lengths)
    count = int(ends[-1]) if ends.size else 0
    shift: npt.NDArray[np.int64] = np.repeat(starts - (ends - lengths), lengths)
    return np.arange(count, dtype=np.int64) + shift


def _strength(indptr: Integers, weights: npt.NDArray[np.floating]) -> Floats:
    """Sum of each row's weights."""
    sums = np.concatenate([[0.0], np.cumsum(np.asarray(weights, dtype=np.float64))])
    rows: Floats = sums[indptr[1:]] - sums[indptr[:-1]]
    return rows
