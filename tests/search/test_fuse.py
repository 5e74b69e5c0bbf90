"""Fusion: formulas, ties, and that a weak leg cannot pull a strong one down."""

from __future__ import annotations

import pytest

from graphkb.search.fuse import adaptive_weights, fuse, lead_of

LEXICAL = [("a", 9.0), ("b", 3.0), ("c", 1.0)]
DENSE = [("c", 0.9), ("d", 0.8)]


def test_rrf_is_cormacks_sum_scaled_to_one() -> None:
    hits = {
        hit.id: hit.score for hit in fuse({"lexical": LEXICAL, "dense": DENSE}, "rrf", {}, k=60)
    }
    assert hits["c"] == pytest.approx(61 / 63 + 1)
    assert hits["a"] == pytest.approx(1.0)
    assert hits["d"] == pytest.approx(61 / 62)


def test_alpha_is_a_weighted_sum_of_scaled_scores() -> None:
    fused = fuse({"lexical": LEXICAL, "dense": DENSE}, "alpha", {"lexical": 2.0, "dense": 0.5})
    assert {hit.id: hit.score for hit in fused} == pytest.approx(
        {"a": 2.0, "b": 0.5, "c": 0.5, "d": 0.0}
    )


def test_graph_scores_are_scaled_from_zero() -> None:
    fused = fuse({"graph": [("a", 1.0), ("b", 0.5)]}, "alpha", {})
    assert [hit.score for hit in fused] == [1.0, 0.5]


@pytest.mark.parametrize("method", ["alpha", "rrf"])
def test_ties_are_broken_by_id(method: str) -> None:
    runs = {"lexical": [("b", 1.0)], "dense": [("a", 1.0)]}
    assert [hit.id for hit in fuse(runs, method, {})] == ["a", "b"]  # type: ignore[arg-type]


def test_via_holds_the_rank_in_every_leg() -> None:
    fused = fuse({"lexical": LEXICAL, "dense": DENSE}, "rrf", {})
    assert fused[0].id == "c"
    assert fused[0].via == {"lexical": 3, "dense": 1}


def test_trusted_graph_decides_and_dense_orders_what_it_leaves_level() -> None:
    graph = [("x", 1.0), ("y", 0.4), ("z", 0.4)]
    runs = {"lexical": LEXICAL, "dense": [("z", 0.9), ("a", 0.1)], "graph": graph}
    assert [hit.id for hit in fuse(runs, trust=1.0, coverage=0.3)][:3] == ["x", "z", "y"]


def test_an_untrusted_graph_has_no_say() -> None:
    runs = {"lexical": LEXICAL, "graph": [("x", 1.0), ("c", 0.9)]}
    assert [hit.id for hit in fuse(runs, trust=0.0, coverage=1.0)][:3] == ["a", "b", "c"]


def test_words_weigh_more_where_one_passage_covers_the_question() -> None:
    covered, uncovered = adaptive_weights(0.0, 1.0), adaptive_weights(0.0, 0.3)
    assert covered["lexical"] > uncovered["lexical"]
    assert covered["dense"] < uncovered["dense"]


@pytest.mark.parametrize(("second", "first"), [(6.0, "a"), (8.8, "d")])
def test_words_that_do_not_tell_documents_apart_leave_the_first_place_to_nearness(
    second: float, first: str
) -> None:
    lexical = [("a", 9.0), ("d", second), ("e", 1.0)]
    runs = {"lexical": lexical, "dense": [("d", 0.9), ("b", 0.5), ("a", 0.4)]}
    assert fuse(runs, coverage=0.9)[0].id == first


@pytest.mark.parametrize(("coverage", "first"), [(0.5, "a"), (0.15, "d")])
def test_few_known_words_leave_the_first_place_to_nearness(coverage: float, first: str) -> None:
    runs = {
        "lexical": [("a", 9.0), ("b", 3.0), ("c", 1.0)],
        "dense": [("d", 0.9), ("e", 0.5), ("f", 0.2)],
    }
    assert fuse(runs, coverage=coverage)[0].id == first


