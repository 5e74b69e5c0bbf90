"""Retrieval metrics over binary judgements.

One rule for every metric: null entries are ignored on both sides, a repeated entry counts once at
its first place, and what follows moves up. So every value is in [0, 1], and a question without
any retrieved document scores 0 wherever it stands in the run.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphkb.errors import UsageError

Qrels = Mapping[str, Iterable[str | None]]
"""Question id to the ids of its relevant documents."""

Run = Mapping[str, Sequence[str | None]]
"""Question id to retrieved document ids, best first."""

Metric = Callable[[Sequence[str], frozenset[str], int], float]


def recall(ranked: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """Relevant documents in the first ``k``, over all relevant ones.

    Manning, Raghavan, Schütze, *Introduction to Information Retrieval*, eq. 8.2.
    """
    return _found(ranked, relevant, k) / len(relevant)


def precision(ranked: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """Relevant documents in the first ``k``, over the documents retrieved there.

    IIR eq. 8.1. A run shorter than ``k`` is divided by its own length (trec_eval divides by k):
    what was never returned is not a wrong answer.
    """
    retrieved = len(ranked[:k])
    return _found(ranked, relevant, k) / retrieved if retrieved else 0.0


def hit(ranked: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """1 when any relevant document is in the first ``k``."""
    return float(_found(ranked, relevant, k) > 0)


def all_evidence(ranked: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """1 when every relevant document is in the first ``k``: what a multi-hop question needs."""
    return float(_found(ranked, relevant, k) == len(relevant))


def reciprocal_rank(ranked: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """1 / rank of the first relevant document, 0 when there is none in the first ``k``.

    Voorhees, *The TREC-8 Question Answering Track Report* (1999), section 3.
    """
    places = (place for place, item in enumerate(ranked[:k], 1) if item in relevant)
    return 1 / next(places, math.inf)


def ndcg(ranked: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """DCG / ideal DCG with DCG = Σ rel(i) / log2(i + 1), rel binary.

    Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques* (2002); the ideal
    order has min(k, relevant) documents at the top.
    """
    gained = (_gain(place) for place, item in enumerate(ranked[:k], 1) if item in relevant)
    ideal = math.fsum(_gain(place) for place in range(1, min(k, len(relevant)) + 1))
    return min(1.0, math.fsum(gained) / ideal)


def _gain(place: int) -> float:
    return 1 / math.log2(place + 1)


def _found(ranked: Sequence[str], relevant: frozenset[str], k: int) -> int:
    return sum(item in relevant for item in ranked[:k])


METRICS: dict[str, Metric] = {
    "recall": recall,
    "precision": precision,
    "hit": hit,
    "all": all_evidence,
    "mrr": reciprocal_rank,
    "ndcg": ndcg,
}


@dataclass(frozen=True)
class Metrics:
    """Means over the judged questions, and each question's own values.

    ``excluded`` are questions with an empty relevant list: they have no recall to speak of and
    are in neither ``mean`` nor ``per_question``.
    """

    mean: Mapping[str, float]
    per_question: Mapping[str, Mapping[str, float]]
    excluded: tuple[str, ...]


def evaluate(qrels: Qrels, run: Run, metrics: Sequence[str]) -> Metrics:
    """Metrics of ``run`` against ``qrels``: names are ``recall@5``, ``all@8``, ``mrr``, …

    ``@k`` may be left out for the whole ranking. A judged question missing from ``run`` counts
    as retrieved nothing. Raises UsageError for an unknown metric, or when no question has a
    relevant document.

    >>> evaluate({"q": ["b", None]}, {"q": ["a", None, "b"]}, ["precision@3", "mrr"]).mean
    {'precision@3': 0.5, 'mrr': 0.5}
    >>> evaluate({"问": ["甲", "乙"]}, {"问": ["甲", "甲", "乙"]}, ["recall@10", "ndcg@10"]).mean
    {'recall@10': 1.0, 'ndcg@10': 1.0}
    """
    measures = {name: _measure(name) for name in metrics}
    per_question: dict[str, dict[str, float]] = {}
    excluded = []
    for question, judged in qrels.items():
        relevant = frozenset(item for item in judged if item is not None)
        if not relevant:
            excluded.append(question)
            continue
        ranked = list(dict.fromkeys(item for item in run.get(question, ()) if item is not None))
        per_question[question] = {
            name: measure(ranked, relevant, k) for name, (measure, k) in measures.items()
        }
    if not per_question:
        raise UsageError(
            f"nothing to measure: none of {len(excluded)} questions has a relevant document; "
            'give each line "relevant": [document id, path or title]'
        )
    mean = {
        name: math.fsum(values[name] for values in per_question.values()) / len(per_question)
        for name in measures
    }
    return Metrics(mean, per_question, tuple(excluded))


_WHOLE = 2**62


def _measure(name: str) -> tuple[Metric, int]:
    base, separator, cut = name.partition("@")
    if base not in METRICS:
        near = difflib.get_close_matches(base, METRICS, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(METRICS)}"
        raise UsageError(f"unknown metric {name!r}; {hint}")
    if not separator:
        return METRICS[base], _WHOLE
    if not cut.isascii() or not cut.isdigit() or int(cut) < 1:
        raise UsageError(f"metric {name!r}: write {base}@k with a whole k from 1, such as {base}@5")
    return METRICS[base], int(cut)
