"""Classification metrics equal those of scikit-learn."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from engine.evaluation.text_classification import report
from tests.often import tries

LABELS = ("a", "b", "c", "d")
examples = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.floats(-20, 20), min_size=4, max_size=4)),
    min_size=1,
    max_size=60,
)


@given(examples)
@tries(100)
def test_metrics_equal_those_of_scikit_learn(rows):
    true = np.array([label for label, _ in rows])
    logits = np.array([scores for _, scores in rows])
    predicted = logits.argmax(axis=1)
    result = report(logits, true, LABELS)
    assert result.accuracy == pytest.approx(metrics.accuracy_score(true, predicted))
    assert result.correct == (true == predicted).sum() and result.examples == len(rows)
    assert result.f1_macro == pytest.approx(metrics.f1_score(true, predicted, average="macro"))
    expected = metrics.precision_recall_fscore_support(
        true, predicted, labels=range(4), zero_division=0
    )
    for number, item in enumerate(result.classes):
        computed = (item.precision, item.recall, item.f1, item.support)
        assert computed == pytest.approx([column[number] for column in expected])
        assert item.label == LABELS[number]
    matrix = metrics.confusion_matrix(true, predicted, labels=range(4))
    assert np.array_equal(result.confusion, matrix)
    shifted = logits - logits.max(axis=1, keepdims=True)
    probabilities = np.exp(shifted) / np.exp(shifted).sum(axis=1, keepdims=True)
    assert result.loss == pytest.approx(
        -np.log(probabilities[np.arange(len(rows)), true]).mean(), abs=1e-9
    )


def test_no_examples_give_zeros():
    result = report(np.zeros((0, 4)), [], LABELS)
    assert (result.examples, result.accuracy, result.f1_macro, result.loss) == (0, 0, 0, 0)


def test_a_report_with_non_finite_values_is_valid_json():
    result = report([[math.nan] * 4, [0, math.inf, 0, 0]], [1, 1], LABELS)
    assert math.isnan(result.loss)
    text = json.dumps(result.to_json(), allow_nan=False)
    assert json.loads(text)["loss"] is None
    assert {"accuracy", "f1_macro", "examples", "confusion"} <= set(json.loads(text))


def test_very_many_classes_have_scores_and_no_matrix():
    count = 1_500
    logits, true = np.eye(count)[:1_200] * 9, np.arange(1_200)
    result = report(logits, true, [str(n) for n in range(count)])
    assert (result.accuracy, result.f1_macro, result.confusion) == (1.0, 1.0, ())
    assert len(result.classes) == count and result.never_predicted() == ()
