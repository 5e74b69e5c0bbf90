"""Bootstrap intervals and the sign-flip test, held against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from graphkb.evaluate.resample import folds, mean_interval, paired_difference, share_interval

VALUES = list(np.random.default_rng(7).beta(2, 1, 60))


def test_the_interval_of_a_mean_is_that_of_scipy():
    found = mean_interval(VALUES)
    wanted = stats.bootstrap(
        (VALUES,), np.mean, method="percentile", n_resamples=5000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert found.low == pytest.approx(wanted.low, abs=0.01)
    assert found.high == pytest.approx(wanted.high, abs=0.01)
    assert mean_interval(VALUES) == found, "the seed is fixed"


def test_pairing_finds_a_gain_that_single_intervals_hide():
    after = [min(1.0, value + 0.02) for value in VALUES]
    before, gained = mean_interval(VALUES), mean_interval(after)
    assert gained.low < before.high, "the single intervals overlap"
    found = paired_difference(VALUES, after)
    assert found.is_real
    assert found.p < 0.01


def test_no_difference_is_not_real():
    shuffled = VALUES[30:] + VALUES[:30]
    found = paired_difference(VALUES, shuffled)
    assert not found.is_real
    assert found.p > 0.05
    assert paired_difference(VALUES, VALUES).p == 1
    reverse = paired_difference(shuffled, VALUES)
    assert (reverse.low, reverse.high) == pytest.approx((-found.high, -found.low), abs=1e-9)


@pytest.mark.parametrize("n", [1, 3, 9])
def test_a_handful_of_questions_is_never_real(n: int):
    found = paired_difference([0.5 + place / 1000 for place in range(n)], [0.0] * n)
    assert found.p == pytest.approx(2 / 2**n)
    assert not found.is_enough
    assert not found.is_real
    assert paired_difference([0.5] * 10, [0.0] * 10).is_real


@pytest.mark.parametrize("n", [6, 11, 40])
def test_p_is_that_of_the_sign_flip_test(n: int):
    generator = np.random.default_rng(n)
    differences = generator.choice([0.0, 0.25, -0.25, 0.5], n)
    wanted = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=20_000, rng=generator
    ).pvalue
    found = paired_difference([0.0] * n, list(differences))
    assert found.p == pytest.approx(wanted, abs=0.02)


def test_lists_must_be_pairs_and_not_empty():
    with pytest.raises(ValueError, match="1 values against 2"):
        paired_difference([1], [1, 2])
    with pytest.raises(ValueError, match="nothing to resample"):
        mean_interval([])


def test_the_interval_of_a_share_is_wilsons():
    for count, n in ((0, 10), (3, 12), (10, 10)):
        wanted = stats.binomtest(count, n).proportion_ci(method="wilson")
        found = share_interval(count, n)
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-9)
    assert share_interval(0, 0).high == 1


def test_folds_hold_every_place_once():
    parts = folds(23, 5)
    assert sorted(place for part in parts for place in part) == list(range(23))
    assert parts == folds(23, 5)
    assert parts != folds(23, 5, seed=1)
