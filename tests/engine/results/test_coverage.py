"""Coverage of the 95 % interval of each metric, in simulations with a known true value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

from engine.config.tasks import TASKS, get_metric
from engine.results.comparing import compare_seeds
from engine.results.curves import label_curve
from engine.results.fitting import best_threshold
from engine.results.intervals import Interval
from engine.results.measures import difference, interval, measures
from engine.results.predictions import Predictions
from engine.results.significance import seeds_interval
from tests.engine.results.rows import answer_rows, class_rows, label_rows, new_info, tag_rows

LABELS = ("a", "b", "c")
JOINT = np.array([[0.4, 0.05, 0.05], [0.05, 0.2, 0.05], [0.02, 0.03, 0.15]])  # gold over predicted
ROWS = 200
CORRELATION = 0.7  # correlation of two normal numbers


def classes(rng: np.random.Generator) -> Predictions:
    gold, predicted = np.divmod(rng.choice(9, ROWS, p=JOINT.ravel()), 3)
    record = {
        "row": range(ROWS),
        "gold": np.array(LABELS)[gold],
        "predicted": np.array(LABELS)[predicted],
        "score": gold == predicted,
    }
    return Predictions.from_columns(
        new_info("text_classification", LABELS), record, {"text": ["x"] * ROWS}
    )


def regression(rng: np.random.Generator) -> Predictions:
    pairs = rng.multivariate_normal([0, 0], [[1, CORRELATION], [CORRELATION, 1]], ROWS)
    record = {
        "row": range(ROWS),
        "gold": [repr(float(pair)) for pair in pairs[:, 0]],
        "predicted": [repr(float(pair)) for pair in pairs[:, 1]],
        "scores": pairs[:, 1:].astype(np.float32).tolist(),
    }
    return Predictions.from_columns(new_info("regression"), record, {"text": ["x"] * ROWS})


def entities(rng: np.random.Generator) -> Predictions:
    """Six words in a row, each alone a span or none, of which the model finds 80 %."""
    gold = rng.random((ROWS, 6)) < 0.2
    predicted = np.where(gold, rng.random((ROWS, 6)) < 0.8, rng.random((ROWS, 6)) < 0.05)
    sides = (
        [" ".join("B-x" if item else "O" for item in row) for row in side]
        for side in (gold, predicted)
    )
    return tag_rows([("a b c d e f", *pair) for pair in zip(*sides, strict=True)])


def label_sets(rng: np.random.Generator) -> Predictions:
    """Three labels, each on or off, of which the model finds 80 %."""
    gold = rng.random((ROWS, 3)) < 0.3
    predicted = np.where(gold, rng.random((ROWS, 3)) < 0.8, rng.random((ROWS, 3)) < 0.1)
    sides = (
        [[name for name, on in zip(LABELS, row, strict=True) if on] for row in side]
        for side in (gold, predicted)
    )
    return label_rows(*sides, LABELS)


def answers(rng: np.random.Generator) -> Predictions:
    """Answers that are right, or have one word too many (F1 of 2/3), or share no word."""
    predicted = rng.choice(["dog", "red dog", "cat"], ROWS, p=[0.6, 0.2, 0.2])
    return answer_rows([(str(item), ["dog"], 0.0) for item in predicted])


def metric(name: str, draw_rows: Callable[[Any], Predictions]) -> Callable[[Any], Interval]:
    def draw(rng: np.random.Generator) -> Interval:
        chosen = next(measure for measure in measures(draw_rows(rng)) if measure.name == name)
        return interval(chosen, seed=int(rng.integers(1 << 30)))

    return draw


def accuracy_difference(rng: np.random.Generator) -> Interval:
    """Accuracy of a model minus that of a weaker one on the same rows."""
    first, second = classes(rng), classes(rng)
    better = measures(first)[0]
    right = np.where(rng.random(ROWS) < 0.8, first.numbers("score"), 0)
    table = second.table.set_column(
        second.table.column_names.index("score"), second.table.schema.field("score"), [right]
    )
    return difference(measures(Predictions(second.info, table))[0], better)


def seeds(rng: np.random.Generator) -> Interval:
    return seeds_interval(rng.normal(0.8, 0.02, 4).tolist())


F1 = 2 * np.diag(JOINT) / (JOINT.sum(axis=0) + JOINT.sum(axis=1))
CASES: dict[str, tuple[Callable[[Any], Interval], float]] = {
    "accuracy": (metric("accuracy", classes), float(np.trace(JOINT))),
    "macro F1": (metric("f1_macro", classes), float(F1.mean())),
    "Pearson": (metric("pearson", regression), CORRELATION),
    "Spearman": (metric("spearman", regression), 6 / np.pi * np.arcsin(CORRELATION / 2)),
    "mean absolute error": (
        metric("mean_absolute_error", regression),
        float(np.sqrt(2 * (1 - CORRELATION)) * np.sqrt(2 / np.pi)),
    ),
    "F1 of spans": (metric("f1", entities), 2 * 0.16 / (0.2 + 0.16 + 0.04)),
    "micro F1": (metric("f1_micro", label_sets), 2 * 0.24 / (0.3 + 0.24 + 0.07)),
    "F1 of answers": (metric("f1", answers), 0.6 + 0.2 * 2 / 3),
    "difference of accuracies": (accuracy_difference, float(np.trace(JOINT)) * 0.2),
    "mean over four seeds": (seeds, 0.8),
}


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rows", [ROWS, 50])
@pytest.mark.parametrize("name", CASES)
def test_the_interval_covers_the_true_metric(name, rows, monkeypatch):
    monkeypatch.setitem(globals(), "ROWS", rows)
    draw, true = CASES[name]
    minimum = 0.925 if rows > 50 else 0.92
    # its bootstrap reuses the ranks of all rows, which makes it slightly too narrow
    if name == "Spearman":
        minimum -= 0.04
    rng = np.random.default_rng(11)
    intervals = [draw(rng) for _ in range(1_000)]
    coverage = float(np.mean([item.low <= true <= item.high for item in intervals]))
    assert minimum <= coverage < 0.98


@pytest.mark.long
@pytest.mark.parametrize("rows, low, high", [(50, 0.06, 0.09), (200, 0.025, 0.045)])
def test_a_threshold_has_too_high_an_f1_on_the_rows_it_was_chosen_on(rows, low, high):
    """Two normal distributions 1.5 apart, of which 30 % are positive: an AUC of 0.86."""
    rng = np.random.default_rng(5)

    def draw(count: int) -> tuple[Any, Any]:
        gold = rng.random(count) < 0.3
        return gold, 1 / (1 + np.exp(-1.5 * rng.normal(1.5 * gold - 0.75)))

    def f1(gold: Any, p: Any, threshold: float) -> float:
        predicted = p >= threshold
        return 2 * float((predicted & gold).sum() / (predicted.sum() + gold.sum()))

    others, excess = draw(100_000), []
    for _ in range(300):
        gold, p = draw(rows)
        names = np.where(gold, "b", "a").tolist()
        scores = np.stack([1 - p, p], axis=1)
        threshold = best_threshold(label_curve(class_rows(names, names, ("a", "b"), scores), "b"))
        assert threshold is not None
        excess.append(f1(gold, p, threshold) - f1(*others, threshold))
    assert low < np.mean(excess) < high


def test_the_interval_over_seeds_equals_that_of_scipy():
    values = [0.81, 0.79, 0.84]
    result = seeds_interval(values)
    theirs = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    np.testing.assert_allclose(result[1:], [theirs.low, theirs.high], rtol=1e-9)
    assert result.value == pytest.approx(np.mean(values))
    single = seeds_interval([0.5])
    assert single.value == 0.5 and np.isnan(single.low)


@pytest.mark.parametrize(
    "runs, mean, coverage", [(2, 0.9, 0.94), (3, 0.9, 0.95), (2, 0.98, 0.91), (5, 0.98, 0.88)]
)
def test_an_interval_over_seeds_of_a_fraction_stays_within_0_and_1(runs, mean, coverage):
    """Seeds differ by 2 points, and each is measured on 200 rows; the true mean is known."""
    rng, low, high = np.random.default_rng(9), *get_metric("accuracy").limits
    concentration = mean * (1 - mean) / 0.02**2 - 1
    true = rng.beta(mean * concentration, (1 - mean) * concentration, (1_000, runs))
    scores = rng.binomial(ROWS, true) / ROWS
    plain = [seeds_interval(row.tolist()) for row in scores]
    bounded = [seeds_interval(row.tolist(), (low, high)) for row in scores]
    assert max(item.high for item in plain) > 1 >= max(item.high for item in bounded)
    assert min(item.low for item in bounded) >= 0
    covered = [[i.low <= mean <= i.high for i in items] for items in (plain, bounded)]
    assert covered[0] == covered[1], "it covers the mean as often as without limits"
    assert np.mean(covered[1]) == pytest.approx(coverage, abs=0.01), "as in METHODS"


def test_no_metric_has_an_interval_beyond_its_limits():
    for task in TASKS.values():
        for metric in task.info.metrics:
            low, high = metric.limits
            assert (metric.unit == "share") <= ((low, high) == (0, 1)), metric.name
            near = [high - 0.01, high] if np.isfinite(high) else [low, low + 1]
            ends = seeds_interval(near, metric.limits)
            assert low <= ends.low <= ends.value <= ends.high <= high, metric.name
            claim = compare_seeds(metric.name, {1: near[0], 2: near[1]}, {1: low, 2: low + 0.01})[0]
            assert low - high <= claim.low <= claim.high <= high - low, metric.name


def test_the_interval_of_a_proportion_is_that_of_wilson():
    for right in [ROWS, 3, 0]:
        record = {"row": range(ROWS), "gold": ["a"] * ROWS, "predicted": ["a"] * ROWS}
        record |= {"score": [1] * right + [0] * (ROWS - right)}
        predictions = Predictions.from_columns(
            new_info("text_classification", LABELS), record, {"text": ["x"] * ROWS}
        )
        result = interval(measures(predictions)[0])
        theirs = stats.binomtest(right, ROWS).proportion_ci(0.95, method="wilson")
        np.testing.assert_allclose(result, [right / ROWS, theirs.low, theirs.high], atol=1e-12)
        assert result.high > result.low
