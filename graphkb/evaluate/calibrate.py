"""Where to refuse: the threshold on evidence at a stated rate of false refusals.

Questions with answers and questions without (``"relevant": []``) are measured by the evidence that
each query method finds for them (:mod:`graphkb.query.evidence`). The threshold refuses as many
of the latter as it can while it refuses no more than the stated share of the former. Both rates
are those of questions that the threshold was not chosen on (cross-validation), with Wilson's
intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from graphkb.errors import InputError, UsageError
from graphkb.evaluate.questions import DocumentNames, Question, QuestionSet
from graphkb.evaluate.resample import SEED, Interval, folds, share_interval
from graphkb.query.answer import METHODS
from graphkb.query.ask import Ask
from graphkb.query.route import clean_question
from graphkb.search.snapshot import Snapshot
from graphkb.types import Progress, no_progress

Verdict = Literal["too few", "gain", "same"]

DEFAULT_METHODS = ("hybrid", "local", "global")
LEAST_ANSWERABLE, LEAST_UNANSWERABLE = 20, 10

_PARTS = 5
_RESAMPLES = 2000
_PROBES = 6
# Thresholds closer than this are one setting.
_SAME = 0.02


@dataclass(frozen=True)
class Rate:
    """A share of ``n`` questions with its 95 % interval."""

    share: float
    n: int
    interval: Interval


@dataclass(frozen=True)
class MethodCalibration:
    """One query method. ``auc`` is the chance that an answerable question has more evidence than an
    unanswerable one. ``false_refusals`` and ``wrong_answers`` are measured on held-out questions;
    those with ``_now`` under the threshold in force."""

    method: str
    threshold: float
    auc: float
    auc_interval: Interval
    false_refusals: Rate
    wrong_answers: Rate
    threshold_now: float
    false_refusals_now: Rate
    wrong_answers_now: Rate
    evidence: Mapping[str, float]

    def is_gain(self, rate: float) -> bool:
        """Whether the threshold does better than the one in force, on held-out questions.

        Where more than ``rate`` of the answerable ones are refused now, it refuses fewer of them;
        else it answers fewer unanswerable ones, and does not surely refuse more than ``rate``.
        """
        if self.false_refusals_now.share > rate:
            return self.false_refusals.share < self.false_refusals_now.share
        fewer = self.wrong_answers.share < self.wrong_answers_now.share
        return fewer and self.false_refusals.interval.low <= rate


@dataclass(frozen=True)
class Calibration:
    """``rate`` is the share of false refusals asked for; ``enough`` says whether there are
    questions enough to recommend anything; ``same`` are methods that find the same evidence as
    the first of ``methods``, looked at on a few questions only; ``others`` the thresholds in force
    of methods that were not looked at and have their own."""

    rate: float
    n_answerable: int
    n_unanswerable: int
    enough: bool
    methods: tuple[MethodCalibration, ...]
    same: tuple[str, ...] = ()
    others: Mapping[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> Verdict:
        """``gain`` where a method does better under the threshold found than under that in force,
        else ``same``; ``too few`` where there are not questions enough."""
        if not self.enough:
            return "too few"
        return "gain" if any(found.is_gain(self.rate) for found in self.methods) else "same"

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that say the thresholds: key to value. The first method's is the common
        one, others stand beside it where they differ. A method without a gain keeps its own."""
        wanted = {
            found.method: found.threshold if found.is_gain(self.rate) else found.threshold_now
            for found in self.methods
        }
        common = wanted[self.methods[0].method]
        apart = {name: value for name, value in wanted.items() if abs(value - common) > _SAME}
        return {
            "answer.refusal_threshold": common,
            "answer.refusal_by_method": {**self.others, **apart},
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "settings": self.settings, "verdict": self.verdict}


def calibrate_refusal(
    snapshot: Snapshot,
    question_set: QuestionSet,
    names: DocumentNames,
    methods: Sequence[str] = (),
    rate: float = 0.05,
    seed: int = SEED,
    progress: Progress = no_progress,
) -> Calibration:
    """The threshold for each method at a share ``rate`` of false refusals. No model is asked.

    A question counts as answerable when one of its relevant documents is in the knowledge base,
    as unanswerable when the file says ``"relevant": []``; others are left out. Raises InputError
    when either kind is missing, UsageError for an unknown method.
    """
    for method in methods:
        if method not in METHODS:
            raise UsageError(f"unknown query method {method!r}; known: {', '.join(METHODS)}")
    answerable = [q for q in question_set.questions if any(map(names.find, q.relevant))]
    unanswerable = [q for q in question_set.questions if q.unanswerable]
    if not answerable or not unanswerable:
        missing = "answerable" if not answerable else "unanswerable"
        raise InputError(
            f"no {missing} questions: give both kinds, questions the documents answer with "
            '"relevant": [document, …] and questions they do not with "relevant": []'
        )
    found: list[MethodCalibration] = []
    same: list[str] = []
    for method in dict.fromkeys(methods or DEFAULT_METHODS):
        if found and _agrees(snapshot, method, found[0].evidence, [*answerable, *unanswerable]):
            same.append(method)
            continue
        evidence = _evidence(snapshot, method, [*answerable, *unanswerable], progress)
        now = snapshot.settings.answer.threshold(method)
        with_answer = [evidence[question.id] for question in answerable]
        without = [evidence[question.id] for question in unanswerable]
        found.append(_calibrated(method, evidence, with_answer, without, rate, now, seed))
    enough = len(answerable) >= LEAST_ANSWERABLE and len(unanswerable) >= LEAST_UNANSWERABLE
    looked_at = {*same, *(method.method for method in found)}
    return Calibration(
        rate=rate,
        n_answerable=len(answerable),
        n_unanswerable=len(unanswerable),
        enough=enough,
        methods=tuple(found),
        same=tuple(same),
        others={
            str(method): threshold
            for method, threshold in snapshot.settings.answer.refusal_by_method.items()
            if method not in looked_at
        },
    )


