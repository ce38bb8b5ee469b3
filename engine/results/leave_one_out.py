"""Out-of-sample label probabilities for few rows, by leave-one-out models.

One-against-all kernel ridge regression (least-squares support vector machine, Suykens and
Vandewalle 1999) on a sum of kernels: words of the texts, and vectors of a frozen encoder; the mean
with a second model that adds character n-grams. The leave-one-out predictions follow from the fit
to all rows (Cawley and Talbot 2003, *Efficient leave-one-out cross-validation of kernel Fisher
discriminant classifiers*). Only workers import this file: scikit-learn takes a second.

Shapes: N rows, C classes, L layers, D size of a vector.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack
from sklearn.feature_extraction.text import TfidfVectorizer

from engine.progress import ProgressCallback, no_progress

WORDS: dict[str, object] = {"ngram_range": (1, 2)}
PARTS: dict[str, object] = {"analyzer": "char_wb", "ngram_range": (2, 5), "max_df": 0.1}
RIDGE = 1.0  # each kernel has a diagonal of 1
OF_VECTORS = 2.0  # weight of the vectors relative to the words
BLOCK = 256  # rows of a kernel per block
SCALES = np.geomspace(0.25, 64, 33)  # of the softmax; the most likely is chosen

STEPS = 3

Kernel = NDArray[np.float32]


def leave_one_out(
    texts: Sequence[str],
    given: NDArray[np.int64],
    classes: int,
    vectors: NDArray[np.float32] | None = None,
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float64]:
    """The probability of each class for each row, float64 [N, C], fitted on all other rows.

    It needs 8 N² bytes besides the vectors, and O(N³) time.

    Args:
        given: int64 [N], the class of each row; it may be wrong.
        vectors: float32 [N, L, D], of a frozen encoder.
        progress: receives the number of finished steps.
    """
    count = len(given)
    targets = np.where(given[:, None] == np.arange(classes), 1.0, -1.0)  # [N, C]
    kernel = np.ones((count, count), dtype=np.float32)  # a constant, for the class priors
    _add_cosines(kernel, texts, WORDS)
    if vectors is not None:
        _add_vectors(kernel, vectors)
    progress(1, STEPS)
    found = _probabilities(_left_out(kernel.copy(), targets), given)
    progress(2, STEPS)
    _add_cosines(kernel, texts, PARTS)
    found += _probabilities(_left_out(kernel, targets), given)
    progress(STEPS, STEPS)
    return found / 2


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
    spread = vectors.std(axis=0)
    rows = (vectors - vectors.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    rows = rows.reshape(len(rows), -1)  # [N, L × D]
    rows /= np.sqrt(max(float((rows * rows).sum(axis=1).mean()), 1e-12))
    squares = (rows * rows).sum(axis=1)
    for start in range(0, len(rows), BLOCK):
        some = slice(start, start + BLOCK)
        apart = squares[some, None] + squares[None] - 2 * (rows[some] @ rows.T)
        kernel[some] += OF_VECTORS * np.exp(-apart / 2)  # the mean of `apart` is 2


def _left_out(kernel: Kernel, targets: NDArray[np.float64]) -> NDArray[np.float64]:
    """Leave-one-out predictions, float64 [N, C]; overwrites the kernel."""
    kernel[np.diag_indices_from(kernel)] += RIDGE
    factor, failed = lapack.spotrf(kernel.T, lower=1, overwrite_a=1)  # in place
    assert not failed  # a sum of kernels and the ridge is positive definite
    inverse, failed = lapack.spotri(factor, lower=1, overwrite_c=1)
    assert not failed
    pulled = blas.ssymm(1.0, inverse, targets.astype(np.float32), lower=1)  # [N, C]
    return np.asarray(targets - pulled / inverse.diagonal()[:, None], dtype=np.float64)


def _probabilities(said: NDArray[np.float64], given: NDArray[np.int64]) -> NDArray[np.float64]:
    """The softmax with the most likely scale, float64 [N, C]."""
    rows, best = np.arange(len(said)), (np.inf, np.empty(0))
    for scale in SCALES:
        logits = scale * (said - said.max(axis=1, keepdims=True))
        sums = np.exp(logits).sum(axis=1)
        loss = float((np.log(sums) - logits[rows, given]).mean())
        if loss < best[0]:
            best = (loss, np.exp(logits) / sums[:, None])
    return best[1]
