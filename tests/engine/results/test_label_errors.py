"""Confident learning finds labels that were changed; the order of labelling."""

import numpy as np
import pytest

from engine.results.label_errors import label_errors, thresholds
from engine.results.out_of_sample import FOLDS, folds_of, out_of_sample
from engine.results.suggestions import most_diverse, most_uncertain


def test_the_confident_joint_is_that_of_the_paper() -> None:
    p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9], [0.45, 0.55]])
    given = np.array([0, 0, 0, 1, 1, 1])
    assert thresholds(p, given) == pytest.approx([0.6, (0.6 + 0.9 + 0.55) / 3])
    found = label_errors(p, given)
    # row 2 is above the threshold of class 1; rows 3 and 5 reach none
    assert found.joint.tolist() == [[2, 1], [0, 1]]
    assert np.flatnonzero(found.is_likely).tolist() == [2]
    assert found.suggested.tolist() == [1, 1, 1, 0, 0, 0]
    assert found.order.tolist() == [2, 5, 3, 1, 0, 4]
    assert found.confidence[2] == pytest.approx(0.2)


def test_a_label_of_which_no_model_is_sure_has_a_threshold_of_its_own() -> None:
    p = np.array([[0.95, 0.05], [0.9, 0.1], [0.6, 0.4], [0.9, 0.1], [0.65, 0.35]])
    given = np.array([0, 0, 0, 1, 1])
    found = label_errors(p, given)
    assert found.joint[0, 1] == 1, "40 % is much for a class whose rows have 22 % in the mean"
    assert found.joint[1, 0] == 1


def test_a_label_with_a_single_row_does_not_draw_the_rows_that_are_a_little_unsure() -> None:
    """No model predicts it, so its threshold is 0, which all rows reach."""
    own = np.linspace(0.55, 0.95, 100)
    p = np.column_stack([own, 1 - own - 0.001, np.full(100, 0.001)])
    p = np.vstack([p, p[:, [1, 0, 2]], [[0.7, 0.3, 0.0], [0.02, 0.979, 0.001]]])
    given = np.array([0] * 100 + [1] * 100 + [2, 0])
    found = label_errors(p, given)
    assert thresholds(p, given)[2] == 0
    assert np.flatnonzero(found.is_likely).tolist() == [201], "and 0.7 is below the mean of label 0"
    assert found.suggested[201] == 1


def test_shapes_that_do_not_fit_are_refused() -> None:
    for p, given in ((np.ones((3, 1)), np.zeros(3, int)), (np.ones((3, 2)), np.zeros(2, int))):
        with pytest.raises(ValueError, match="at least two classes"):
            label_errors(p, given)


def test_folds_are_disjoint_and_stratified() -> None:
    given = np.array([0] * 50 + [1] * 20)
    folds = folds_of(given)
    assert [np.sum(folds[given == 1] == fold) for fold in range(FOLDS)] == [2] * FOLDS
    assert [np.sum(folds == fold) for fold in range(FOLDS)] == [7] * FOLDS
    assert np.array_equal(folds, folds_of(given))


def test_labels_that_were_changed_come_first() -> None:
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, 240)
    words = (("red", "hot"), ("cold", "ice"), ("green", "leaf"))
    texts = [f"{rng.choice(words[label])} thing {n % 7}" for n, label in enumerate(true)]
    wrong = rng.permutation(240)[:12]
    given = true.copy()
    given[wrong] = (true[wrong] + 1) % 3
    told: list[tuple[int, int]] = []
    vectors = (np.eye(3)[true] + rng.normal(0, 0.1, (240, 3))).astype(np.float32)
    noise = rng.normal(0, 1, (240, 3)).astype(np.float32)
    for own in (None, vectors[:, None], np.stack([noise, vectors], axis=1)):
        p = out_of_sample(texts, given, 3, own, lambda done, total: told.append((done, total)))
        assert p.sum(axis=1) == pytest.approx(1)
        found = label_errors(p, given)
        assert set(found.order[:12]) == set(wrong)
        likely = set(np.flatnonzero(found.is_likely))
        assert likely <= set(wrong) and len(likely) >= 9
        assert np.array_equal(found.suggested[wrong], true[wrong])
    assert told[FOLDS - 1] == (FOLDS, FOLDS) and told[-1] == (3 * FOLDS, 3 * FOLDS)


def test_a_class_with_a_single_row_is_no_defect() -> None:
    given = np.array([0] * 9 + [1])
    p = out_of_sample(["good film", *["bad film"] * 9], given, 2)
    assert p.shape == (10, 2) and np.isfinite(p).all()


def test_the_smallest_margin_comes_first() -> None:
    p = np.array([[0.9, 0.1, 0.0], [0.4, 0.35, 0.25], [0.5, 0.3, 0.2]])
    assert most_uncertain(p).tolist() == [1, 2, 0]


def test_diverse_rows_cover_all_groups() -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 25)
    vectors = (np.eye(4)[groups] + rng.normal(0, 0.02, (100, 4))).astype(np.float32)
    assert set(groups[most_diverse(vectors, 4)]) == {0, 1, 2, 3}
    assert len(set(most_diverse(vectors, 500).tolist())) == 100
