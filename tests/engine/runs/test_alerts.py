"""Anomalies on curves are found, and only those."""

import numpy as np
import pytest

from engine.runs.alerts import explosions, no_improvement, spikes

STEPS = np.arange(1.0, 401.0)


def falling(seed: int = 1) -> np.ndarray:
    noise = np.random.default_rng(seed).normal(0, 0.03, len(STEPS))
    return np.asarray(2 * np.exp(-STEPS / 150) + 0.3 + noise)


@pytest.mark.parametrize("seed", range(20))
def test_a_noisy_training_causes_no_alert(seed):
    noise = np.random.default_rng(seed).lognormal(0, 0.25, len(STEPS))
    assert spikes(STEPS, falling(seed)) == []
    assert explosions(STEPS, noise) == []


def test_a_spike_is_reported_once_with_its_step():
    losses = falling()
    losses[200:203] = (2.9, 2.4, 1.6)
    losses[320] = np.nan
    (alert,) = spikes(STEPS, losses)
    assert (alert.kind, alert.step) == ("spike", 201)
    assert str(alert.text).startswith("Loss spike at step 201: ")
    assert spikes(STEPS[:15], np.array([1.0] * 14 + [99.0])) == []  # too early to say


def test_an_exploding_gradient_is_reported():
    norms = np.random.default_rng(2).lognormal(0, 0.2, len(STEPS))
    norms[100] = 40.0
    (alert,) = explosions(STEPS, norms)
    assert alert.step == 101 and "× the running median at step 101" in str(alert.text)


def test_no_improvement_is_reported_at_the_best_evaluation():
    scores = np.array([0.5, 0.7, 0.8, 0.79, 0.78, 0.8, 0.77, np.nan, 0.76])
    steps = np.arange(10.0, 100.0, 10.0)
    (alert,) = no_improvement(steps, scores, best_step=30)
    assert (alert.kind, alert.step) == ("no improvement", 30) and "(5 so far)" in alert.text
    assert no_improvement(steps, scores, best_step=60) == [], "equal, with a lower loss"
    assert no_improvement(steps[:6], scores[:6], 30) == []
    assert no_improvement(steps[:0], scores[:0], 0) == []


def test_few_of_a_hundred_thousand_losses_are_examined(monkeypatch):
    steps = np.arange(100_000.0)
    losses = 1 + np.random.default_rng(3).normal(0, 0.05, len(steps))
    losses[70_000] = 4.0
    medians = []
    median = np.median
    monkeypatch.setattr(np, "median", lambda values: medians.append(0) or median(values))
    (alert,) = spikes(steps, losses)
    assert alert.step == 70_000
    assert 0 < len(medians) < 100
