"""Confident learning finds flipped labels, and rows are ordered for labelling."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from engine.results import out_of_sample as module
from engine.results.out_of_sample import (
    FOLDS,
    SOFTMAX_SCALES,
    cross_validate,
    leave_one_out,
    out_of_sample,
    stratified_folds,
)
from engine.tasks.suggesting import label_errors, thresholds


def test_the_confident_joint_equals_that_of_the_paper():
    p = np.array([[0.9, 0.1], [0.7, 0.3], [0.2, 0.8], [0.4, 0.6], [0.1, 0.9], [0.45, 0.55]])
    labels = np.array([0, 0, 0, 1, 1, 1])
    assert thresholds(p, labels) == pytest.approx([0.6, (0.6 + 0.9 + 0.55) / 3])
    result = label_errors(p, labels)
    # row 2 is above the threshold of class 1; rows 3 and 5 reach none
    assert result.joint.tolist() == [[2, 1], [0, 1]]
    assert np.flatnonzero(result.is_likely).tolist() == [2]
    assert result.suggested.tolist() == [1, 1, 1, 0, 0, 0]
    assert result.order.tolist() == [2, 5, 3, 1, 0, 4]
    assert result.confidence[2] == pytest.approx(0.2)


def test_a_label_without_confident_rows_has_its_own_threshold():
    p = np.array([[0.95, 0.05], [0.9, 0.1], [0.6, 0.4], [0.9, 0.1], [0.65, 0.35]])
    labels = np.array([0, 0, 0, 1, 1])
    result = label_errors(p, labels)
    assert result.joint[0, 1] == 1, "0.4 is above 0.225, the mean of label 1"
    assert result.joint[1, 0] == 1


def test_a_label_with_a_single_row_attracts_no_uncertain_rows():
    """No model predicts it, so its threshold is 0, which all rows reach."""
    confidence = np.linspace(0.55, 0.95, 100)
    p = np.column_stack([confidence, 1 - confidence - 0.001, np.full(100, 0.001)])
    p = np.vstack([p, p[:, [1, 0, 2]], [[0.7, 0.3, 0.0], [0.02, 0.979, 0.001]]])
    labels = np.array([0] * 100 + [1] * 100 + [2, 0])
    result = label_errors(p, labels)
    assert thresholds(p, labels)[2] == 0
    assert np.flatnonzero(result.is_likely).tolist() == [201], "0.7 is below the mean of label 0"
    assert result.suggested[201] == 1


def test_an_error_is_found_if_all_rows_of_its_label_have_the_same_probability():
    found = []
    for count in range(3, 60):
        p = np.tile([0.3, 0.7], (count, 1))
        labels = np.ones(count, int)
        labels[0] = 0
        found.append(np.flatnonzero(label_errors(p, labels).is_likely).tolist())
    assert found == [[0]] * len(found)


def test_mismatched_shapes_are_refused():
    for p, labels in ((np.ones((3, 1)), np.zeros(3, int)), (np.ones((3, 2)), np.zeros(2, int))):
        with pytest.raises(ValueError, match="at least two classes"):
            label_errors(p, labels)


def test_folds_are_disjoint_and_stratified():
    labels = np.array([0] * 50 + [1] * 20)
    folds = stratified_folds(labels)
    assert [np.sum(folds[labels == 1] == fold) for fold in range(FOLDS)] == [2] * FOLDS
    assert [np.sum(folds == fold) for fold in range(FOLDS)] == [7] * FOLDS
    assert np.array_equal(folds, stratified_folds(labels))


@pytest.mark.parametrize("fit, steps", [(leave_one_out, (3, 3, 3)), (cross_validate, (10, 20, 30))])
def test_flipped_labels_come_first(fit, steps):
    rng = np.random.default_rng(0)
    true = rng.integers(0, 3, 240)
    words = (("red", "hot"), ("cold", "ice"), ("green", "leaf"))
    texts = [f"{rng.choice(words[label])} thing {n % 7}" for n, label in enumerate(true)]
    wrong = rng.permutation(240)[:12]
    labels = true.copy()
    labels[wrong] = (true[wrong] + 1) % 3
    progress: list[tuple[int, int]] = []
    vectors = (np.eye(3)[true] + rng.normal(0, 0.1, (240, 3))).astype(np.float32)
    noise = rng.normal(0, 1, (240, 3)).astype(np.float32)
    views = (None, vectors[:, None], np.stack([noise, vectors], axis=1))
    for view, last in zip(views, steps, strict=True):
        p = fit(texts, labels, 3, view, lambda done, total: progress.append((done, total)))
        assert progress[-1] == (last, last)
        assert p.sum(axis=1) == pytest.approx(1)
        result = label_errors(p, labels)
        assert set(result.order[:12]) == set(wrong)
        likely = set(np.flatnonzero(result.is_likely))
        assert likely <= set(wrong) and len(likely) >= 9
        assert np.array_equal(result.suggested[wrong], true[wrong])


def test_each_row_is_predicted_by_a_fit_to_all_others():
    """Compared with `KernelRidge` of scikit-learn, refitted without each row."""
    rng = np.random.default_rng(3)
    texts = [" ".join(rng.choice(list("abcdefgh"), 6)).replace("a", "aa") for _ in range(30)]
    texts = [text.replace(" ", "x ") for text in texts]  # words of two letters
    labels = rng.integers(0, 2, 30)
    vectors = rng.normal(size=(30, 2, 4)).astype(np.float32)
    words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2)).fit_transform(texts)
    flat = StandardScaler().fit_transform(vectors.reshape(30, -1))
    distances = euclidean_distances(flat, squared=True)
    kernel = 1 + (words @ words.T).toarray() + 2 * np.exp(-distances / distances.mean())
    parts = TfidfVectorizer(
        sublinear_tf=True, analyzer="char_wb", ngram_range=(2, 5), max_df=0.1
    ).fit_transform(texts)
    expected = []
    for gram in (kernel, kernel + (parts @ parts.T).toarray()):
        predicted = np.empty(30)
        for row in range(30):
            others = np.arange(30) != row
            fitted = KernelRidge(alpha=1.0, kernel="precomputed")
            fitted.fit(gram[np.ix_(others, others)], 2.0 * labels[others] - 1)
            predicted[row] = fitted.predict(gram[[row]][:, others])[0]
        logits = 2 * SOFTMAX_SCALES[:, None] * predicted  # [scales, rows]: of class 1 over class 0
        losses = np.log1p(np.exp(np.where(labels == 1, -logits, logits))).mean(axis=1)
        expected.append(1 / (1 + np.exp(-logits[losses.argmin()])))
    p = leave_one_out(texts, labels, 2, vectors)
    assert p[:, 1] == pytest.approx(np.mean(expected, axis=0), abs=1e-3)


def test_many_rows_are_predicted_by_folds(monkeypatch):
    texts, labels = [f"w{n % 5} film" for n in range(40)], np.arange(40) % 5
    few = out_of_sample(texts, labels, 5)
    monkeypatch.setattr(module, "EXACT_ROWS", 39)
    many = out_of_sample(texts, labels, 5)
    assert np.array_equal(few, leave_one_out(texts, labels, 5))
    assert np.array_equal(many, cross_validate(texts, labels, 5))


def test_a_class_with_a_single_row_is_predicted():
    labels = np.array([0] * 9 + [1])
    for fit in (leave_one_out, cross_validate):
        p = fit(["good film", *["bad film"] * 9], labels, 2)
        assert p.shape == (10, 2) and np.isfinite(p).all()
        p = fit(["", *["bad film"] * 9], labels, 2, np.zeros((10, 1, 3), dtype=np.float32))
        assert np.isfinite(p).all() and p.sum(axis=1) == pytest.approx(1)
    p = leave_one_out([""] * 10, labels, 2)  # no words at all
    assert np.isfinite(p).all() and p.argmax(axis=1).tolist() == [0] * 10
