"""Intervals have their nominal coverage, and equal SciPy's."""

import numpy as np
import pytest
from scipy import stats

from engine.evaluation.measures import f1_of_sums
from engine.results import intervals
from engine.results.classes import f1_interval
from engine.results.intervals import UNKNOWN, bootstrap, mean_interval, percentiles, wilson
from tests.engine.results.rows import bootstrap_rows

SEED_TOLERANCE = 0.01  # tolerance between two bootstraps of the same rows


def test_the_interval_of_a_proportion_equals_that_of_scipy():
    for successes, trials in [(0, 1), (1, 1), (3, 7), (0, 50), (50, 50), (690, 1000)]:
        theirs = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
        result = wilson(successes, trials)
        assert result.value == successes / trials
        np.testing.assert_allclose([result.low, result.high], [theirs.low, theirs.high], atol=1e-12)


def test_an_empty_sample_has_no_interval():
    empty = (wilson(0, 0), mean_interval(np.array([])), bootstrap_rows(0, lambda _: 1.0),
               bootstrap(np.zeros((0, 3)), f1_of_sums), f1_interval(0, 0, 0, 9))  # fmt: skip
    for item in empty:
        assert np.isnan(item).all()
    assert np.isnan(UNKNOWN).all()
    assert np.isnan(percentiles(1.0, np.array([np.nan]))[1:]).all()


def test_a_bootstrap_of_counts_equals_one_of_rows():
    rng = np.random.default_rng(1)
    gold, predicted = rng.random(400) < 0.4, rng.random(400) < 0.5
    parts = np.column_stack([gold & predicted, predicted, gold])
    counted = bootstrap(parts, f1_of_sums)
    by_rows = bootstrap_rows(400, lambda rows: float(f1_of_sums(parts[rows].sum(axis=0)[None])[0]))
    assert counted.value == by_rows.value
    np.testing.assert_allclose(counted, by_rows, atol=SEED_TOLERANCE)
    assert counted == bootstrap(parts, f1_of_sums), "the same seed gives the same interval"
    assert counted != bootstrap(parts, f1_of_sums, seed=1)


def test_the_jackknife_agrees_with_the_bootstrap(monkeypatch):
    rng = np.random.default_rng(3)
    values = rng.random(5_000)
    parts = np.column_stack([values, np.ones_like(values), values < 0.5])
    mean, ratio = mean_interval(values), bootstrap(parts, _ratio)
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", batch=50, n_resamples=500, rng=rng
    ).confidence_interval
    np.testing.assert_allclose([mean.low, mean.high], [theirs.low, theirs.high], atol=1.5e-3)
    monkeypatch.setattr(intervals, "MAX_DISTINCT", 100)
    np.testing.assert_allclose(mean_interval(values), mean, atol=2e-3)
    np.testing.assert_allclose(bootstrap(parts, _ratio), ratio, atol=6e-3)
    twice = np.repeat(values[:200], 25)
    np.testing.assert_allclose(mean_interval(twice), mean_interval(twice, seed=1), atol=3e-3)


def _ratio(sums: np.ndarray) -> np.ndarray:
    return sums[:, 2] / sums[:, 0]


def test_one_value_has_no_spread():
    assert mean_interval(np.array([0.5, np.nan])) == (0.5, 0.5, 0.5)


@pytest.mark.long
def test_the_interval_of_f1_covers_the_true_value():
    rng = np.random.default_rng(6)
    true = 2 * 0.3 / (0.45 + 0.4)  # with fractions of right 0.3, predicted 0.45 and gold 0.4
    covered = 0
    for number in range(300):
        tp, fp, fn, _ = rng.multinomial(200, [0.3, 0.15, 0.1, 0.45])
        result = f1_interval(tp, tp + fp, tp + fn, 200, seed=number)
        covered += result.low <= true <= result.high
    assert 0.91 <= covered / 300 <= 0.98
