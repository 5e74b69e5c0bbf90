"""Communities: every connected entity in exactly one leaf, the same for the same graph."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import networkx as nx
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphkb
from graphkb.graph.communities import Communities, find_communities, leaf_cover, modularity
from graphkb.settings import Cluster
from graphkb.tables import TABLES, content_hash, rows

Edge = tuple[str, str, float]


def tables(names: list[str], edges: list[Edge]) -> tuple[pl.DataFrame, pl.DataFrame]:
    entities = rows("entities", [{"id": name, "title": name.upper()} for name in names])
    records: list[dict[str, Any]] = [
        {"id": str(i), "source_id": a, "target_id": b, "weight": weight}
        for i, (a, b, weight) in enumerate(edges)
    ]
    return entities, rows("relationships", records)


def clique(names: list[str], weight: float = 1.0) -> list[Edge]:
    return [(a, b, weight) for a, b in combinations(names, 2)]


def connected_names(edges: list[Edge]) -> set[str]:
    return {name for a, b, _ in edges if a != b for name in (a, b)}


def rings(n: int, size: int) -> tuple[list[str], list[Edge]]:
    """``n`` cliques in a ring, joined by single edges."""
    groups = [[f"g{g:02}n{i:02}" for i in range(size)] for g in range(n)]
    edges = [edge for group in groups for edge in clique(group)]
    edges += [(groups[g][0], groups[(g + 1) % n][1], 1.0) for g in range(n)]
    return [name for group in groups for name in group], edges


def find(names: list[str], edges: list[Edge], **options: Any) -> Communities:
    previous = options.pop("previous", None)
    return find_communities(*tables(names, edges), Cluster(**options), previous)


def members(found: Communities, level: int = 0) -> list[list[str]]:
    at_level = found.communities.filter(pl.col("level") == level)
    return sorted(at_level["entity_ids"].to_list())


def assert_hierarchy(found: Communities, connected: set[str]) -> None:
    frame = found.communities
    assert frame.schema == pl.Schema(TABLES["communities"].schema)
    assert frame["community"].to_list() == sorted(set(frame["community"].to_list()))
    by_number = {row["community"]: row for row in frame.iter_rows(named=True)}
    top = [name for row in by_number.values() if row["level"] == 0 for name in row["entity_ids"]]
    assert sorted(top) == sorted(connected)
    leaves = []
    for number, row in by_number.items():
        assert row["human_readable_id"] == number
        assert row["size"] == len(row["entity_ids"])
        assert row["id"] == content_hash(str(row["level"]), *row["entity_ids"])
        assert row["parent"] == -1 or number in by_number[row["parent"]]["children"]
        children = [by_number[child] for child in row["children"]]
        assert all(c["level"] == row["level"] + 1 and c["parent"] == number for c in children)
        inside = [name for child in children for name in child["entity_ids"]]
        assert not children or sorted(inside) == row["entity_ids"]
        assert len(children) != 1
        leaves += [] if children else [(name, number) for name in row["entity_ids"]]
    placed = {name: number for name, number in found.leaf.iter_rows() if number >= 0}
    assert sorted(placed.items()) == sorted(leaves)


def test_two_cliques_are_two_communities_named_by_their_central_entities() -> None:
    left, right = ["ada", "ben", "cai"], ["陈明", "青石", "云账"]
    edges = [*clique(left), *clique(right), ("ada", "青石", 0.1), ("青石", "新名", 1.0)]
    found = find([*left, *right, "新名"], edges)
    assert members(found) == sorted([left, sorted([*right, "新名"])])
    assert found.communities["title"].to_list() == ["青石, 云账, 陈明", "ADA, BEN, CAI"]
    assert found.communities["size"].to_list() == [4, 3]
    assert found.communities["community"].to_list() == [0, 1]
    assert found.communities["period"].to_list() == [None, None]


def test_large_communities_are_split_and_children_partition_their_parent() -> None:
    names, edges = rings(40, 5)
    found = find(names, edges, max_cluster_size=6)
    assert_hierarchy(found, set(names))
    assert found.communities.filter(pl.col("level") == 0)["size"].to_numpy().max() > 6
    leaves = found.communities.filter(pl.col("children").list.len() == 0)
    assert leaves["size"].to_list() == [5] * 40
    assert found.communities["level"].to_list() == sorted(found.communities["level"].to_list())


def test_isolated_entities_are_in_no_community() -> None:
    found = find(list("abcdef"), [("a", "b", 1.0), ("c", "d", 1.0)])
    assert members(found) == [["a", "b"], ["c", "d"]]
    assert found.leaf.rows() == [("a", 0), ("b", 0), ("c", 1), ("d", 1), ("e", -1), ("f", -1)]


@pytest.mark.parametrize(
    ("names", "edges"),
    [
        ([], []),
        (["a"], []),
        (["a", "b", "c"], []),
        (["a", "b"], [("a", "a", 1.0), ("b", "b", 2.0)]),
        (["a"], [("a", "gone", 1.0)]),
    ],
    ids=["empty", "one node", "no edges", "self-loops", "unknown end"],
)
def test_a_graph_without_edges_has_no_communities(names: list[str], edges: list[Edge]) -> None:
    found = find(names, edges)
    assert found.communities.equals(TABLES["communities"].empty())
    assert found.leaf.rows() == [(name, -1) for name in names]
    assert find(names, edges, previous=found.communities).communities.is_empty()
    assert modularity(found.communities, tables(names, edges)[1]) <= 0.0


@pytest.mark.parametrize("weight", [0.0, -3.0, float("nan"), float("inf"), float("-inf")])
def test_unusable_weights_still_cluster(weight: float) -> None:
    names = list("abcdef")
    edges = [*clique(names[:3], weight), *clique(names[3:], weight)]
    found = find(names, edges)
    assert members(found) == [names[:3], names[3:]]
    assert modularity(found.communities, tables(names, edges)[1]) == pytest.approx(0.5)


def test_missing_weights_still_cluster() -> None:
    entities, relationships = tables(["a", "b"], [("a", "b", 1.0)])
    relationships = relationships.with_columns(weight=pl.lit(None, pl.Float64))
    assert members(find_communities(entities, relationships, Cluster())) == [["a", "b"]]


def test_an_unusable_weight_counts_less_than_a_usable_one() -> None:
    bridge = ("a", "d", -5.0)
    found = find(list("abcd"), [("a", "b", 1.0), ("c", "d", 1.0), bridge])
    assert members(found) == [["a", "b"], ["c", "d"]]


def test_parallel_and_reversed_relationships_are_summed() -> None:
    names, edges = rings(4, 4)
    doubled = [(a, b, w / 4) for a, b, w in edges] + [(b, a, 3 * w / 4) for a, b, w in edges]
    assert find(names, doubled).communities.equals(find(names, edges).communities)


def test_a_star_is_not_cut_to_pieces() -> None:
    rays = [f"ray{i:02}" for i in range(30)]
    found = find(["hub", *rays], [("hub", ray, 1.0) for ray in rays])
    assert found.communities["size"].to_list() == [31]


def test_a_star_that_would_only_lose_a_ray_stays_whole() -> None:
    rays = [("hub", f"ray{i:02}", 1.0) for i in range(30)]
    pair = [("hub", "p", 1.0), ("p", "q", 2.0)]
    far = clique([f"far{i}" for i in range(10)], weight=100.0)
    names = sorted(connected_names([*rays, *pair, *far]))
    assert find(names, [*rays, *pair, *far]).communities["size"].to_list() == [33, 10]
    alone = find(sorted(connected_names([*rays, *pair])), [*rays, *pair])
    assert alone.communities["size"].to_list() == [31, 2]


def test_row_order_does_not_matter() -> None:
    names, edges = rings(8, 6)
    entities, relationships = tables(names, edges)
    first = find_communities(entities, relationships, Cluster())
    for seed in range(3):
        shuffled = relationships.sample(fraction=1.0, shuffle=True, seed=seed)
        swapped = shuffled.rename({"source_id": "target_id", "target_id": "source_id"})
        again = find_communities(entities.reverse(), swapped, Cluster())
        assert again.communities.equals(first.communities)
        assert again.leaf.equals(first.leaf)


_SCRIPT = """
import sys; sys.path.insert(0, {tests!r})
from test_communities import find, rings
found = find(*rings(8, 6), max_cluster_size=4)
print(found.communities.write_json(), found.leaf.write_json())
"""


def test_hash_seed_does_not_matter() -> None:
    script = _SCRIPT.format(tests=str(Path(__file__).parent))
    root = str(Path(graphkb.__file__).parents[1])
    outputs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": root},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 100


def test_the_same_graph_keeps_every_community() -> None:
    names, edges = rings(20, 6)
    first = find(names, edges, max_cluster_size=4)
    again = find(names, edges, max_cluster_size=4, previous=first.communities)
    assert again.communities.equals(first.communities)
    assert again.leaf.equals(first.leaf)


def test_a_small_change_moves_few_communities_and_keeps_numbers() -> None:
    names, edges = rings(40, 6)
    first = find(names, edges)
    added = [("g00n00", "a new one", 2.0), ("a new one", "g00n01", 2.0)]
    second = find(["a new one", *names], [*edges, *added], previous=first.communities)
    assert_hierarchy(second, {"a new one", *names})
    before = set(first.communities["id"].to_list())
    changed = [c for c in second.communities["id"].to_list() if c not in before]
    depth = second.communities["level"].to_numpy().max() + 1
    assert 1 <= len(changed) <= depth
    was = dict(first.leaf.iter_rows())
    assert all(was[n] == c for n, c in second.leaf.iter_rows() if n != "a new one")
    assert dict(second.leaf.iter_rows())["a new one"] == was["g00n00"]


def test_a_new_community_gets_a_number_after_the_highest() -> None:
    names, edges = rings(4, 5)
    first = find(names, edges)
    new = ["x", "y", "z"]
    second = find([*names, *new], [*edges, *clique(new)], previous=first.communities)
    added = second.communities.filter(pl.col("entity_ids").list.contains("x"))
    assert added["community"].to_list() == [first.communities["community"].to_numpy().max() + 1]
    third = find(names, edges, previous=second.communities)
    assert third.communities.equals(first.communities)


def test_a_bad_previous_partition_is_not_kept() -> None:
    names, edges = rings(12, 5)
    fresh = find(names, edges)
    halves = [names[::2], names[1::2]]
    bad = rows(
        "communities",
        [
            {
                "community": i, "level": 0, "parent": -1, "children": [],
                "entity_ids": half, "size": len(half),
            }
            for i, half in enumerate(halves)
        ],
    )  # fmt: skip
    found = find(names, edges, previous=bad)
    _, relationships = tables(names, edges)
    best = modularity(fresh.communities, relationships)
    assert modularity(bad, relationships) < 0.5 * best
    assert modularity(found.communities, relationships) >= 0.99 * best


def test_leaf_cover_takes_every_entity_once_at_any_level() -> None:
    names, edges = rings(40, 5)
    pair = [("solo", "duo", 1.0)]
    found = find([*names, "solo", "duo"], edges + pair, max_cluster_size=6)
    frame = found.communities
    small = frame.filter(pl.col("entity_ids").list.contains("solo"))["community"].to_list()
    assert frame["level"].to_numpy().max() >= 1
    for level in range(4):
        cover = leaf_cover(frame, level)
        chosen = frame.filter(pl.col("community").is_in(cover))
        covered = chosen["entity_ids"].explode().to_list()
        assert sorted(covered) == sorted([*names, "solo", "duo"])
        assert set(small) <= set(cover)
    assert leaf_cover(frame, 0) == frame.filter(pl.col("level") == 0)["community"].to_list()


weights = st.floats(min_value=0.1, max_value=5.0)
graphs = st.integers(2, 40).flatmap(
    lambda n: st.lists(
        st.tuples(st.integers(0, n - 1), st.integers(0, n - 1), weights), max_size=4 * n
    ).map(lambda pairs: (n, [(f"n{a:02}", f"n{b:02}", w) for a, b, w in pairs]))
)


@settings(max_examples=60, deadline=None)
@given(graphs, st.integers(1, 8))
def test_any_graph_gives_a_valid_hierarchy(graph: tuple[int, list[Edge]], size: int) -> None:
    n, edges = graph
    names = [f"n{i:02}" for i in range(n)]
    assert_hierarchy(find(names, edges, max_cluster_size=size), connected_names(edges))


@settings(max_examples=60, deadline=None)
@given(graphs, graphs)
def test_any_change_gives_a_valid_hierarchy_within_one_percent(
    before: tuple[int, list[Edge]], after: tuple[int, list[Edge]]
) -> None:
    old = find([f"n{i:02}" for i in range(before[0])], before[1], max_cluster_size=3)
    names = [f"n{i:02}" for i in range(after[0])]
    fresh = find(names, after[1], max_cluster_size=3)
    updated = find(names, after[1], max_cluster_size=3, previous=old.communities)
    assert_hierarchy(updated, connected_names(after[1]))
    _, relationships = tables(names, after[1])
    best = modularity(fresh.communities, relationships)
    assert modularity(updated.communities, relationships) >= best - 0.01 * abs(best) - 1e-12


@settings(max_examples=40, deadline=None)
@given(graphs, st.sampled_from([0.5, 1.0, 2.0]))
def test_modularity_is_networkx_modularity(
    graph: tuple[int, list[Edge]], resolution: float
) -> None:
    n, edges = graph
    names = [f"n{i:02}" for i in range(n)]
    found = find(names, edges, resolution=resolution)
    oracle = nx.Graph()
    for a, b, weight in edges:
        if a != b:
            total = oracle.get_edge_data(a, b, {"weight": 0.0})["weight"] + weight
            oracle.add_edge(a, b, weight=total)
    ours = modularity(found.communities, tables(names, edges)[1], resolution)
    if oracle.number_of_edges():
        theirs = nx.community.modularity(oracle, members(found), resolution=resolution)
        assert ours == pytest.approx(theirs, abs=1e-9)
    else:
        assert ours == 0.0


def test_communities_are_about_as_good_as_louvain() -> None:
    names, edges = rings(30, 5)
    graph = nx.Graph()
    graph.add_weighted_edges_from(edges)
    louvain = nx.community.louvain_communities(graph, seed=1)
    ours = modularity(find(names, edges).communities, tables(names, edges)[1])
    assert ours >= 0.99 * nx.community.modularity(graph, louvain)