def _agrees(
    snapshot: Snapshot, method: str, evidence: Mapping[str, float], questions: Sequence[Question]
) -> bool:
    """Whether a method finds the evidence already known, on questions spread over the file."""
    probes = questions[:: max(1, len(questions) // _PROBES)]
    own = _evidence(snapshot, method, probes, no_progress)
    return all(abs(own[question.id] - evidence[question.id]) < 1e-6 for question in probes)


def _evidence(
    snapshot: Snapshot, method: str, questions: Sequence[Question], progress: Progress
) -> dict[str, float]:
    found = {}
    for done, question in enumerate(questions, 1):
        text = clean_question(question.query)
        found[question.id] = METHODS[method](snapshot, Ask(question=text, search=text)).evidence
        progress(f"evidence, {method}", done, len(questions))
    return found


def _calibrated(
    method: str,
    evidence: Mapping[str, float],
    answerable: Sequence[float],
    unanswerable: Sequence[float],
    rate: float,
    now: float,
    seed: int,
) -> MethodCalibration:
    refused = wrong = 0
    parts = zip(
        folds(len(answerable), _PARTS, seed), folds(len(unanswerable), _PARTS, seed), strict=True
    )
    for with_answer, without in parts:
        threshold = choose_threshold(
            _without(answerable, with_answer) or answerable,
            _without(unanswerable, without) or unanswerable,
            rate,
        )
        refused += sum(answerable[place] < threshold for place in with_answer)
        wrong += sum(unanswerable[place] >= threshold for place in without)
    area, interval = area_under_curve(answerable, unanswerable, seed)
    refused_now = sum(value < now for value in answerable)
    wrong_now = sum(value >= now for value in unanswerable)
    return MethodCalibration(
        method=method,
        threshold=choose_threshold(answerable, unanswerable, rate),
        auc=area,
        auc_interval=interval,
        false_refusals=_rate(refused, len(answerable)),
        wrong_answers=_rate(wrong, len(unanswerable)),
        threshold_now=now,
        false_refusals_now=_rate(refused_now, len(answerable)),
        wrong_answers_now=_rate(wrong_now, len(unanswerable)),
        evidence=evidence,
    )


def _without(values: Sequence[float], places: Iterable[int]) -> list[float]:
    left_out = set(places)
    return [value for place, value in enumerate(values) if place not in left_out]


def _rate(count: int, n: int) -> Rate:
    return Rate(count / n, n, share_interval(count, n))


def choose_threshold(
    answerable: Sequence[float], unanswerable: Sequence[float], rate: float
) -> float:
    """The threshold, in thousandths, below which evidence is refused.

    No more than ``rate`` of the answerable questions lie below it. Of all thresholds that refuse
    as many unanswerable ones it is the middle, so that neither side is cut close.

    >>> choose_threshold([0.5, 0.6, 0.7, 0.8], [0.1, 0.3], 0.0)
    0.4
    """
    ordered = sorted(answerable)
    highest = ordered[min(int(rate * len(ordered) + 1e-9), len(ordered) - 1)]
    below = max([value for value in [*unanswerable, 0.0] if value < highest], default=0.0)
    middle = math.ceil(500 * (below + highest)) / 1000
    return middle if below < middle <= highest else math.floor(1000 * highest) / 1000


def area_under_curve(
    answerable: Sequence[float], unanswerable: Sequence[float], seed: int = SEED
) -> tuple[float, Interval]:
    """Area under the ROC curve (Mann and Whitney's U over the number of pairs, ties half) with its
    95 % bootstrap interval, both kinds of questions resampled.

    >>> area_under_curve([0.9, 0.8], [0.1, 0.8])[0]
    0.875
    """
    one, other = np.asarray(answerable)[:, None], np.asarray(unanswerable)[None, :]
    wins = (one > other) + 0.5 * (one == other)
    generator = np.random.default_rng(seed)
    n, m = wins.shape
    rows = generator.multinomial(n, [1 / n] * n, _RESAMPLES) / n
    columns = generator.multinomial(m, [1 / m] * m, _RESAMPLES) / m
    areas = np.einsum("ri,ri->r", rows @ wins, columns)
    low, high = np.quantile(areas, (0.025, 0.975))
    return float(wins.mean()), Interval(float(low), float(high))
