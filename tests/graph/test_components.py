"""Connected components, held against scipy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from graphkb.graph.leiden import components

NODES = 12
EDGES = st.lists(st.tuples(st.integers(0, NODES - 1), st.integers(0, NODES - 1)), max_size=20)


@given(EDGES)
def test_each_node_has_the_lowest_node_that_it_is_connected_with(edges: list[tuple[int, int]]):
    source, target = (np.array([edge[end] for edge in edges], dtype=np.int64) for end in (0, 1))
    matrix = coo_array((np.ones(len(edges)), (source, target)), (NODES, NODES))
    _, labels = connected_components(matrix, directed=False)
    lowest = [int(np.flatnonzero(labels == label)[0]) for label in labels]
    assert components(NODES, source, target).tolist() == lowest


def test_a_long_chain_in_any_order_is_one_component():
    order = np.random.default_rng(0).permutation(5_000)
    assert not components(len(order), order[:-1], order[1:]).any()


def test_without_edges_each_node_stands_alone():
    none = np.zeros(0, dtype=np.int64)
    assert components(3, none, none).tolist() == [0, 1, 2]
