"""Prediction sets equal MAPIE's, and have the coverage that the theorem states."""

import numpy as np
import pytest

from engine.errors import StudioError
from engine.evaluation.prediction_sets import calibrate, members, min_rows

LABELS = ("a", "b", "c", "d")

# Made with MAPIE 1.6.0, scikit-learn 1.9.1: SplitConformalClassifier(estimator, coverage,
# conformity_score="lac", prefit=True) of the rows below; by class the same of the rows of each
# label, of which its own column counts. numpy.packbits of bool [40, 4].
RECORDED = {
    0.5: (
        "0212004844844881280420810224041808111824",
        "0212004844804881288020810224841808111824",
    ),
    0.8: (
        "3212d358568c5c9128a46995526ca43939511864",
        "321ac258568c4c9928a46c85526ca41838511864",
    ),
    0.9: (
        "331ad75d56ad5c9b2aa76d95566ca53939511964",
        "bb1ad75d568d5cd928a5ed95566ca539b9595964",
    ),
    0.95: (
        "bb1ad75d56ad5cdb2aa7ed95776ce53bbb595964",
        "bf9adf5d56ed5cdfaeefedd5576ce539b95d5964",
    ),
}


def drawn(rng: np.random.Generator, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [N, 4], and a label of each row drawn from them."""
    probabilities = rng.dirichlet([0.6] * 4, rows)
    return probabilities, (rng.random((rows, 1)) > probabilities.cumsum(axis=1)).sum(axis=1)


def test_sets_equal_those_of_mapie():
    rng = np.random.default_rng(11)
    given, true = drawn(rng, 200)
    new = rng.dirichlet([0.6] * 4, 40)
    for coverage, expected in RECORDED.items():
        for by_class, packed in zip((False, True), expected, strict=True):
            sets = calibrate(given, true, LABELS, coverage, by_class)
            found = np.packbits(members(sets, new, LABELS)).tobytes().hex()
            assert found == packed, (coverage, by_class)
            assert (sets.coverage, sets.by_class, sets.rows) == (coverage, by_class, 200)


def test_sets_cover_new_rows_as_often_as_the_theorem_says():
    """The mean over calibrations is k / (n + 1), k = ⌈(n + 1) coverage⌉; also within labels."""
    rng = np.random.default_rng(3)
    rows, repeats = 60, 400
    covered, by_label = [], []
    for _ in range(repeats):
        given, true = drawn(rng, rows)
        new, new_true = drawn(rng, 100)
        each = np.arange(100), new_true
        covered.append(members(calibrate(given, true, LABELS, 0.9), new, LABELS)[each].mean())
        if np.bincount(true, minlength=4).min() < min_rows(0.7):
            continue
        inside = members(calibrate(given, true, LABELS, 0.7, by_class=True), new, LABELS)[each]
        by_label.append([inside[new_true == label].mean() for label in range(4)])
    assert np.mean(covered) == pytest.approx(55 / 61, abs=0.008), "⌈61 · 0.9⌉ = 55"
    assert len(by_label) > repeats / 2
    means = np.mean(by_label, axis=0)
    assert (means > 0.69).all() and (means < 0.77).all()


def test_too_few_rows_are_refused_by_name_and_the_fewest_are_enough():
    rng = np.random.default_rng(5)
    for coverage, fewest in ((0.5, 1), (0.8, 4), (0.9, 9), (0.95, 19), (0.99, 99), (0.995, 199)):
        given, _ = drawn(rng, fewest)
        true = np.zeros(fewest, dtype=np.int64)
        assert min_rows(coverage) == fewest
        least = set(calibrate(given, true, LABELS, coverage).least.values())
        assert least == {given[:, 0].min()}, "all rows are covered"
        with pytest.raises(StudioError, match=f"need {fewest} labelled rows, and there are"):
            calibrate(given[1:], true[1:], LABELS, coverage)
    with pytest.raises(StudioError, match="“b” has 0"):
        calibrate(given, true, LABELS, 0.9, by_class=True)


def test_a_set_may_be_empty_and_an_unknown_label_is_in_none():
    sets = calibrate(np.full((9, 1), 0.8), np.zeros(9, dtype=np.int64), ("a",), 0.9)
    rows = np.array([[0.9, 0.95], [0.7, 0.99]], dtype=np.float32)
    assert members(sets, rows, ("a", "new")).tolist() == [[True, False], [False, False]]