@pytest.mark.parametrize(("trust", "first"), [(0.6, "a"), (1.0, "x")])
def test_a_half_trusted_graph_hardly_votes_for_the_first_place(trust: float, first: str) -> None:
    lexical = [("a", 9.0), ("x", 8.0), ("c", 1.0)]
    graph = [("x", 1.0), ("y", 0.9), ("a", 0.7)]
    assert fuse({"lexical": lexical, "graph": graph}, trust=trust, coverage=0.5)[0].id == first


def test_the_lead_is_over_the_next_document() -> None:
    run = [("a", 10.0), ("b", 9.0), ("c", 5.0)]
    assert lead_of(run) == pytest.approx(0.1)
    assert lead_of(run, {"a": 1, "b": 1, "c": 2}) == pytest.approx(0.5)
    assert lead_of(run, {"a": 1, "b": 1, "c": 1}) == 1.0
    assert lead_of([]) == lead_of([("a", 0.0)]) == 0.0


def test_the_first_place_goes_to_what_the_other_legs_agree_on() -> None:
    graph = [("x", 1.0), ("y", 0.9), ("a", 0.2)]
    runs = {"lexical": LEXICAL, "dense": [("a", 0.9), ("d", 0.8)], "graph": graph}
    hits = fuse(runs, trust=0.7, coverage=0.3)
    assert [hit.id for hit in hits][:3] == ["a", "x", "y"]
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)


def test_the_first_hits_of_a_leg_count_whatever_its_scores_look_like() -> None:
    lexical = [("a", 100.0), ("b", 3.0), *((f"t{i}", 2.9 - i / 10) for i in range(20))]
    run = {hit.id: hit.score for hit in fuse({"lexical": lexical}, coverage=1.0)}
    assert run["b"] > 0.3 * run["a"]
    fixed = {hit.id: hit.score for hit in fuse({"lexical": lexical}, weights={"lexical": 1.0})}
    assert fixed["b"] < 0.03 * fixed["a"]


def test_without_a_dense_leg_the_lexical_one_has_its_weight() -> None:
    runs = {"lexical": [("a", 2.0), ("b", 1.9)], "graph": [("x", 1.0), ("y", 0.01)]}
    weight = {hit.id: hit.score for hit in fuse(runs, trust=1.0, coverage=0.3)}
    assert weight["a"] == pytest.approx(adaptive_weights(1.0, 0.3)["dense"])


@pytest.mark.parametrize("trust", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("coverage", [0.0, 0.5, 1.0])
def test_weights_stay_in_range(trust: float, coverage: float) -> None:
    weights = adaptive_weights(trust, coverage)
    assert set(weights) == {"lexical", "dense", "graph", "question"}
    assert all(0.0 <= weight <= 1.1 for weight in weights.values())


def test_a_leg_alone_decides_and_empty_legs_are_ignored() -> None:
    assert [hit.id for hit in fuse({"lexical": LEXICAL, "dense": []}, trust=1.0)] == ["a", "b", "c"]
    assert [hit.id for hit in fuse({"graph": [("x", 0.1)]}, trust=0.0)] == ["x"]
    assert fuse({}) == []
    assert fuse({"lexical": []}) == []


def test_a_document_found_twice_wins_over_one_found_once() -> None:
    runs = {"lexical": [("x", 10.0), ("a1", 9.5), ("a2", 9.0), ("z", 1.0)]}
    assert fuse(runs)[0].id == "x"
    supported = fuse(runs, documents={"x": 0, "a1": 1, "a2": 1})
    assert [hit.id for hit in supported] == ["a1", "a2", "x", "z"]


def test_equal_scores_all_count_fully() -> None:
    fused = fuse({"lexical": [("a", 2.0), ("b", 2.0)]}, "alpha", {})
    assert [hit.score for hit in fused] == [1.0, 1.0]
