"""Out-of-sample label probabilities of rows.

Up to EXACT_ROWS rows, by `leave_one_out`. Beyond, by ten-fold cross-validation of logistic
regressions on TF-IDF of words and word pairs, on the vectors of the last layer of a frozen encoder,
and on those of several layers; their mean is taken. Only workers import this file: scikit-learn
takes a second. Shapes: N rows, C classes, L layers, D size of a vector.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from engine.progress import ProgressCallback, no_progress
from engine.results.leave_one_out import leave_one_out

EXACT_ROWS = 5_000  # O(N³) takes seconds
FOLDS = 10  # 5 find fewer errors, as each model has fewer rows
TFIDF_C = 10.0  # inverse regularisation strength; 1 finds fewer errors, 30 no more
VECTORS_C = 0.001  # the same, for standardised vectors
LAYERS_C = 0.0005  # the same, for vectors of several layers

Fit = Callable[[NDArray[np.bool_]], NDArray[np.float64]]


def stratified_folds(given: NDArray[np.int64], folds: int = FOLDS) -> NDArray[np.int64]:
    """The fold of each row, int64 [N], at random, stratified by label."""
    order = np.random.default_rng(0).permutation(len(given))
    order = order[np.argsort(given[order], kind="stable")]
    found = np.empty(len(given), dtype=np.int64)
    found[order] = np.arange(len(given)) % folds
    return found


def out_of_sample(
    texts: Sequence[str],
    given: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None = None,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float64]:
    """The out-of-sample probability of each class for each row, float64 [N, C].

    Args:
        given: int64 [N], the class of each row; it may be wrong.
        vectors: float32 [N, L, D], of a frozen encoder; the last layer comes last.
        progress: receives the number of finished steps.
    """
    way = leave_one_out if len(given) <= EXACT_ROWS else cross_validate
    return way(texts, given, classes, vectors, progress)


def cross_validate(
    texts: Sequence[str],
    given: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None = None,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float64]:
    fits = _fits(texts, given, classes, vectors)
    folds, found = stratified_folds(given), np.zeros((len(given), classes))
    done, total = 0, len(fits) * FOLDS
    for fold in range(FOLDS):
        learned = folds != fold
        for fit in fits:
            found[~learned] += fit(learned) / len(fits)
            done += 1
            progress(done, total)
    return found


def predict_other_rows(
    texts: Sequence[str],
    given: NDArray[np.int64],
    learned: NDArray[np.bool_],
    classes: int,
    vectors: NDArray[np.float32] | None = None,
) -> NDArray[np.float64]:
    """The probability of each class for the rows that are not `learned`, float64 [others, C].

    Args:
        given: int64 [N], the class of each row; ignored for rows that are not learned.
        learned: bool [N], the rows that the models are fitted on.
        vectors: float32 [N, L, D], of a frozen encoder; the last layer comes last.
    """
    fits = _fits(texts, given, classes, vectors)
    mean: NDArray[np.float64] = np.mean([fit(learned) for fit in fits], axis=0)
    return mean


def _fits(
    texts: Sequence[str],
    given: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None,
) -> list[Fit]:
    fits = [_by_words(texts, given, classes)]
    if vectors is not None:
        fits.append(_by_vectors(vectors[:, -1], given, classes, VECTORS_C))
        if vectors.shape[1] > 1:
            fits.append(_by_vectors(vectors.reshape(len(vectors), -1), given, classes, LAYERS_C))
    return fits


def _by_words(texts: Sequence[str], given: NDArray[np.int64], classes: int) -> Fit:
    def fit(learned: NDArray[np.bool_]) -> NDArray[np.float64]:
        words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
        fitted = words.fit_transform([texts[n] for n in np.flatnonzero(learned).tolist()])
        others = words.transform([texts[n] for n in np.flatnonzero(~learned).tolist()])
        return _probabilities(fitted, given[learned], others, classes, TFIDF_C)

    return fit


def _by_vectors(
    vectors: NDArray[np.float32], given: NDArray[np.int64], classes: int, c: float
) -> Fit:
    def fit(learned: NDArray[np.bool_]) -> NDArray[np.float64]:
        scale = StandardScaler().fit(vectors[learned])
        fitted, others = scale.transform(vectors[learned]), scale.transform(vectors[~learned])
        return _probabilities(fitted, given[learned], others, classes, c)

    return fit


def _probabilities(
    fitted: object, given: NDArray[np.int64], others: object, classes: int, c: float
) -> NDArray[np.float64]:
    """float64 [rows of `others`, C]; 0 for classes without fitted rows."""
    known = np.unique(given)
    found = np.zeros((others.shape[0], classes))  # type: ignore[attr-defined]
    if len(known) < 2:
        found[:, known] = 1.0
        return found
    model = LogisticRegression(C=c, max_iter=300, tol=1e-3).fit(fitted, given)
    found[:, model.classes_] = model.predict_proba(others)
    return found
