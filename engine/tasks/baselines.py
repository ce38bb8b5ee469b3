"""Building blocks of baselines, simple models to compare a score with.

`Learner.baselines` lists the baselines of a task. TF-IDF of words and word pairs (Salton and
Buckley 1988) and logistic or ridge regression come from scikit-learn. The metrics of a baseline
are computed like those of a fine-tuned model.

N rows, C labels, F features.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.datasets.rows import Rows
from engine.tasks.learner import Examples, Learner, LogitsCollector, TaskPredictions
from engine.tasks.whole_text import WholeTextLearner

WORD = r"(?u)\b\w+\b"
MAX_FEATURES = 500_000
MAX_WEIGHTS = 20_000_000  # over all labels; 160 MB
MAX_ITERATIONS = 1_000  # logistic regression
EPSILON = 1e-9  # probability of labels without training rows

Floats = NDArray[np.float64]
FitFunction = Callable[[Learner, Rows, Rows], Floats]  # (learner, training rows, others) → logits


class UntokenizedExamples(Examples):
    """Rows without token ids: their number and targets."""

    def __init__(self, count: int, targets: NDArray[Any] | None) -> None:
        self._count, self.targets = count, targets

    def __len__(self) -> int:
        return self._count


def whole_text_baseline(fit: FitFunction) -> Callable[[Learner, Rows, Rows], TaskPredictions]:
    def predict(learner: Learner, train: Rows, rows: Rows) -> TaskPredictions:
        assert isinstance(learner, WholeTextLearner)
        collector = learner.make_metrics(UntokenizedExamples(len(rows), learner.targets(rows)))
        assert isinstance(collector, LogitsCollector)
        collector.logits[:] = fit(learner, train, rows)
        return collector

    return predict


def get_targets(learner: Learner, rows: Rows) -> NDArray[Any]:
    assert isinstance(learner, WholeTextLearner)
    targets = learner.targets(rows)
    assert targets is not None
    return targets


def frequencies(learner: Learner, train: Rows, rows: Rows) -> Floats:
    """Logits from label frequencies, the same for every row."""
    targets = get_targets(learner, train)
    if targets.ndim == 2:  # sets of labels
        return np.repeat(log_odds(targets.mean(axis=0, dtype=np.float64))[None], len(rows), 0)
    counts = np.bincount(targets, minlength=len(learner.labels))
    return np.repeat(log_probabilities(counts / counts.sum())[None], len(rows), axis=0)


def logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=MAX_ITERATIONS)


def tfidf_features(train: Rows, rows: Rows, outputs: int) -> tuple[Any, Any]:
    """TF-IDF of a text, sparse float64 [N, F]; for pairs, of both texts, with their
    absolute differences and cosine."""
    vectorizer = tfidf(outputs).fit(add_word([*train.texts, *(train.pairs or ())]))

    def features(part: Rows) -> Any:
        from scipy.sparse import csr_matrix, hstack

        first = vectorizer.transform(part.texts)
        if part.pairs is None:
            return first
        second = vectorizer.transform(part.pairs)
        cosine = csr_matrix(first.multiply(second).sum(axis=1))
        return hstack([first, second, abs(first - second), cosine]).tocsr()

    return features(train), features(rows)


def tfidf(outputs: int = 1) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    max_features = min(MAX_FEATURES, MAX_WEIGHTS // outputs)
    return TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, 2), token_pattern=WORD, max_features=max_features
    )


def add_word(texts: list[str]) -> list[str]:
    """Add a text of one word, so that the vocabulary is never empty."""
    return [*texts, "a"]


def log_probabilities(probabilities: Floats) -> Floats:
    return np.log(np.maximum(probabilities, EPSILON))


def log_odds(probabilities: Floats) -> Floats:
    clipped = np.clip(probabilities.astype(np.float64), EPSILON, 1 - EPSILON)
    return np.log(clipped / (1 - clipped))
