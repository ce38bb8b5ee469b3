"""Numbers and choices in pictures that select rows."""

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics

from engine.results.conditions import mask
from engine.results.numeric import by_margin, by_position, numbers, rectangle, residual_bins
from engine.results.row_figures import figure
from tests.engine.results import test_measures
from tests.engine.results.made import classified


def test_figures_of_numbers_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    gold = np.round(rng.normal(0, 2, 120), 3)
    predicted = (gold + rng.normal(0.3, 1, 120)).astype(np.float32)
    made = test_measures.numbers([*gold, None], [*predicted, 9.0])
    found = numbers(made)
    assert len(found.rows) == 120
    assert found.metrics["pearson"].value == pytest.approx(
        stats.pearsonr(gold, predicted).statistic
    )
    theirs = stats.spearmanr(gold, predicted).statistic
    assert found.metrics["spearman"].value == pytest.approx(theirs)
    assert found.rmse.value == pytest.approx(metrics.root_mean_squared_error(gold, predicted))
    assert found.rmse.low < found.rmse.value < found.rmse.high
    assert found.mean_residual == pytest.approx((predicted - gold).mean(), rel=1e-5)
    low, high = stats.pearsonr(gold, predicted).confidence_interval(0.95)
    np.testing.assert_allclose(found.metrics["pearson"][1:], [low, high], atol=0.03)
    bins = residual_bins(made, 7)
    assert sum(one.count for one in bins) == 120
    counts, _ = np.histogram(found.residuals, 7)
    assert [one.count for one in bins] == [count for count in counts if count]


def test_a_rectangle_selects_its_rows() -> None:
    made = test_measures.numbers([1, 2, 3], [3, 2, 1])
    assert mask(made, rectangle((0, 2.5), (1.5, 9))).tolist() == [True, True, False]
    assert mask(made, rectangle(None, (0, 2))).tolist() == [False, False, True]
    assert rectangle(None, None) == ()


def test_choices_are_grouped_by_position_and_margin() -> None:
    scores = [[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.2, 0.8]]
    made = classified(["0", "1", "1", "1"], ["0", "0", "0", "1"], ("0", "1"), scores)
    by = by_position(made)
    assert [(one.count, one.score.value) for one in by] == [(1, 1), (3, pytest.approx(1 / 3))]
    np.testing.assert_allclose(figure(made, "margin"), [0.8, 0.2, 0, 0.6], atol=1e-6)
    margins = by_margin(made, 2)
    assert [(one.count, one.score.value) for one in margins] == [(2, 0), (2, 1)]


def test_no_numbers_have_no_figures() -> None:
    found = numbers(test_measures.numbers([None], [1.0]))
    assert not len(found.rows) and np.isnan(found.mean_residual) and np.isnan(found.rmse).all()
    assert residual_bins(test_measures.numbers([None], [1.0])) == ()
