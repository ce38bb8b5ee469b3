"""Regression metrics equal those of scipy and scikit-learn."""

import json
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from sklearn import metrics

from engine.evaluation.regression import ranks, report
from tests.often import tries

number = st.integers(-400, 400).map(lambda n: n / 8)
pairs = st.lists(st.tuples(number, number), min_size=2, max_size=60)


@given(pairs)
@tries(100)
def test_metrics_equal_those_of_scipy(rows):
    predicted, true = np.array(rows).T
    assume(len(set(predicted)) > 1 and len(set(true)) > 1)
    result = report(predicted, true)
    assert result.examples == len(rows)
    assert result.pearson == pytest.approx(stats.pearsonr(predicted, true).statistic, abs=1e-12)
    assert result.spearman == pytest.approx(stats.spearmanr(predicted, true).statistic, abs=1e-12)
    assert result.mean_squared_error == pytest.approx(metrics.mean_squared_error(true, predicted))
    assert result.mean_absolute_error == pytest.approx(metrics.mean_absolute_error(true, predicted))


@given(st.lists(number, max_size=60))
@tries(100)
def test_equal_numbers_share_their_mean_rank(numbers):
    assert np.array_equal(ranks(np.array(numbers)), stats.rankdata(numbers))


@given(
    st.lists(
        st.tuples(
            st.floats(allow_nan=False, allow_infinity=False),
            st.floats(allow_nan=False, allow_infinity=False),
        )
    )
)
@tries(200)
def test_correlations_of_finite_numbers_are_finite(rows):
    predicted, true = np.array(rows).reshape(-1, 2).T
    result = report(predicted, true)
    assert -1 <= result.pearson <= 1 and -1 <= result.spearman <= 1
    assert not math.isnan(result.mean_squared_error) and not math.isnan(result.mean_absolute_error)
    json.dumps(result.to_json(), allow_nan=False)


def test_a_straight_line_has_correlation_one_at_any_scale():
    for scale in [5e-324, 1e-300, 1.0, 1e300]:
        result = report(np.array([1, 2, 3, 5]) * scale, [10, 20, 30, 50])
        assert result.pearson == pytest.approx(1) and result.spearman == pytest.approx(1)


def test_constant_values_have_no_correlation():
    for predicted, true in [([], []), ([1], [2]), ([0.1] * 3, [1, 2, 3]), ([1, 2], [7, 7])]:
        result = report(predicted, true)
        assert (result.pearson, result.spearman) == (0, 0)
        assert result.mean_absolute_error == pytest.approx(
            np.abs(np.subtract(predicted, true)).sum() / max(len(true), 1)
        )


def test_non_finite_metrics_are_null_in_json():
    for bad in (math.nan, math.inf):
        result = report([[bad], [1.0]], [1.0, 2.0])
        stored = json.loads(json.dumps(result.to_json(), allow_nan=False))
        assert stored == {
            "examples": 2,
            "pearson": None,
            "spearman": None,
            "mean_squared_error": None,
            "mean_absolute_error": None,
        }


def test_each_example_needs_a_prediction():
    with pytest.raises(ValueError, match="1 predictions for 2"):
        report([1.0], [1.0, 2.0])
