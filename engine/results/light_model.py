"""A light model that is fitted within a second: two logistic regressions, averaged.

One reads TF-IDF of words and word pairs, the other the vectors of a frozen encoder. Only workers
import this file: scikit-learn takes a second. Shapes: N rows, C labels, F features.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression

INVERSE_STRENGTH = 10.0  # of the regularisation of both
MAX_ITERATIONS = 300
TOLERANCE = 1e-3

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]


class LightModel:
    """Predicts labels of rows from those of other rows."""

    def __init__(
        self, texts: Sequence[str], features: NDArray[np.float32], targets: NDArray[np.bool_]
    ) -> None:
        """Take all rows; each fit reads some of them.

        Args:
            texts: N texts, those of a pair joined.
            features: float32 [N, F], of a frozen encoder.
            targets: bool [N, C]; one of them, unless rows may have any number of labels.
        """
        self._texts, self._features, self._targets = texts, features, targets

    def predict(self, train: Indices, others: Indices, any_number: bool = False) -> Floats:
        """Probabilities of the labels for `others`, float64 [others, C], fitted on `train`.

        Args:
            any_number: each label has its own regression; else the probabilities of a row sum to 1.
        """
        words = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2))
        texts = [[self._texts[n] for n in part.tolist()] for part in (train, others)]
        targets, fit = self._targets[train], _fit_each if any_number else _fit_one
        try:
            by_words = fit(words.fit_transform(texts[0]), targets, words.transform(texts[1]))
        except ValueError:  # texts without words
            return fit(self._features[train], targets, self._features[others])
        return (by_words + fit(self._features[train], targets, self._features[others])) / 2


def _fit_one(features: Any, targets: NDArray[np.bool_], others: Any) -> Floats:
    classes = targets.argmax(axis=1)
    p = np.zeros((others.shape[0], targets.shape[1]))
    present = np.unique(classes)
    if len(present) < 2:
        p[:, present] = 1.0
        return p
    model = _regression().fit(features, classes)
    p[:, model.classes_] = model.predict_proba(others)
    return p


def _fit_each(features: Any, targets: NDArray[np.bool_], others: Any) -> Floats:
    """A regression for each label; of a label that all or no rows have, (rows + 0.5) / (N + 1)."""
    p = np.zeros((others.shape[0], targets.shape[1]))
    for label, column in enumerate(targets.T):
        if column.all() or not column.any():
            p[:, label] = (column.sum() + 0.5) / (len(column) + 1)
        else:
            p[:, label] = _regression().fit(features, column).predict_proba(others)[:, 1]
    return p


def _regression() -> LogisticRegression:
    return LogisticRegression(C=INVERSE_STRENGTH, max_iter=MAX_ITERATIONS, tol=TOLERANCE)
