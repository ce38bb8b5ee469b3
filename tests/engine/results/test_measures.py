"""The metrics of a task, as sums over rows, equal those of its report."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from seqeval import metrics as seqeval
from sklearn import metrics

from engine.config.tasks import TASKS
from engine.evaluation.regression import report
from engine.evaluation.token_classification import report as tag_report
from engine.results.groups import by_width, groups
from engine.results.measures import difference, interval, measures
from engine.results.predictions import Predictions
from tests.engine.results.rows import (
    answer_rows,
    bootstrap_rows,
    class_rows,
    label_rows,
    new_info,
    tag_rows,
)
from tests.often import tries

LABELS = ("a", "b", "c")
number = st.floats(-1000, 1000).map(lambda x: round(x, 3))


def metric_values(predictions: Predictions) -> dict[str, float]:
    return {measure.name: interval(measure).value for measure in measures(predictions)}


def regressions(gold: Any, predicted: Any) -> Predictions:
    record = {
        "row": range(len(gold)),
        "gold": [None if item is None else repr(float(item)) for item in gold],
        "predicted": [f"{item:.2f}" for item in predicted],
        "scores": [[float(item)] for item in predicted],
    }
    return Predictions.from_columns(new_info("regression"), record, {"text": ["x"] * len(gold)})


@tries(50)
@given(
    st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=25)
)
def test_metrics_of_classes(rows):
    gold, predicted = (list(side) for side in zip(*rows, strict=True))
    assert metric_values(class_rows(gold, predicted, LABELS)) == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(gold, predicted),
            "f1_macro": metrics.f1_score(gold, predicted, average="macro"),
        }
    )


@tries(50)
@given(
    st.lists(
        st.tuples(*(st.frozensets(st.sampled_from(LABELS)) for _ in range(2))),
        min_size=1,
        max_size=20,
    )
)
def test_metrics_of_several_labels(rows):
    gold, predicted = ([sorted(item) for item in side] for side in zip(*rows, strict=True))
    truth, guess = (
        np.array([[label in row for label in LABELS] for row in side]) for side in (gold, predicted)
    )
    assert metric_values(label_rows(gold, predicted, LABELS)) == pytest.approx(
        {
            "f1_micro": metrics.f1_score(truth, guess, average="micro", zero_division=0),
            "f1_macro": metrics.f1_score(truth, guess, average="macro", zero_division=0),
            "exact_match": metrics.accuracy_score(truth, guess),
        }
    )


@tries(60)
@given(st.lists(st.tuples(number, number), min_size=1, max_size=20))
def test_metrics_of_numbers(rows):
    gold, predicted = (list(side) for side in zip(*rows, strict=True))
    predicted = [float(np.float32(item)) for item in predicted]
    theirs = report(predicted, gold)
    assert metric_values(regressions(gold, predicted)) == pytest.approx(
        {
            "pearson": theirs.pearson,
            "spearman": theirs.spearman,
            "mean_absolute_error": theirs.mean_absolute_error,
        },
        abs=1e-5,
    )


def test_correlations_have_the_intervals_of_scipy():
    rng = np.random.default_rng(0)
    gold = np.round(rng.normal(0, 2, 120), 3)
    predicted = (gold + rng.normal(0.3, 1, 120)).astype(np.float32)
    predictions = regressions([*gold, None], [*predicted, 9.0])
    ours = {measure.name: interval(measure) for measure in measures(predictions)}
    theirs = stats.pearsonr(gold, predicted)
    assert ours["pearson"].value == pytest.approx(theirs.statistic)
    np.testing.assert_allclose(ours["pearson"][1:], theirs.confidence_interval(0.95), atol=0.03)
    assert ours["spearman"].value == pytest.approx(stats.spearmanr(gold, predicted).statistic)
    counts, _ = np.histogram(predicted - gold, 7)
    bins = groups(predictions, by_width(predictions, "residual", 7))
    assert [item.count for item in bins] == [count for count in counts if count]


def test_large_numbers_keep_their_correlation():
    rng = np.random.default_rng(0)
    gold = np.round(1e5 + rng.normal(0, 1, 50), 3)
    predicted = (gold + rng.normal(0, 1, 50)).astype(np.float32)
    ours = metric_values(regressions([*gold, None], [*predicted, 7.0]))["pearson"]
    assert ours == pytest.approx(stats.pearsonr(gold, predicted).statistic, abs=1e-6)


def test_metrics_of_tags():
    rows = [("a b c", "B-x I-x O", "B-x O O"), ("a", "B-y", "B-y"), ("a b", "O O", "B-x O")]
    predictions = tag_rows(rows)
    sides = [[row[side].split() for row in rows] for side in (1, 2)]
    theirs = tag_report(*sides)
    assert theirs.f1_macro == seqeval.f1_score(*sides, average="macro", zero_division=0)
    assert metric_values(predictions) == pytest.approx(
        {"f1": theirs.f1, "f1_macro": theirs.f1_macro, "accuracy": theirs.accuracy}
    )
    words = tag_rows([("a b", "DET NOUN", "DET VERB")])
    assert metric_values(words) == pytest.approx({"accuracy": 0.5, "f1_macro": 1 / 3})


def test_metrics_of_answers():
    predictions = answer_rows(
        [("the cat", ["cat"], 0.1), ("dog", ["a big dog"], 0.2), ("", [], 0.9)], 1
    )
    assert metric_values(predictions) == pytest.approx(
        {"f1": (1 + 2 / 3 + 1) / 3, "exact_match": 2 / 3}
    )


def test_the_first_metric_is_the_main_one_of_the_task():
    result = {
        "text_classification": class_rows(["good"], ["good"]),
        "multi_label": label_rows([["a"]], [["a"]], ["a"]),
        "regression": regressions([1, 2], [1, 2]),
        "token_classification": tag_rows([("a", "B-x", "B-x")]),
        "question_answering": answer_rows([("a", ["a"], 0.0)]),
        "multiple_choice": class_rows(["0"], ["1"], (), scores=[[]], probability=[0.5],
                                      task="multiple_choice"),
    }  # fmt: skip
    for task, item in result.items():
        names = [measure.name for measure in measures(item)]
        allowed = {metric.name for metric in TASKS[task].info.metrics}
        assert names[0] == TASKS[task].info.best_metric and set(names) <= allowed


def macro_f1(gold: np.ndarray, predicted: np.ndarray) -> float:
    hits = [2 * ((gold == label) & (predicted == label)).sum() for label in LABELS]
    sums = [(gold == label).sum() + (predicted == label).sum() for label in LABELS]
    return float(np.mean(np.divide(hits, sums)))


def test_the_interval_of_a_difference_equals_that_of_pairs():
    rng = np.random.default_rng(1)
    gold = rng.choice(LABELS, 300)
    predicted = [
        np.where(rng.random(300) < right, gold, rng.choice(LABELS, 300)) for right in (0.5, 0.6)
    ]
    first, other = (class_rows(gold, side, LABELS) for side in predicted)
    for index, theirs in enumerate((lambda a, b: (a == b).mean(), macro_f1)):
        result = difference(measures(first)[index], measures(other)[index])
        by_rows = bootstrap_rows(
            300,
            lambda rows, theirs=theirs: (
                theirs(gold[rows], predicted[1][rows]) - theirs(gold[rows], predicted[0][rows])
            ),
            draws=300,
        )
        assert result.value == pytest.approx(by_rows.value)
        np.testing.assert_allclose(result, by_rows, atol=0.025)


def test_rows_without_gold_have_no_metric():
    for item in (
        class_rows([None], ["good"]),
        regressions([None], [1.0]),
        tag_rows([("a", "", "B-x")]),
    ):
        assert all(np.isnan(value) for value in metric_values(item).values())
        assert np.isnan(difference(measures(item)[0], measures(item)[0]).value)
