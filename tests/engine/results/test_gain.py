"""The gain of more labelled rows: power laws that are known, and real curves of a light model."""

import numpy as np
import pytest
from scipy.optimize import curve_fit

from engine.results.gain import (
    LearningCurve,
    estimate_gain,
    fit_power_law,
    learning_curve,
)
from engine.results.light_model import LightModel

SIZES = np.array([20.0, 40, 80, 160, 320])


def test_power_laws_are_found_and_equal_scipys():
    laws = np.array([[0.1, 2.0, 0.5], [0.0, 1.0, 0.3], [0.2, 0.0, 1.0]])
    errors = np.array([a + b * SIZES**-c for a, b, c in laws])
    a, b, c = fit_power_law(SIZES, errors)
    found = a[:, None] + b[:, None] * np.array([400.0, 1000.0]) ** -c[:, None]
    true = np.array([a + b * np.array([400.0, 1000.0]) ** -c for a, b, c in laws])
    assert found == pytest.approx(true, abs=2e-3)
    noisy = errors[0] + np.random.default_rng(1).normal(0, 0.004, len(SIZES))
    bounds = ([0, 0, 0.1], [1, 10, 2])
    (a0, b0, c0), _ = curve_fit(
        lambda m, a, b, c: a + b * m**-c, SIZES, noisy, (0.1, 1, 0.5), bounds=bounds
    )
    a, b, c = fit_power_law(SIZES, noisy[None])
    assert a + b * 600**-c == pytest.approx(a0 + b0 * 600**-c0, abs=2e-3)


def test_gains_have_intervals_and_a_label():
    rng = np.random.default_rng(0)
    targets = np.eye(3, dtype=bool)[rng.integers(0, 3, 400)]
    probability = np.where(targets[:, 2:], 0.2 + 3 * SIZES**-0.5, 0.1)  # the third one gains
    errors = (rng.random((400, 1)) < probability).astype(float)
    found = estimate_gain(LearningCurve(SIZES, errors, 0.0), 200, targets, ["a", "b", "c"])
    true = 400**-0.5 - 600**-0.5
    assert found.gain.low < true < found.gain.high and found.label == "c"
    assert found.gain.value == pytest.approx(true, abs=0.01) and not found.hardly_pays
    wide = estimate_gain(LearningCurve(SIZES, errors, 0.01**2), 200, targets, ["a", "b", "c"])
    assert wide.gain.high - wide.gain.low > found.gain.high - found.gain.low
    flat = (rng.random((400, 1)) < 0.1).repeat(len(SIZES), axis=1).astype(float)
    found = estimate_gain(LearningCurve(SIZES, flat, 0.0), 200, targets, ["a", "b", "c"])
    assert (
        found.hardly_pays and found.label == "" and found.accuracy == pytest.approx(0.9, abs=0.05)
    )


@pytest.mark.parametrize("any_number", [False, True])
def test_a_curve_counts_errors_on_rows_not_learned(any_number):
    rng = np.random.default_rng(2)
    classes = rng.integers(0, 2, 60)
    targets = np.eye(2, dtype=bool)[classes]
    if any_number:
        targets[::7] = True
    features = (np.eye(2)[classes] + rng.normal(0, 0.7, (60, 2))).astype(np.float32)
    texts = [f"{'good' if n else 'bad'} {place}" for place, n in enumerate(classes)]
    model, done = LightModel(texts, features, targets), list[tuple[int, int]]()
    rows = np.arange(60)
    curve = learning_curve(model, rows, targets, any_number, lambda d, t: done.append((d, t)))
    assert curve.sizes.tolist() == [12, 19, 29, 38, 48] and done[-1] == (50, 50)
    assert curve.errors.shape == (60, 5) and {*curve.errors.ravel()} <= {0.0, 0.5, 1.0}
    assert curve.errors[:, -1].mean() < (0.35 if any_number else 0.1) and curve.noise >= 0
