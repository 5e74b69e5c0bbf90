"""How sure a measured number is: bootstrap intervals, and the sign-flip test of paired differences.

The questions of a file are a sample of the questions that could be asked. Resampling them with
replacement shows how far a mean moves by that choice alone (Efron and Tibshirani, *An
Introduction to the Bootstrap*, 1993, chapters 13 and 16; for retrieval Sakai, *Evaluating
evaluation metrics based on the bootstrap*, SIGIR 2006). Of a handful of questions it shows too
little: one question resampled is always itself. Whether a difference may be chance is therefore
told by Fisher's randomisation test (Smucker, Allan and Carterette, *A comparison of statistical
significance tests for information retrieval evaluation*, CIKM 2007), and of fewer than
:data:`LEAST_PAIRS` questions nothing is told. The seed is fixed and every method gets the same
resamples, so equal values give equal intervals and differences are paired.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SEED = 42
RESAMPLES = 2000
LEVEL = 0.95
SURE = 0.05
LEAST_PAIRS = 10
"""Questions from which a difference is called real."""

# Means are computed in blocks of so many resampled values, to bound memory.
_BLOCK = 2_000_000
# Up to so many differences every choice of signs is looked at: 4,096 of them.
_ALL_SIGNS = 12
# Sums closer than this to the observed one are equal to it but for rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Interval:
    """The middle 95 % of what resampling gives."""

    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """Mean of the paired differences ``b - a`` over ``n`` questions, with its 95 % interval.

    ``p`` is the two-sided p-value of the sign-flip test: how often a mean as far from 0 comes about
    when the sign of every difference is chance.
    """

    mean: float
    low: float
    high: float
    p: float
    n: int

    @property
    def is_enough(self) -> bool:
        """Whether there are questions enough to tell a difference from chance."""
        return self.n >= LEAST_PAIRS

    @property
    def is_real(self) -> bool:
        """Whether there are questions enough, zero lies outside the interval, and chance seldom
        does as much."""
        return self.is_enough and (self.low > 0 or self.high < 0) and self.p < SURE


def mean_interval(values: Sequence[float], seed: int = SEED) -> Interval:
    """The 95 % percentile interval of the mean. Raises ValueError without values.

    >>> mean_interval([1.0, 1.0, 1.0])
    Interval(low=1.0, high=1.0)
    """
    means = _resampled_means(np.asarray(values, np.float64), seed)
    low, high = np.quantile(means, _TAILS)
    return Interval(float(low), float(high))


def paired_difference(
    before: Sequence[float], after: Sequence[float], seed: int = SEED
) -> Difference:
    """Mean of ``after - before``, question by question. Raises ValueError when the lists are empty
    or differ in length.

    >>> found = paired_difference([0.0] * 30, [1.0] * 29 + [0.0])
    >>> round(found.mean, 3), found.is_real, found.p < 0.01
    (0.967, True, True)
    >>> paired_difference([0.0], [1.0]).p
    1.0
    """
    if len(before) != len(after):
        raise ValueError(f"{len(before)} values against {len(after)}: pair them by question")
    differences = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    means = _resampled_means(differences, seed)
    observed = math.fsum(differences) / len(differences)
    low, high = np.quantile(means, _TAILS)
    return Difference(
        mean=observed,
        low=float(low),
        high=float(high),
        p=_sign_flip_p(differences, seed),
        n=len(differences),
    )


def _sign_flip_p(differences: NDArray[np.float64], seed: int) -> float:
    """The share of sign choices whose mean is at least as far from 0 as the observed one.

    Exact for few differences; for more, of :data:`RESAMPLES` random choices and the observed one,
    so that it is never 0.
    """
    moved = differences[np.abs(differences) > _ROUNDING]
    least = abs(math.fsum(moved)) - _ROUNDING
    if len(moved) <= _ALL_SIGNS:
        choices = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        return float(np.mean(np.abs((2 * choices - 1) @ moved) >= least))
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(moved))
    beyond = 0
    for start in range(0, RESAMPLES, rows):
        size = (min(rows, RESAMPLES - start), len(moved))
        signs = generator.choice((-1.0, 1.0), size)
        beyond += int(np.sum(np.abs(signs @ moved) >= least))
    return (beyond + 1) / (RESAMPLES + 1)


_TAILS = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)


def share_interval(successes: int, n: int) -> Interval:
    """The 95 % score interval of a share (Wilson 1927), which also holds near 0 and 1, where the
    bootstrap of a handful of questions gives no width at all. ``n`` 0 says nothing: 0 to 1.

    >>> found = share_interval(0, 10)
    >>> found.low, round(found.high, 3)
    (0.0, 0.278)
    """
    if n == 0:
        return Interval(0.0, 1.0)
    z = 1.959963984540054
    share = successes / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return Interval(low, high)


def _resampled_means(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    if not len(values):
        raise ValueError("nothing to resample")
    generator = np.random.default_rng(seed)
    rows = max(1, _BLOCK // len(values))
    blocks = []
    for start in range(0, RESAMPLES, rows):
        size = (min(rows, RESAMPLES - start), len(values))
        blocks.append(values[generator.integers(0, len(values), size)].mean(axis=1))
    return np.concatenate(blocks)


def folds(n: int, parts: int, seed: int = SEED) -> list[list[int]]:
    """``n`` places dealt at random into ``parts`` groups of nearly equal size, each sorted.

    >>> [len(part) for part in folds(11, 5)]
    [3, 2, 2, 2, 2]
    """
    order = np.random.default_rng(seed).permutation(n).tolist()
    return [sorted(order[part::parts]) for part in range(parts)]
