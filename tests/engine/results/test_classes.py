"""Label scores equal those of scikit-learn."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from engine.results.classes import confusion, label_figures
from engine.results.conditions import mask
from engine.results.curves import curve, label_curve
from tests.engine.results.rows import class_rows, label_rows
from tests.often import tries

LABELS = ("a", "b", "c")
pairs = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30
)
sets = st.lists(
    st.tuples(st.frozensets(st.sampled_from(LABELS)), st.frozensets(st.sampled_from(LABELS))),
    min_size=1,
    max_size=20,
)
scored = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 0.75, 0.9, 1.0]), st.booleans()),
    min_size=1,
    max_size=30,
)


@tries(60)
@given(pairs)
def test_class_metrics_equal_those_of_scikit_learn(rows):
    gold, predicted = (list(side) for side in zip(*rows, strict=True))
    predictions = class_rows(gold, predicted, LABELS)
    matrix = confusion(predictions)
    np.testing.assert_array_equal(
        matrix.counts, metrics.confusion_matrix(gold, predicted, labels=LABELS)
    )
    np.testing.assert_allclose(
        matrix.by_row, metrics.confusion_matrix(gold, predicted, labels=LABELS, normalize="true")
    )
    np.testing.assert_allclose(
        matrix.by_column, metrics.confusion_matrix(gold, predicted, labels=LABELS, normalize="pred")
    )
    for row in range(3):
        for column in range(3):
            chosen = mask(predictions, matrix.conditions(row, column))
            assert chosen.sum() == matrix.counts[row, column]
    theirs = metrics.precision_recall_fscore_support(
        gold, predicted, labels=LABELS, zero_division=np.nan
    )
    for item, precision, recall, f1, support in zip(
        label_figures(predictions), *theirs, strict=True
    ):
        assert item.support == support
        np.testing.assert_allclose(
            [item.precision.value, item.recall.value, item.f1.value], [precision, recall, f1]
        )
        if support:
            assert item.recall.low <= recall <= item.recall.high
            assert item.f1.low <= item.f1.value + 1e-12 and item.f1.value <= item.f1.high + 1e-12
        assert mask(predictions, item.missed).sum() == support - item.right
        assert mask(predictions, item.wrongly_predicted).sum() == item.predicted - item.right


@tries(60)
@given(sets)
def test_multi_label_metrics_equal_those_of_scikit_learn(rows):
    gold, predicted = ([sorted(entry) for entry in side] for side in zip(*rows, strict=True))
    predictions = label_rows(gold, predicted, LABELS)
    truth, guess = (
        np.array([[label in row for label in LABELS] for row in side]) for side in (gold, predicted)
    )
    theirs = metrics.precision_recall_fscore_support(truth, guess, zero_division=np.nan)
    for item, precision, recall, f1, support in zip(
        label_figures(predictions), *theirs, strict=True
    ):
        assert item.support == support
        np.testing.assert_allclose(
            [item.precision.value, item.recall.value, item.f1.value], [precision, recall, f1]
        )
    matrix = confusion(predictions)
    for row in range(3):
        for column in range(3):
            count = (truth[:, row] & guess[:, column]).sum()
            assert matrix.counts[row, column] == count
            assert mask(predictions, matrix.conditions(row, column)).sum() == count


@tries(100)
@given(scored)
def test_curves_equal_those_of_scikit_learn(rows):
    scores, truth = (np.array(side) for side in zip(*rows, strict=True))
    points = curve(scores, truth)
    if not truth.any():
        assert np.isnan(points.average_precision) and np.isnan(points.auc) and points.best is None
        assert np.isnan(points.recall).all()
        return
    precision, recall, thresholds = metrics.precision_recall_curve(truth, scores)
    np.testing.assert_allclose(points.thresholds[::-1], thresholds)
    np.testing.assert_allclose(points.precision[::-1], precision[:-1])
    np.testing.assert_allclose(points.recall[::-1], recall[:-1])
    np.testing.assert_allclose(
        points.average_precision, metrics.average_precision_score(truth, scores)
    )
    f1 = [metrics.f1_score(truth, scores >= threshold) for threshold in points.thresholds]
    np.testing.assert_allclose(points.f1, f1)
    assert points.best is not None
    np.testing.assert_allclose(points.best.f1, max(f1))
    for item in (0.0, 0.3, 0.75, 1.1):
        np.testing.assert_allclose(points.at(item).f1, metrics.f1_score(truth, scores >= item))
    if truth.all():
        assert np.isnan(points.auc) and np.isnan(points.false_positive_rate).all()
        return
    false, true, thresholds = metrics.roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_allclose(points.false_positive_rate, false[1:])
    np.testing.assert_allclose(points.recall, true[1:])
    np.testing.assert_allclose(points.auc, metrics.roc_auc_score(truth, scores))


def test_a_score_of_nan_is_below_all_others():
    points = curve(np.array([np.nan, 0.5, 0.1]), np.array([True, True, False]))
    assert points.thresholds.tolist() == [0.5, 0.1, -np.inf]
    assert points.true_positives.tolist() == [1, 1, 2]


def test_no_rows_have_an_empty_curve():
    points = curve(np.zeros(0), np.zeros(0, dtype=bool))
    assert not len(points.thresholds) and points.best is None


def test_rows_above_and_below_a_threshold_are_selected():
    predictions = class_rows(
        ["good", "bad", "good", None],
        ["good", "good", "bad", "bad"],
        scores=[[0.1, 0.9], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]],
    )
    points = label_curve(predictions, "good")
    assert points.positives == 2 and points.negatives == 1  # the row without gold is left out
    assert mask(predictions, points.above(float(points.thresholds[1]))).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert mask(predictions, points.below(float(points.thresholds[1]))).tolist() == [
        False,
        False,
        True,
        True,
    ]


def test_a_long_curve_is_drawn_with_few_points():
    rng = np.random.default_rng(0)
    points = curve(rng.random(50_000), rng.random(50_000) < 0.3)
    thin = points.downsample(100)
    assert len(thin.thresholds) == 100
    assert thin.recall[-1] == 1 and thin.thresholds[0] == points.thresholds[0]
    few = curve(np.array([0.5]), np.array([True]))
    assert few.downsample() is few


def test_an_unknown_label_has_a_row_without_hits():
    predictions = class_rows(["good", "odd"], ["good", "bad"])
    matrix = confusion(predictions)
    assert matrix.labels == ("bad", "good", "odd")
    assert matrix.counts.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]
    odd = label_figures(predictions)[2]
    assert odd.support == 1 and odd.recall.value == 0 and np.isnan(odd.precision.value)


def test_rows_without_gold_are_excluded():
    predictions = class_rows([None, None], ["good", "bad"])
    assert confusion(predictions).counts.sum() == 0
    assert all(figure.support == figure.predicted == 0 for figure in label_figures(predictions))
