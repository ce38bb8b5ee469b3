"""Significance tests equal SciPy's."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.results import significance
from tests.often import tries

small = st.floats(-5, 5).map(lambda number: round(number, 2))


def test_tails_of_t_equal_those_of_scipy():
    for freedom in [1, 1.5, 2, 3.5, 10, 30, 300, 1e4, 1e6]:
        t = np.array([-30, -2, -0.1, 0, 0.1, 0.5, 1, 2, 4, 8, 20])
        np.testing.assert_allclose(
            significance.t_tail(t, freedom), stats.t.sf(t, freedom), rtol=1e-4, atol=1e-14
        )
        within = np.abs(t) <= 4
        np.testing.assert_allclose(
            significance.t_tail(t, freedom)[within], stats.t.sf(t, freedom)[within], rtol=1e-6
        )
        assert significance.t_critical(freedom) == pytest.approx(
            stats.t.ppf(0.975, freedom), rel=1e-5
        )


@tries(40)
@given(
    st.lists(small, min_size=2, max_size=12, unique=True),
    st.lists(small, min_size=2, max_size=12, unique=True),
)
def test_welchs_test_equals_that_of_scipy(a, b):
    expected = stats.ttest_ind(b, a, equal_var=False)
    result = significance.compare_over_seeds(a, b, paired=False)
    assert result.p == pytest.approx(expected.pvalue, rel=1e-4, abs=1e-12)
    low, high = expected.confidence_interval(0.95)
    np.testing.assert_allclose([result.low, result.high], [low, high], rtol=1e-4, atol=1e-6)


def moments(values: np.ndarray) -> list[np.ndarray]:
    return [np.array([float(item)]) for item in (len(values), values.sum(), (values**2).sum())]


def test_the_permutation_test_equals_that_of_scipy():
    for seed in (0, 1, 3):
        rng = np.random.default_rng(seed)
        values = np.round(rng.beta(0.5, 0.5, 300), 1)  # most near 0 and 1, many ties
        inside, outside = values[:40] - 0.08 * seed, values[40:]
        theirs = stats.permutation_test(
            (inside, outside),
            lambda a, b, axis: a.mean(axis=axis) - b.mean(axis=axis),
            alternative="less",
            n_resamples=2_500,
            rng=rng,
        )
        ours = significance.permutation_tail(moments(inside), moments(outside))[0]
        assert ours == pytest.approx(theirs.pvalue, abs=0.02)


def test_few_equal_rows_are_not_significant():
    rng = np.random.default_rng(1)
    outside = (rng.random(500) < 0.5).astype(float)
    few = significance.permutation_tail(moments(np.zeros(3)), moments(outside))[0]
    exact = significance.hypergeometric_tail([0], [3], int(outside.sum()), 503)[0]
    assert few == pytest.approx(exact, abs=0.1) and few > 0.01
    assert significance.permutation_tail(moments(np.ones(3)), moments(np.ones(9)))[0] == 1


def test_runs_with_the_same_seeds_are_compared_in_pairs():
    a, b = [0.70, 0.72, 0.69, 0.75], [0.72, 0.73, 0.70, 0.77]
    theirs = stats.ttest_rel(b, a)
    result = significance.compare_over_seeds(a, b, paired=True)
    assert result.p == pytest.approx(theirs.pvalue, rel=1e-6)
    low, high = theirs.confidence_interval(0.95)
    np.testing.assert_allclose(
        [result.value, result.low, result.high], [0.015, low, high], rtol=1e-5
    )
    assert significance.compare_over_seeds([0.5, 0.5], [0.5, 0.5], paired=True).p == 1
    assert significance.compare_over_seeds([0.5, 0.5], [0.75, 0.75], paired=False) == (
        0.25,
        0.25,
        0.25,
        0,
    )
    assert math.isnan(significance.compare_over_seeds([0.5], [0.75], paired=True).p)
    assert math.isnan(significance.compare_over_seeds([], [0.75], paired=False).value)


@tries(100)
@given(st.data(), st.integers(1, 3000))
def test_the_exact_test_of_a_slice_equals_that_of_scipy(data, rows):
    hits = data.draw(st.integers(0, rows))
    drawn = data.draw(st.integers(0, rows))
    low, high = max(0, drawn + hits - rows), min(drawn, hits)
    result = data.draw(st.integers(low, high))
    ours = significance.hypergeometric_tail([result], [drawn], hits, rows)[0]
    theirs = stats.hypergeom.cdf(result, rows, hits, drawn)
    assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-14)


def test_mcnemars_test_is_exact():
    for fixed, broken in [(0, 0), (1, 0), (3, 10), (10, 3), (7, 7), (400, 520)]:
        theirs = stats.binomtest(fixed, fixed + broken).pvalue if fixed + broken else 1
        assert significance.mcnemar(fixed, broken) == pytest.approx(theirs, rel=1e-9)


@tries(50)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_correction_for_many_tests_equals_that_of_scipy(p):
    np.testing.assert_allclose(significance.benjamini_hochberg(p), stats.false_discovery_control(p))


def test_no_tests_need_no_correction():
    assert not len(significance.benjamini_hochberg([]))
    assert not len(significance.hypergeometric_tail([], [], 3, 9))
