"""The coverage–accuracy curve equals an independent computation, and Apply marks the same rows."""

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from engine.applying.apply import certainty
from engine.results.selective import certainties, coverage, coverage_curve, threshold_at
from tests.engine.results.rows import class_rows, label_rows, tag_rows

LABELS = ("a", "b", "c")


def many_rows(rows: int = 400):
    rng = np.random.default_rng(4)
    scores = rng.dirichlet((1, 1, 1), rows).round(2)  # some are equal
    predicted = np.array(LABELS)[scores.argmax(axis=1)]
    is_right = rng.random(rows) < scores.max(axis=1)
    gold = np.where(is_right, predicted, "a")
    unlabelled = [None if n % 10 == 0 else label for n, label in enumerate(gold.tolist())]
    return class_rows(unlabelled, predicted.tolist(), LABELS, scores), scores.max(axis=1)


def test_the_curve_equals_that_of_scikit_learn():
    predictions, probability = many_rows()
    curve = coverage_curve(predictions)
    gold = np.array(predictions.table["gold"].to_pylist(), dtype=object)
    predicted = np.array(predictions.table["predicted"].to_pylist())
    labelled = np.array([label is not None for label in gold])
    covered = coverage(curve)
    assert covered[-1] == 1 and (np.diff(covered) > 0).all()
    for index in range(len(curve.thresholds)):
        threshold = threshold_at(curve, index)
        answered = labelled & (probability.astype(np.float32) >= threshold)
        assert answered.sum() / labelled.sum() == pytest.approx(covered[index], abs=1e-12)
        theirs = accuracy_score(gold[answered].tolist(), predicted[answered].tolist())
        assert curve.precision[index] == pytest.approx(theirs, abs=1e-12)
    assert threshold_at(curve, len(curve.thresholds) - 1) == 0, "all rows need no threshold"


def test_rows_are_as_certain_as_apply_says():
    labels = label_rows([["a"], []], [["a"], []], ("a", "b"), [[0.9, 0.3], [0.2, 0.45]])
    records = [{"p(a)": 0.9, "p(b)": 0.3}, {"p(a)": 0.2, "p(b)": 0.45}]
    assert certainties(labels) == pytest.approx([certainty(row) for row in records], rel=1e-6)
    tags = tag_rows([("a b", "B-x O", "B-x O")])
    details = ['{"gold": ["B-x"], "predicted": ["B-x"], "probabilities": [0.9, null]}']
    table = tags.table.set_column(
        tags.table.column_names.index("details"), tags.table.schema.field("details"), [details]
    )
    seen = certainties(type(tags)(tags.info, table))
    assert seen.tolist() == [certainty({"probabilities": [0.9, 0.0]})], "an unseen word counts"
    classes = class_rows(["a"], ["a"], LABELS, [[0.5, 0.3, 0.2]])
    assert certainties(classes) == pytest.approx([certainty({"probability": 0.5})])
    unknown = class_rows(["a"], ["a"], LABELS, probability=[np.nan])
    assert not len(coverage_curve(unknown).thresholds), "no probability"
