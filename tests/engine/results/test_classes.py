"""Scores of labels are those of scikit-learn."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from engine.results.classes import confusion, label_figures
from engine.results.conditions import mask
from engine.results.curves import curve, label_curve
from tests.engine.results.made import classified, labelled_sets
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
def test_classes_are_counted_as_scikit_learn_counts_them(rows):
    gold, predicted = (list(side) for side in zip(*rows, strict=True))
    made = classified(gold, predicted, LABELS)
    found = confusion(made)
    np.testing.assert_array_equal(
        found.counts, metrics.confusion_matrix(gold, predicted, labels=LABELS)
    )
    np.testing.assert_allclose(
        found.by_row, metrics.confusion_matrix(gold, predicted, labels=LABELS, normalize="true")
    )
    np.testing.assert_allclose(
        found.by_column, metrics.confusion_matrix(gold, predicted, labels=LABELS, normalize="pred")
    )
    for row in range(3):
        for column in range(3):
            chosen = mask(made, found.conditions(row, column))
            assert chosen.sum() == found.counts[row, column]
    theirs = metrics.precision_recall_fscore_support(
        gold, predicted, labels=LABELS, zero_division=np.nan
    )
    for one, precision, recall, f1, support in zip(label_figures(made), *theirs, strict=True):
        assert one.support == support
        np.testing.assert_allclose(
            [one.precision.value, one.recall.value, one.f1.value], [precision, recall, f1]
        )
        if support:
            assert one.recall.low <= recall <= one.recall.high
            assert one.f1.low <= one.f1.value + 1e-12 and one.f1.value <= one.f1.high + 1e-12
        assert mask(made, one.missed).sum() == support - one.right
        assert mask(made, one.wrongly_predicted).sum() == one.predicted - one.right


@tries(60)
@given(sets)
def test_several_labels_are_counted_as_scikit_learn_counts_them(rows):
    gold, predicted = ([sorted(one) for one in side] for side in zip(*rows, strict=True))
    made = labelled_sets(gold, predicted, LABELS)
    truth, given_ = (
        np.array([[label in row for label in LABELS] for row in side]) for side in (gold, predicted)
    )
    theirs = metrics.precision_recall_fscore_support(truth, given_, zero_division=np.nan)
    for one, precision, recall, f1, support in zip(label_figures(made), *theirs, strict=True):
        assert one.support == support
        np.testing.assert_allclose(
            [one.precision.value, one.recall.value, one.f1.value], [precision, recall, f1]
        )
    found = confusion(made)
    for row in range(3):
        for column in range(3):
            both = (truth[:, row] & given_[:, column]).sum()
            assert found.counts[row, column] == both
            assert mask(made, found.conditions(row, column)).sum() == both


@tries(100)
@given(scored)
def test_curves_are_those_of_scikit_learn(rows):
    scores, truth = (np.array(side) for side in zip(*rows, strict=True))
    found = curve(scores, truth)
    if not truth.any():
        assert np.isnan(found.average_precision) and np.isnan(found.auc) and found.best is None
        assert np.isnan(found.recall).all()
        return
    precision, recall, thresholds = metrics.precision_recall_curve(truth, scores)
    np.testing.assert_allclose(found.thresholds[::-1], thresholds)
    np.testing.assert_allclose(found.precision[::-1], precision[:-1])
    np.testing.assert_allclose(found.recall[::-1], recall[:-1])
    np.testing.assert_allclose(
        found.average_precision, metrics.average_precision_score(truth, scores)
    )
    f1 = [metrics.f1_score(truth, scores >= one) for one in found.thresholds]
    np.testing.assert_allclose(found.f1, f1)
    assert found.best is not None
    np.testing.assert_allclose(found.best.f1, max(f1))
    for one in (0.0, 0.3, 0.75, 1.1):
        np.testing.assert_allclose(found.at(one).f1, metrics.f1_score(truth, scores >= one))
    if truth.all():
        assert np.isnan(found.auc) and np.isnan(found.false_positive_rate).all()
        return
    false, true, thresholds = metrics.roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_allclose(found.false_positive_rate, false[1:])
    np.testing.assert_allclose(found.recall, true[1:])
    np.testing.assert_allclose(found.auc, metrics.roc_auc_score(truth, scores))


def test_a_score_of_nan_is_below_all_others():
    found = curve(np.array([np.nan, 0.5, 0.1]), np.array([True, True, False]))
    assert found.thresholds.tolist() == [0.5, 0.1, -np.inf]
    assert found.true_positives.tolist() == [1, 1, 2]


def test_no_rows_have_an_empty_curve():
    found = curve(np.zeros(0), np.zeros(0, dtype=bool))
    assert not len(found.thresholds) and found.best is None


def test_the_side_of_a_threshold_selects_its_rows():
    made = classified(
        ["good", "bad", "good", None],
        ["good", "good", "bad", "bad"],
        scores=[[0.1, 0.9], [0.4, 0.6], [0.8, 0.2], [0.7, 0.3]],
    )
    found = label_curve(made, "good")
    assert found.positives == 2 and found.negatives == 1  # the row without gold is left out
    assert mask(made, found.above(float(found.thresholds[1]))).tolist() == [
        True,
        True,
        False,
        False,
    ]
    assert mask(made, found.below(float(found.thresholds[1]))).tolist() == [
        False,
        False,
        True,
        True,
    ]


def test_a_long_curve_is_drawn_with_few_points():
    rng = np.random.default_rng(0)
    found = curve(rng.random(50_000), rng.random(50_000) < 0.3)
    thin = found.downsample(100)
    assert len(thin.thresholds) == 100
    assert thin.recall[-1] == 1 and thin.thresholds[0] == found.thresholds[0]
    few = curve(np.array([0.5]), np.array([True]))
    assert few.downsample() is few


def test_a_label_that_the_model_does_not_know_has_a_row_and_no_hits():
    made = classified(["good", "odd"], ["good", "bad"])
    found = confusion(made)
    assert found.labels == ("bad", "good", "odd")
    assert found.counts.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 0]]
    odd = label_figures(made)[2]
    assert odd.support == 1 and odd.recall.value == 0 and np.isnan(odd.precision.value)


def test_rows_without_gold_are_left_out():
    made = classified([None, None], ["good", "bad"])
    assert confusion(made).counts.sum() == 0
    assert all(one.support == one.predicted == 0 for one in label_figures(made))
