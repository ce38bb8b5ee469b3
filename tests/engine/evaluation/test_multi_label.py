"""Multi-label metrics equal those of scikit-learn."""

import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from engine.evaluation.multi_label import report
from tests.often import tries

LABELS = ("a", "b", "c")
score = st.integers(-6, 6).map(lambda n: n / 2)  # few values, so that many are equal
examples = st.lists(
    st.tuples(
        st.lists(st.booleans(), min_size=3, max_size=3), st.lists(score, min_size=3, max_size=3)
    ),
    min_size=1,
    max_size=40,
)


@given(examples, st.sampled_from([0.2, 0.5, 0.9]))
@tries(40)
def test_metrics_equal_those_of_scikit_learn(rows, threshold):
    true = np.array([labels for labels, _ in rows])
    logits = np.array([scores for _, scores in rows])
    predicted = logits >= math.log(threshold / (1 - threshold))
    result = report(logits, true, LABELS, threshold)
    assert result.examples == len(rows)
    assert result.exact_match == pytest.approx(metrics.accuracy_score(true, predicted))
    assert result.f1_micro == pytest.approx(
        metrics.f1_score(true, predicted, average="micro", zero_division=0)
    )
    assert result.f1_macro == pytest.approx(
        metrics.f1_score(true, predicted, average="macro", zero_division=0)
    )
    expected = metrics.precision_recall_fscore_support(true, predicted, zero_division=0)
    ranked = [
        metrics.average_precision_score(true[:, n], logits[:, n]) if true[:, n].any() else 0
        for n in range(3)
    ]
    for n, item in enumerate(result.labels):
        computed = (item.precision, item.recall, item.f1, item.support)
        assert computed == pytest.approx([column[n] for column in expected])
        assert item.average_precision == pytest.approx(ranked[n], abs=1e-12)
        assert item.label == LABELS[n]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn warns about labels without examples
        mean = metrics.average_precision_score(true, logits, average="macro")
    assert result.average_precision == pytest.approx(mean)
    assert result.loss == pytest.approx(
        np.mean(
            [
                metrics.log_loss(true[:, n], 1 / (1 + np.exp(-logits[:, n])), labels=[0, 1])
                for n in range(3)
            ]
        )
    )


def test_an_unused_label_counts_in_the_macro_f1():
    true, logits = np.array([[1, 0, 0], [1, 1, 0]]), np.array([[2.0, -2, -2], [2, 2, -2]])
    macro = metrics.f1_score(true, logits > 0, average="macro", zero_division=0)
    result = report(logits, true, LABELS)
    assert result.f1_macro == pytest.approx(macro) == pytest.approx(2 / 3)
    assert result.average_precision == pytest.approx(2 / 3)


def test_a_probability_of_one_half_is_positive():
    assert report([[0.0]], [[True]], ("a",)).exact_match == 1


def test_no_examples_give_zeros():
    result = report(np.zeros((0, 3)), np.zeros((0, 3)), LABELS)
    computed = result.model_dump(exclude={"labels"})
    assert set(computed.values()) == {0}
    assert [label.support for label in result.labels] == [0, 0, 0]


def test_a_report_with_non_finite_values_is_valid_json():
    result = report(
        [[math.nan, 0.0, -math.inf], [math.inf, 0.0, 1.0]], [[1, 0, 1], [1, 0, 0]], LABELS
    )
    stored = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert stored["loss"] is None
    assert stored["labels"][0]["average_precision"] == 1
    assert report([[1e4, -1e4, 5.0]], [[1, 0, 1]], LABELS).loss == pytest.approx(
        0.0067 / 3, abs=1e-4
    )
