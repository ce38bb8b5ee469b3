"""Out-of-sample label probabilities of rows.

Up to EXACT_ROWS rows, by `leave_one_out`. Beyond, by ten-fold cross-validation of logistic
regressions on TF-IDF of words and word pairs, on the vectors of the last layer of a frozen encoder,
and on those of several layers, averaged. Only workers import this file: scikit-learn
takes a second. Shapes: N rows, C classes, L layers, D size of a vector.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from engine.progress import ProgressCallback, no_progress

EXACT_ROWS = 5_000  # O(N³) takes seconds
FOLDS = 10  # 5 find fewer errors, as each model has fewer rows
TFIDF_C = 10.0  # inverse regularisation strength; 1 finds fewer errors, 30 no more
VECTORS_C = 0.001  # the same, for standardised vectors
LAYERS_C = 0.0005  # the same, for vectors of several layers

WORD_NGRAMS: dict[str, object] = {"ngram_range": (1, 2)}
CHARACTER_NGRAMS: dict[str, object] = {"analyzer": "char_wb", "ngram_range": (2, 5), "max_df": 0.1}
RIDGE = 1.0  # each kernel has a diagonal of 1
VECTOR_WEIGHT = 2.0  # weight of the vectors relative to the words
BLOCK = 256  # rows of a kernel per block
SOFTMAX_SCALES = np.geomspace(0.25, 64, 33)  # the most likely one is chosen
STEPS = 3  # of `leave_one_out`
Kernel = NDArray[np.float32]
Fit = Callable[[NDArray[np.bool_]], NDArray[np.float64]]


def stratified_folds(labels: NDArray[np.int64], folds: int = FOLDS) -> NDArray[np.int64]:
    """The fold of each row, int64 [N], at random, stratified by label."""
    order = np.random.default_rng(0).permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    fold_of_row = np.empty(len(labels), dtype=np.int64)
    fold_of_row[order] = np.arange(len(labels)) % folds
    return fold_of_row


def out_of_sample(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None = None,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float64]:
    """The out-of-sample probability of each class for each row, float64 [N, C].

    Args:
        labels: int64 [N], the class of each row; it may be wrong.
        vectors: float32 [N, L, D], of a frozen encoder; the last layer comes last.
        progress: receives the number of finished steps.
    """
    method = leave_one_out if len(labels) <= EXACT_ROWS else cross_validate
    return method(texts, labels, classes, vectors, progress)


def cross_validate(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None = None,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float64]:
    fits = _fits(texts, labels, classes, vectors)
    folds, probabilities = stratified_folds(labels), np.zeros((len(labels), classes))
    done, total = 0, len(fits) * FOLDS
    for fold in range(FOLDS):
        train = folds != fold
        for fit in fits:
            probabilities[~train] += fit(train) / len(fits)
            done += 1
            progress(done, total)
    return probabilities


def _fits(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None,
) -> list[Fit]:
    fits = [_by_words(texts, labels, classes)]
    if vectors is not None:
        fits.append(_by_vectors(vectors[:, -1], labels, classes, VECTORS_C))
        if vectors.shape[1] > 1:
            fits.append(_by_vectors(vectors.reshape(len(vectors), -1), labels, classes, LAYERS_C))
    return fits


def _by_words(texts: Sequence[str], labels: NDArray[np.int64], classes: int) -> Fit:
    def fit(train: NDArray[np.bool_]) -> NDArray[np.float64]:
        words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
        fitted = words.fit_transform([texts[n] for n in np.flatnonzero(train).tolist()])
        others = words.transform([texts[n] for n in np.flatnonzero(~train).tolist()])
        return _probabilities(fitted, labels[train], others, classes, TFIDF_C)

    return fit


def _by_vectors(
    vectors: NDArray[np.float32], labels: NDArray[np.int64], classes: int, c: float
) -> Fit:
    def fit(train: NDArray[np.bool_]) -> NDArray[np.float64]:
        scale = StandardScaler().fit(vectors[train])
        fitted, others = scale.transform(vectors[train]), scale.transform(vectors[~train])
        return _probabilities(fitted, labels[train], others, classes, c)

    return fit


def _probabilities(
    fitted: object, labels: NDArray[np.int64], others: object, classes: int, c: float
) -> NDArray[np.float64]:
    """float64 [rows of `others`, C]; 0 for classes without fitted rows."""
    present = np.unique(labels)
    probabilities = np.zeros((others.shape[0], classes))  # type: ignore[attr-defined]
    if len(present) < 2:
        probabilities[:, present] = 1.0
        return probabilities
    model = LogisticRegression(C=c, max_iter=300, tol=1e-3).fit(fitted, labels)
    probabilities[:, model.classes_] = model.predict_proba(others)
    return probabilities


def leave_one_out(
    texts: Sequence[str],
    labels: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None = None,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float64]:
    """The probability of each class for each row, float64 [N, C], fitted on all other rows.

    One-against-all kernel ridge regression (least-squares support vector machine, Suykens and
    Vandewalle 1999) on a sum of kernels: words of the texts, and vectors of a frozen encoder; the
    mean with a second model that adds character n-grams. The predictions follow from the fit to all
    rows (Cawley and Talbot 2003, *Efficient leave-one-out cross-validation of kernel Fisher
    discriminant classifiers*). It needs 8 N² bytes besides the vectors, and O(N³) time.

    Args:
        labels: int64 [N], the class of each row; it may be wrong.
        vectors: float32 [N, L, D], of a frozen encoder.
        progress: receives the number of finished steps.
    """
    count = len(labels)
    targets = np.where(labels[:, None] == np.arange(classes), 1.0, -1.0)  # [N, C]
    kernel = np.ones((count, count), dtype=np.float32)  # a constant, for the class priors
    _add_cosines(kernel, texts, WORD_NGRAMS)
    if vectors is not None:
        _add_vectors(kernel, vectors)
    progress(1, STEPS)
    probabilities = _scaled_softmax(_predict_left_out(kernel.copy(), targets), labels)
    progress(2, STEPS)
    _add_cosines(kernel, texts, CHARACTER_NGRAMS)
    probabilities += _scaled_softmax(_predict_left_out(kernel, targets), labels)
    progress(STEPS, STEPS)
    return probabilities / 2


def _add_cosines(kernel: Kernel, texts: Sequence[str], kind: dict[str, object]) -> None:
    terms = TfidfVectorizer(sublinear_tf=True, dtype=np.float32, **kind)
    try:
        rows = terms.fit_transform(texts)
    except ValueError:  # scikit-learn raises it for an empty vocabulary
        return
    columns = rows.T.tocsr()
    for start in range(0, len(texts), BLOCK):
        kernel[start : start + BLOCK] += (rows[start : start + BLOCK] @ columns).toarray()


def _add_vectors(kernel: Kernel, vectors: NDArray[np.float32]) -> None:
    """Add a Gaussian kernel over the standardised vectors of all layers.

    Its width is the mean squared distance of two rows.
    """
    std = vectors.std(axis=0)
    rows = (vectors - vectors.mean(axis=0)) / np.where(std > 0, std, 1.0)
    rows = rows.reshape(len(rows), -1)  # [N, L × D]
    rows /= np.sqrt(max(float((rows * rows).sum(axis=1).mean()), 1e-12))
    squares = (rows * rows).sum(axis=1)
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        distances = squares[block, None] + squares[None] - 2 * (rows[block] @ rows.T)
        kernel[block] += VECTOR_WEIGHT * np.exp(-distances / 2)  # the mean distance is 2


def _predict_left_out(kernel: Kernel, targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave-one-out predictions, float64 [N, C]; overwrites the kernel."""
    kernel[np.diag_indices_from(kernel)] += RIDGE
    factor, failed = lapack.spotrf(kernel.T, lower=1, overwrite_a=1)  # in place
    assert not failed  # a sum of kernels and the ridge is positive definite
    inverse, failed = lapack.spotri(factor, lower=1, overwrite_c=1)
    assert not failed
    coefficients = blas.ssymm(1.0, inverse, targets.astype(np.float32), lower=1)  # [N, C]
    return np.asarray(targets - coefficients / inverse.diagonal()[:, None], dtype=np.float64)


def _scaled_softmax(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """The softmax with the most likely scale, float64 [N, C]."""
    rows, best = np.arange(len(scores)), (np.inf, np.empty(0))
    for scale in SOFTMAX_SCALES:
        logits = scale * (scores - scores.max(axis=1, keepdims=True))
        sums = np.exp(logits).sum(axis=1)
        loss = float((np.log(sums) - logits[rows, labels]).mean())
        if loss < best[0]:
            best = (loss, np.exp(logits) / sums[:, None])
    return best[1]
