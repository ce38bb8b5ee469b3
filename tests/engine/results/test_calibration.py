"""Calibration equals that of scikit-learn, and temperatures those of SciPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, special
from sklearn import calibration

from engine.results.calibration import (
    MAX_TEMPERATURE,
    MIN_TEMPERATURE,
    bin_indices,
    ece,
    fit_temperature,
    probabilities_at,
    reliability,
    temperature,
    to_logits,
)
from engine.results.conditions import mask
from engine.results.predictions import Predictions
from tests.engine.results.rows import class_rows, label_rows
from tests.often import tries


def classes(count: int, rows: int, seed: int, factor: float = 2.0) -> Predictions:
    """Predictions that are overconfident by a factor of `factor`."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (rows, count))
    probabilities = special.softmax(logits, axis=1)
    gold = [str(rng.choice(count, p=row)) for row in probabilities]
    softmax = special.softmax(factor * logits, axis=1)
    names = [str(number) for number in range(count)]
    return class_rows(gold, [names[n] for n in softmax.argmax(axis=1)], names, softmax)


def multi_label_rows(rows: int, seed: int) -> Predictions:
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 1.5, (rows, 3))
    truth = rng.random((rows, 3)) < special.expit(logits)
    names = ["a", "b", "c"]
    gold, predicted = ([[n for n, has in zip(names, row, strict=True) if has] for row in table]
                    for table in (truth, logits > 0))  # fmt: skip
    return label_rows(gold, predicted, names, special.expit(2 * logits))


def test_a_reliability_diagram_equals_that_of_scikit_learn():
    predictions = classes(3, 500, 0)
    confidence, right = predictions.numbers("probability"), predictions.numbers("score") == 1
    result = reliability(predictions)
    true, mean = calibration.calibration_curve(right, confidence, n_bins=10)
    assert sum(entry.count for entry in result) == 500
    np.testing.assert_allclose([entry.confidence for entry in result], mean, rtol=1e-5)
    np.testing.assert_allclose([entry.accuracy.value for entry in result], true)
    for group in result:
        chosen = mask(predictions, group.conditions)
        assert chosen.sum() == group.count
        assert confidence[chosen].mean() == pytest.approx(group.confidence)
    expected = sum(
        abs((right[in_bin] - confidence[in_bin].astype(float)).sum())
        for low in range(10)
        if (in_bin := (confidence >= low / 10) & (confidence < (low + 1) / 10)).any()
    )
    assert ece(result) == pytest.approx(expected / 500)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_probability_next_to_a_limit_is_in_the_bin_of_the_diagram(dtype):
    limits = np.arange(1, 10) / 10
    p = np.concatenate([limits, np.nextafter(limits, 0), np.nextafter(limits, 1), [0, 1]])
    p = p.astype(dtype)
    assert bin_indices(p).tolist() == [sum(value >= limits.astype(dtype)) for value in p]


@tries(50)
@given(st.lists(st.sampled_from([0.0, 0.1, 0.5, 0.7, 1.0]), max_size=20))
def test_every_row_is_in_one_bin(probabilities):
    predictions = class_rows(["good"] * len(probabilities), ["good"] * len(probabilities),
                      probability=probabilities)  # fmt: skip
    result = reliability(predictions)
    assert sum(group.count for group in result) == len(probabilities)
    total = sum((mask(predictions, group.conditions).astype(int) for group in result),
                np.zeros(len(probabilities)))  # fmt: skip
    assert (total == 1).all()
    assert np.isnan(ece(result)) == (not probabilities)


def test_the_reliability_of_several_labels_counts_all_probabilities():
    result = reliability(multi_label_rows(200, 3))
    assert sum(group.count for group in result) == 600 and not result[0].conditions


@tries(20)
@given(
    st.integers(2, 5), st.integers(2, 60), st.integers(0, 1000), st.sampled_from([0.4, 1.0, 3.0])
)
def test_a_temperature_equals_that_of_a_reference_fit(count, rows, seed, factor):
    predictions = classes(count, rows, seed, factor)
    names = predictions.info.labels
    truth = np.array(
        [[gold == name for name in names] for gold in predictions.table["gold"].to_pylist()]
    )
    logits = to_logits(predictions.scores)

    def nll(log_temperature: float) -> float:
        return -special.log_softmax(logits / np.exp(log_temperature), axis=1)[truth].mean()

    theirs = optimize.minimize_scalar(
        nll,
        bounds=(np.log(MIN_TEMPERATURE), np.log(MAX_TEMPERATURE)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    fit = temperature(predictions)
    assert fit is not None
    assert nll(np.log(fit.value)) <= theirs.fun + 1e-9
    if not fit.is_at_limit:
        assert fit.value == pytest.approx(np.exp(theirs.x), rel=1e-4)


def test_a_multi_label_temperature_equals_that_of_a_reference_fit():
    predictions = multi_label_rows(400, 4)
    truth = np.array(
        [
            [label in row.split(", ") for label in "abc"]
            for row in predictions.table["gold"].to_pylist()
        ]
    )
    logits = to_logits(predictions.scores, multi_label=True)
    theirs = optimize.minimize_scalar(
        lambda t: np.logaddexp(0, np.where(truth, -1, 1) * logits / np.exp(t)).mean(),
        bounds=(np.log(MIN_TEMPERATURE), np.log(MAX_TEMPERATURE)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    fit = temperature(predictions)
    assert fit is not None and not fit.is_at_limit
    assert fit.value == pytest.approx(np.exp(theirs.x), rel=1e-5)
    assert fit.value == pytest.approx(2, abs=0.3)
    assert fit.nll_after < fit.nll_before and fit.ece_after < fit.ece_before


def test_probabilities_survive_conversion_to_logits():
    predictions, sets = classes(3, 50, 5), multi_label_rows(50, 6)
    for group, is_multi in ((predictions, False), (sets, True)):
        logits = to_logits(group.scores, is_multi)
        np.testing.assert_allclose(probabilities_at(logits, 1, is_multi), group.scores, atol=1e-6)


def test_rows_without_a_best_temperature():
    right = class_rows(["good"], ["good"], scores=[[0.2, 0.8]])
    fit = temperature(right)
    assert fit is not None and fit.is_at_limit and np.isnan(fit.nll_after)
    assert fit_temperature(np.log([[0.2, 0.8]]), np.array([[True, False]])) == pytest.approx(
        MAX_TEMPERATURE
    )
    for unlabelled in (class_rows([None], ["good"]), class_rows(["odd"], ["good"])):
        assert temperature(unlabelled) is None
    broken = class_rows(["good", "bad"], ["good", "good"], scores=[[0.4, 0.6], [np.nan, np.nan]])
    assert sum(group.count for group in reliability(broken)) == 1
