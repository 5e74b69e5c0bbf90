from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.errors import UsageError
from graphkb.evaluate.metrics import METRICS, evaluate


def mean(qrels: dict, run: dict, *metrics: str) -> dict[str, float]:
    return dict(evaluate(qrels, run, metrics).mean)


def test_values_computed_by_hand():
    # relevant 甲 at rank 2 and 丙 at rank 4; 丁 never retrieved
    qrels = {"问": ["甲", "丙", "丁"]}
    run = {"问": ["子", "甲", "丑", "丙", "寅"]}
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert mean(qrels, run, "recall@1", "recall@2", "recall@5") == {
        "recall@1": 0,
        "recall@2": pytest.approx(1 / 3),
        "recall@5": pytest.approx(2 / 3),
    }
    assert mean(qrels, run, "precision@2", "precision@5", "precision@10") == {
        "precision@2": 0.5,
        "precision@5": pytest.approx(0.4),
        "precision@10": pytest.approx(0.4),
    }
    assert mean(qrels, run, "hit@1", "hit@2", "all@5") == {"hit@1": 0, "hit@2": 1, "all@5": 0}
    assert mean(qrels, run, "mrr", "mrr@1") == {"mrr": 0.5, "mrr@1": 0}
    gained = 1 / math.log2(3) + 1 / math.log2(5)
    assert mean(qrels, run, "ndcg@5") == {"ndcg@5": pytest.approx(gained / ideal)}
    assert mean(qrels, run, "ndcg@2") == {
        "ndcg@2": pytest.approx(1 / math.log2(3) / (1 + 1 / math.log2(3)))
    }


def test_all_evidence_needs_every_document():
    qrels = {"q": ["a", "b"]}
    assert mean(qrels, {"q": ["a", "x", "b"]}, "all@2", "all@3") == {"all@2": 0, "all@3": 1}


def test_case_q01_null_is_ignored_on_both_sides():
    values = mean({"q": ["b", None]}, {"q": ["a", None, "b"]}, "precision@3", "recall@3", "mrr")
    assert values == {"precision@3": 0.5, "recall@3": 1.0, "mrr": 0.5}


def test_case_q03_an_empty_run_counts_zero_wherever_it_stands():
    qrels = {f"q{n}": ["a", "b", "c"] for n in range(1, 5)}
    full = {"q1": ["a"], "q2": ["x", "b", "a"], "q3": ["x", "b", "a"], "q4": ["c", "b", "a"]}
    names = ["recall@3", "precision@3", "hit@3", "all@3", "mrr", "ndcg@3"]
    second_empty = evaluate(qrels, {**full, "q2": []}, names).mean
    third_empty = evaluate(qrels, {**full, "q3": []}, names).mean
    missing = evaluate(qrels, {key: full[key] for key in ("q4", "q1", "q2")}, names).mean
    assert second_empty == third_empty == missing
    assert second_empty["hit@3"] == 0.75


def test_case_q05_duplicates_count_once():
    values = mean({"q": ["a", "b"]}, {"q": ["a", "a", "b"]}, *(f"{name}@10" for name in METRICS))
    assert values == dict.fromkeys(values, 1.0)
    assert mean({"q": ["a", "a"]}, {"q": ["a"]}, "recall@1") == {"recall@1": 1.0}


def test_questions_without_relevant_documents_are_counted_apart():
    metrics = evaluate({"q1": ["a"], "q2": [], "q3": [None]}, {"q1": ["a"], "q2": ["b"]}, ["mrr"])
    assert metrics.mean == {"mrr": 1.0}
    assert metrics.per_question == {"q1": {"mrr": 1.0}}
    assert metrics.excluded == ("q2", "q3")


def test_nothing_to_measure_is_an_error():
    with pytest.raises(UsageError, match="none of 1 questions has a relevant document"):
        evaluate({"q": []}, {"q": ["a"]}, ["mrr"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("recal@5", "did you mean 'recall'?"),
        ("zzz", "known: recall, precision"),
        ("recall@0", "whole k from 1, such as recall@5"),
        ("recall@", "whole k"),
        ("recall@²", "whole k"),
        ("recall@-1", "whole k"),
    ],
)
def test_unknown_metrics_are_named(name: str, message: str):
    with pytest.raises(UsageError) as error:
        evaluate({"q": ["a"]}, {"q": ["a"]}, [name])
    assert repr(name) in str(error.value)
    assert message in str(error.value)


items = st.lists(st.one_of(st.none(), st.sampled_from("abcdef甲乙")), max_size=8)


@given(items, st.lists(st.sampled_from("abcdef甲乙"), min_size=1, max_size=8), st.integers(1, 9))
def test_every_metric_is_between_zero_and_one(retrieved: list, relevant: list, k: int):
    values = mean({"q": relevant}, {"q": retrieved}, *(f"{name}@{k}" for name in METRICS))
    assert all(0 <= value <= 1 for value in values.values())
    assert values[f"all@{k}"] <= values[f"recall@{k}"] <= values[f"hit@{k}"]
    assert (values[f"mrr@{k}"] > 0) == (values[f"hit@{k}"] == 1)
