"""Fits fusion to a question file, and says whether the gain holds on questions not fitted on.

Every question is measured by settings that were chosen without it (cross-validation, Stone 1974):
the best way of joining legs over the other folds. The held-out values are compared with those of
the settings in force, question by question. Only a gain whose 95 % interval lies above 0, with p
below 0.05, is recommended; what is recommended is then chosen over all questions.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from graphkb.errors import InputError
from graphkb.evaluate.legs import Fusion, Gathered, LegRuns, gather_runs, measure
from graphkb.evaluate.questions import DocumentNames, QuestionSet
from graphkb.evaluate.resample import SEED, Difference, folds, paired_difference
from graphkb.search.snapshot import Snapshot
from graphkb.settings import Search
from graphkb.types import Progress, no_progress

Verdict = Literal["too few", "real", "not sure", "same"]

LEAST_QUESTIONS = 20
PARTS = 5

# Weights that are tried: shares of so many equal parts, all combinations.
_SHARES = 5
_KS = (10, 30, 60, 120)


@dataclass(frozen=True)
class Fit:
    """``metrics`` maps each metric to its mean under the settings in force, under ``best`` over
    all questions (which it was chosen on), and to the paired difference on held-out questions.

    ``verdict``: ``too few`` questions to say anything; the gain is ``real``; ``not sure``; or the
    ``same`` settings are the best. ``chosen`` are the winners of the folds: when they differ
    much, the questions do not agree.
    """

    n: int
    objective: str
    current: Fusion
    best: Fusion
    chosen: tuple[Fusion, ...]
    tried: int
    metrics: Mapping[str, tuple[float, float, Difference | None]]
    verdict: Verdict
    skipped: Mapping[str, str]

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that say ``best``: key to value."""
        found: dict[str, Any] = {"search.fusion": self.best.method}
        if self.best.method == "rrf":
            found["search.rrf_k"] = self.best.k
        found["search.weights"] = dict(self.best.weights or {})
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "settings": self.settings}


def current_fusion(options: Search) -> Fusion:
    """The way of joining legs that the settings name."""
    weights = {str(leg): weight for leg, weight in options.weights.items()} or None
    return Fusion(options.fusion, options.rrf_k, weights)


def candidate_fusions(legs: Sequence[str], current: Fusion) -> list[Fusion]:
    """The ways that are tried, the one in force first: scaled scores and ranks with weights by
    question, and every combination of weights in steps of 0.2."""
    weights: list[Mapping[str, float] | None] = [None]
    if len(legs) > 1:
        weights += [
            {leg: part / _SHARES for leg, part in zip(legs, parts, strict=True)}
            for parts in itertools.product(range(_SHARES + 1), repeat=len(legs))
            if sum(parts) == _SHARES
        ]
    tried = [Fusion("alpha", current.k, chosen) for chosen in weights]
    tried += [Fusion("rrf", k, chosen) for k in _KS for chosen in weights]
    return [current, *(fusion for fusion in tried if fusion != current)]


def fit_fusion(
    snapshot: Snapshot,
    question_set: QuestionSet,
    names: DocumentNames,
    seed: int = SEED,
    progress: Progress = no_progress,
) -> Fit:
    """The best way of joining the legs of ``search.legs`` for these questions, by nDCG at
    ``search.top_k``.

    Raises InputError when no question has a relevant document.
    """
    gathered = gather_runs(snapshot, question_set.questions, names, progress)
    return fit_runs(gathered, snapshot.settings.search, seed, progress)


def fit_runs(
    gathered: Gathered, options: Search, seed: int = SEED, progress: Progress = no_progress
) -> Fit:
    """:func:`fit_fusion` over runs that were gathered before."""
    if not gathered.runs:
        raise InputError('no question has a relevant document; give each line "relevant": […]')
    top_k = options.top_k
    metrics = [f"ndcg@{top_k}", f"recall@{top_k}", "mrr"]
    current = current_fusion(options)
    fusions = candidate_fusions(gathered.legs, current)
    values = _measured(gathered.runs, fusions, metrics, progress)
    best = _best(values, range(len(gathered.runs)))
    chosen, held_out = _cross_validated(values, len(gathered.runs), seed)
    enough = len(gathered.runs) >= LEAST_QUESTIONS
    found: dict[str, tuple[float, float, Difference | None]] = {}
    for place, name in enumerate(metrics):
        before, fitted = values[0][place], values[best][place]
        paired = paired_difference(before, held_out[place], seed) if enough else None
        found[name] = math.fsum(before) / len(before), math.fsum(fitted) / len(fitted), paired
    return Fit(
        n=len(gathered.runs),
        objective=metrics[0],
        current=current,
        best=fusions[best],
        chosen=tuple(fusions[place] for place in dict.fromkeys(chosen)),
        tried=len(fusions),
        metrics=found,
        verdict=_verdict(best, found[metrics[0]][2]),
        skipped=gathered.skipped,
    )


def _verdict(best: int, gain: Difference | None) -> Verdict:
    if gain is None:
        return "too few"
    if best == 0:
        return "same"
    return "real" if gain.mean > 0 and gain.is_real else "not sure"


Values = list[list[list[float]]]
"""By fusion and metric, the value of each question."""


def _measured(
    runs: Sequence[LegRuns], fusions: Sequence[Fusion], metrics: Sequence[str], progress: Progress
) -> Values:
    values = []
    for done, fusion in enumerate(fusions, 1):
        values.append(measure(runs, fusion, metrics))
        progress("fusions", done, len(fusions))
    return values


def _best(values: Values, places: Sequence[int]) -> int:
    """The fusion with the highest mean of the first metric over these questions; the settings in
    force win a tie, then the earlier one."""
    sums = [math.fsum(found[0][place] for place in places) for found in values]
    return max(range(len(sums)), key=lambda fusion: (round(sums[fusion], 9), -fusion))


def _cross_validated(values: Values, n: int, seed: int) -> tuple[list[int], list[list[float]]]:
    """The winner of each fold's other questions, and by metric each question's value under the
    winner that was chosen without it."""
    held_out = [[0.0] * n for _ in values[0]]
    chosen = []
    for fold in folds(n, min(PARTS, n), seed):
        inside = set(fold)
        rest = [place for place in range(n) if place not in inside]
        winner = _best(values, rest or fold)
        chosen.append(winner)
        for metric, row in enumerate(held_out):
            for place in fold:
                row[place] = values[winner][metric][place]
    return chosen, held_out
