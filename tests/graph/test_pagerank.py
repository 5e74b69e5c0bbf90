"""PageRank against networkx, and the properties queries rely on."""

from __future__ import annotations

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_array, random_array

from graphkb.graph.pagerank import pagerank, personalised_pagerank, rank_entities


def _graph(n: int = 60, seed: int = 3) -> csr_array:
    """A random symmetric weighted graph; some nodes have no edge."""
    half = random_array((n, n), density=0.02, rng=np.random.default_rng(seed))
    matrix = csr_array(half + half.T)
    matrix.setdiag(0)
    matrix.eliminate_zeros()
    return csr_array(matrix)


def test_global_rank_equals_networkx() -> None:
    matrix = _graph()
    assert (np.diff(matrix.indptr) == 0).any()
    expected = nx.pagerank(nx.from_scipy_sparse_array(matrix), alpha=0.85, tol=1e-12, max_iter=1000)
    ours = pagerank(matrix.indptr, matrix.indices, matrix.data)
    assert np.allclose(ours, [expected[i] for i in range(len(ours))], atol=1e-7)
    assert ours.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("damping", [0.3, 0.5, 0.85])
@pytest.mark.parametrize("reset", [{0: 1.0}, {3: 2.0, 7: 1.0, 11: 0.5}])
def test_personalised_rank_equals_networkx(damping: float, reset: dict[int, float]) -> None:
    matrix = _graph()
    graph = nx.from_scipy_sparse_array(matrix)
    expected = nx.pagerank(graph, alpha=damping, personalization=reset, tol=1e-13, max_iter=500)
    ours = personalised_pagerank(
        matrix.indptr, matrix.indices, matrix.data, reset, damping, tolerance=1e-10
    )
    assert np.allclose(ours, [expected[i] for i in range(len(ours))], atol=1e-6)


def test_a_loose_tolerance_keeps_the_order_of_the_top() -> None:
    matrix = _graph(400, seed=5)
    exact = personalised_pagerank(matrix.indptr, matrix.indices, matrix.data, {1: 1.0}, 0.5, 1e-12)
    loose = personalised_pagerank(matrix.indptr, matrix.indices, matrix.data, {1: 1.0}, 0.5, 1e-5)
    assert np.argsort(-exact)[:10].tolist() == np.argsort(-loose)[:10].tolist()
    assert loose.sum() <= 1.0


def test_little_mass_is_not_spread_over_a_hub_and_much_is() -> None:
    n = 3_002
    # 0 is joined to 1 firmly and to the hub, 2, which is joined to all others.
    edges = {(0, 1): 1.0} | {(2, leaf): 1.0 for leaf in range(3, n)}

    def spread(weight: float) -> np.ndarray:
        joined = edges | {(0, 2): weight}
        rows, columns = np.array(list(joined)).T
        both = (np.r_[rows, columns], np.r_[columns, rows])
        matrix = csr_array((np.r_[[*joined.values()] * 2], both), shape=(n, n))
        return personalised_pagerank(
            matrix.indptr, matrix.indices, matrix.data, {0: 1.0}, tolerance=1e-5
        )

    little, much = spread(1e-4), spread(0.5)
    assert little[3:].max() == 0
    assert little[0] > little[1] > 0.2
    assert much[3:].min() > 0


def test_no_reset_gives_zeros_and_node_zero_can_be_one() -> None:
    matrix = _graph()
    assert personalised_pagerank(matrix.indptr, matrix.indices, matrix.data, {}).sum() == 0
    assert personalised_pagerank(matrix.indptr, matrix.indices, matrix.data, {0: 1.0})[0] > 0.4


def test_entities_get_degree_and_rank_whatever_the_row_order() -> None:
    entities = pl.DataFrame({"id": ["c", "a", "b", "d"]})
    related = pl.DataFrame(
        {"source_id": ["a", "a", "b"], "target_id": ["b", "c", "a"], "weight": [1.0, 2.0, 1.0]}
    )
    ranked = rank_entities(entities, related)
    assert ranked["entity_id"].to_list() == ["a", "b", "c", "d"]
    assert ranked["degree"].to_list() == [2, 1, 1, 0]
    assert ranked["rank"].sum() == pytest.approx(1.0)
    assert ranked["rank"].arg_max() == 0
    assert ranked.equals(rank_entities(entities.reverse(), related.reverse()))
