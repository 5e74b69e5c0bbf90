"""Whatever a server answers, scores are finite, of texts that were sent, and nothing is lost."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.search.hybrid import RankedUnit
from graphkb.search.rerank import Scores
from graphkb.search.rerank.apply import ordered
from graphkb.search.rerank.shapes import SHAPES, addresses_of, read_scores, shapes_of
from graphkb.types import Via

_NUMBERS = st.one_of(
    st.integers(-3, 8),
    st.floats(),
    st.booleans(),
    st.none(),
    st.sampled_from(["0.5", "x", "1e999"]),
)
_RESULTS = st.fixed_dictionaries(
    {}, optional={"index": _NUMBERS, "relevance_score": _NUMBERS, "score": _NUMBERS}
)
_JSON = st.recursive(
    st.one_of(_NUMBERS, _RESULTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.dictionaries(st.sampled_from(["results", "data", "output", "scores", "id"]), inner),
    ),
)


@given(_JSON)
def test_scores_are_finite_and_of_texts_that_were_sent(reply: Any) -> None:
    for place, score in (read_scores(reply, 5) or {}).items():
        assert 0 <= place < 5
        assert math.isfinite(score)


@given(
    st.dictionaries(st.integers(0, 9), st.floats(-9, 9), max_size=10),
    st.integers(1, 12),
    st.sampled_from([0.0, 0.5, -3.0]),
    st.booleans(),
)
def test_no_text_unit_is_lost_or_doubled(
    scores: dict[int, float], shown: int, threshold: float, absolute: bool
) -> None:
    units = [
        RankedUnit(n + 1, f"u{n}", 1.0 - n / 20, {"lexical": Via(n + 1, 2.0)}) for n in range(12)
    ]
    scores = {place: score for place, score in scores.items() if place < shown}
    found = ordered(units, shown, scores, Scores(scores, "", absolute), threshold, 0.0).units
    names = [unit.text_unit_id for unit in found]
    assert len(set(names)) == len(names)
    if not threshold or not absolute or not scores:
        assert sorted(names) == sorted(unit.text_unit_id for unit in units)
    else:
        assert set(names) == {f"u{place}" for place, score in scores.items() if score >= threshold}
    assert [unit.rank for unit in found] == list(range(1, len(found) + 1))
    assert [unit.score for unit in found] == [unit.score for unit in units[: len(found)]]
    own = [unit.via["rerank"].score for unit in found if "rerank" in unit.via]
    assert own == sorted(own, reverse=True)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ({"results": [{"index": 1, "relevance_score": 0.9}]}, {1: 0.9}),
        ({"data": [{"index": 0, "score": "0.2"}]}, {0: 0.2}),
        ({"rankings": [{"index": 1, "logit": -7.5}]}, {1: -7.5}),
        ({"output": {"results": [{"index": 0, "relevance_score": 1}]}}, {0: 1.0}),
        ([{"index": 1, "score": 0.5}], {1: 0.5}),
        ({"scores": [0.1, 0.7]}, {0: 0.1, 1: 0.7}),
        ([0.1, 0.7], {0: 0.1, 1: 0.7}),
        ({"results": [{"index": 0, "relevance_score": 0.3}, {"index": 0, "score": 0.9}]}, {0: 0.3}),
        ({"results": []}, {}),
        ({"message": "no"}, None),
        ("no", None),
    ],
)
def test_replies_of_every_shape(reply: Any, expected: dict[int, float] | None) -> None:
    assert read_scores(reply, 2) == expected


@pytest.mark.parametrize(
    ("written", "first"),
    [
        ("https://api.cohere.com", "https://api.cohere.com/rerank"),
        ("https://api.cohere.com/v2/", "https://api.cohere.com/v2/rerank"),
        ("https://h/prefix/v1", "https://h/prefix/v1/rerank"),
        ("http://h:8080/rerank", "http://h:8080/rerank"),
        ("https://h/compatible-api/v1/reranks", "https://h/compatible-api/v1/reranks"),
    ],
)
def test_what_is_written_is_tried_first(written: str, first: str) -> None:
    tried = addresses_of(written)
    assert tried[0] == first
    assert len(tried) == len(set(tried)) <= 4
    assert set(shapes_of(first)) <= set(SHAPES)
