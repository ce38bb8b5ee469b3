"""Simple models for the same rows, so that a score has something to stand beside.

The labels of the training rows alone, and words without their order: TF-IDF of words and pairs of
neighbours (Salton and Buckley 1988) with logistic or ridge regression, as scikit-learn has them;
for tags the most frequent one of a word; for choices the cosine with the text; for questions the
words nearest to theirs (`engine.tasks.answer_baselines`). Every figure of what they say is computed
as that of a fine-tuned model.

N rows, C labels, F features, W words.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.config.task import TaskSpec
from engine.data.columns.words import words_of
from engine.data.datasets.rows import Rows
from engine.tasks import learner_for
from engine.tasks.answer_baselines import nearest_words
from engine.tasks.learner import Examples, Learner, LogitsCollector, TaskPredictions
from engine.tasks.multiple_choice import MultipleChoiceLearner, endings_of
from engine.tasks.predicted_tags import UNKNOWN, Sentences, TagCollector
from engine.tasks.question_answering import ChosenAnswers, QuestionAnsweringLearner
from engine.tasks.sentence_similarity import SentenceSimilarityLearner, text_columns
from engine.tasks.token_classification import TokenClassificationLearner, tag_numbers
from engine.tasks.whole_text import WholeTextLearner

WORD = r"(?u)\b\w+\b"
MOST_FEATURES = 500_000
MOST_WEIGHTS = 20_000_000  # of all labels together; 160 MB
ITERATIONS = 1_000  # of the logistic regression, at most
RANKED = 32  # texts that are ranked at a time
LEAST = 1e-9  # probability of a label that no training row has

Numbers = NDArray[np.float64]
Fitted = Callable[[Learner, Rows, Rows], Numbers]  # training rows, others: logits [N, C]


@dataclass(frozen=True)
class Baseline:
    """A simple model: the name of its files, that which people read, and what it predicts."""

    key: str
    name: str
    predict: Callable[[Learner, Rows, Rows], TaskPredictions]


def baselines(task: TaskSpec) -> tuple[Baseline, ...]:
    """The baselines of a task that are fitted on its rows.

    That of pre-training is counted: `engine.results.unigram`.
    """
    majority = Baseline("majority", "Majority", _whole(_frequencies))
    match task.kind:
        case "multi_label":
            classes = Baseline("tfidf", "TF-IDF + logistic regression", _whole(_each_label))
            return majority, classes
        case "regression":
            mean = Baseline("majority", "Mean", _whole(_mean))
            return mean, Baseline("tfidf", "TF-IDF + ridge regression", _whole(_ridge))
        case "multiple_choice":
            place = Baseline("majority", "Most frequent position", _choices(_positions))
            return place, Baseline("tfidf", "TF-IDF cosine", _choices(_cosines))
        case "sentence_similarity":
            return (Baseline("tfidf", "TF-IDF cosine", _similar),)
        case "token_classification":
            return (Baseline("word-tags", "Most frequent tag of each word", _word_tags),)
        case "question_answering":
            return (Baseline("nearest-words", "Words nearest to the question's", _answers),)
        case "text_classification" | "pair_classification":
            classes = Baseline("tfidf", "TF-IDF + logistic regression", _whole(_logistic))
            return majority, classes
    return ()


def predicted(
    baseline: Baseline, task: TaskSpec, train: Rows, rows: Rows
) -> tuple[TaskPredictions, tuple[str, ...]]:
    """What a baseline that is fitted on the training rows says of others, and the labels.

    Raises StudioError where the rows are not what the task can learn from.
    """
    learner = learner_for(task)
    learner.fit_labels(train)
    return baseline.predict(learner, train, rows), learner.labels


class _Unpacked(Examples):
    """Rows that no network reads: their number and targets."""

    def __init__(self, count: int, targets: NDArray[Any] | None) -> None:
        self._count, self.targets = count, targets

    def __len__(self) -> int:
        return self._count


# ── one text or pair: classes, sets of labels, numbers ───────────────────────────────────────


def _whole(fit: Fitted) -> Callable[[Learner, Rows, Rows], TaskPredictions]:
    def predict(learner: Learner, train: Rows, rows: Rows) -> TaskPredictions:
        assert isinstance(learner, WholeTextLearner)
        collected = learner.metrics(_Unpacked(len(rows), learner.targets(rows)))
        assert isinstance(collected, LogitsCollector)
        collected.logits[:] = fit(learner, train, rows)
        return collected

    return predict


def _targets(learner: Learner, rows: Rows) -> NDArray[Any]:
    assert isinstance(learner, WholeTextLearner)
    targets = learner.targets(rows)
    assert targets is not None
    return targets


def _frequencies(learner: Learner, train: Rows, rows: Rows) -> Numbers:
    """How frequent each label is, for every row alike."""
    targets = _targets(learner, train)
    if targets.ndim == 2:  # sets of labels
        return np.repeat(_log_odds(targets.mean(axis=0, dtype=np.float64))[None], len(rows), 0)
    counts = np.bincount(targets, minlength=len(learner.labels))
    return np.repeat(_logs(counts / counts.sum())[None], len(rows), axis=0)


def _mean(learner: Learner, train: Rows, rows: Rows) -> Numbers:
    return np.full((len(rows), 1), _targets(learner, train).mean(dtype=np.float64))


def _logistic(learner: Learner, train: Rows, rows: Rows) -> Numbers:
    targets = _targets(learner, train)
    known, others = _features(train, rows, len(learner.labels))
    found = np.full((len(rows), len(learner.labels)), np.log(LEAST))
    model = _logistic_regression().fit(known, targets)
    found[:, model.classes_] = _logs(model.predict_proba(others))
    return found


def _each_label(learner: Learner, train: Rows, rows: Rows) -> Numbers:
    """A regression for each label; what all training rows have, or none, is as in them."""
    targets = _targets(learner, train)
    known, others = _features(train, rows, len(learner.labels))
    found = np.zeros((len(rows), len(learner.labels)))
    for label, column in enumerate(targets.T):
        if column.min() == column.max():
            found[:, label] = _log_odds(np.array([column[0]]))[0]
        else:
            model = _logistic_regression().fit(known, column)
            found[:, label] = model.decision_function(others)
    return found


def _ridge(learner: Learner, train: Rows, rows: Rows) -> Numbers:
    from sklearn.linear_model import Ridge

    known, others = _features(train, rows, 1)
    found: Numbers = Ridge().fit(known, _targets(learner, train)).predict(others)
    return found[:, None]


def _logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=ITERATIONS)


def _features(train: Rows, rows: Rows, outputs: int) -> tuple[Any, Any]:
    """TF-IDF of a text, sparse float64 [N, F]; of a pair that of both, how far they are apart word
    by word, and their cosine."""
    vectorizer = _vectorizer(outputs).fit(_never_empty([*train.texts, *(train.pairs or ())]))

    def features(some: Rows) -> Any:
        from scipy.sparse import csr_matrix, hstack

        first = vectorizer.transform(some.texts)
        if some.pairs is None:
            return first
        second = vectorizer.transform(some.pairs)
        cosine = csr_matrix(first.multiply(second).sum(axis=1))
        return hstack([first, second, abs(first - second), cosine]).tocsr()

    return features(train), features(rows)


def _vectorizer(outputs: int = 1) -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer

    most = min(MOST_FEATURES, MOST_WEIGHTS // outputs)
    return TfidfVectorizer(
        sublinear_tf=True, ngram_range=(1, 2), token_pattern=WORD, max_features=most
    )


def _never_empty(texts: list[str]) -> list[str]:
    """With a text more, so that there is a word at least."""
    return [*texts, "a"]


# ── choices ──────────────────────────────────────────────────────────────────────────────────


def _choices(fit: Fitted) -> Callable[[Learner, Rows, Rows], TaskPredictions]:
    def predict(learner: Learner, train: Rows, rows: Rows) -> TaskPredictions:
        examples = _Unpacked(len(rows), _right_ones(learner, rows))
        examples.inputs_per_example = len(endings_of(rows)[0])
        collected = learner.metrics(examples)
        assert isinstance(collected, LogitsCollector)
        collected.logits[:] = fit(learner, train, rows)
        return collected

    return predict


def _right_ones(learner: Learner, rows: Rows) -> NDArray[np.int64] | None:
    assert isinstance(learner, MultipleChoiceLearner)
    return learner.targets(rows)


def _positions(learner: Learner, train: Rows, rows: Rows) -> Numbers:
    targets = _right_ones(learner, train)
    assert targets is not None
    counts = np.bincount(targets, minlength=len(endings_of(rows)[0]))
    return np.repeat(_logs(counts / counts.sum())[None], len(rows), axis=0)


def _cosines(_: Learner, train: Rows, rows: Rows) -> Numbers:
    """The cosine of the text with each ending."""
    vectorizer = _vectorizer().fit(_never_empty(list(train.all_texts())))
    texts = [
        f"{text} {begun}"
        for text, begun in zip(rows.texts, rows.beginnings or [""] * len(rows), strict=True)
    ]
    given = vectorizer.transform(texts)
    columns = zip(*endings_of(rows), strict=True)
    cosines = [given.multiply(vectorizer.transform(column)).sum(axis=1) for column in columns]
    return np.hstack([np.asarray(one) for one in cosines])


# ── similar texts ────────────────────────────────────────────────────────────────────────────


def _similar(learner: Learner, train: Rows, rows: Rows) -> TaskPredictions:
    """The cosine of two texts, and the rank of the second one among all."""
    assert isinstance(learner, SentenceSimilarityLearner)
    collected = learner.unpacked(rows)
    vectorizer = _vectorizer().fit(_never_empty(list(train.all_texts())))
    columns = text_columns(rows, learner.objective_of(rows))
    first, *others = (vectorizer.transform(column) for column in columns)
    cosines = np.hstack([np.asarray(first.multiply(one).sum(axis=1)) for one in others])
    ranks, losses = np.ones(len(rows), dtype=np.int64), np.zeros(len(rows))
    if learner.measured[0] == "mrr":
        for start in range(0, len(rows), RANKED):
            some = slice(start, start + RANKED)
            every = (first[some] @ others[0].T).toarray()  # [RANKED, N]
            own = cosines[some, :1]
            nearer = every > own + LEAST
            ranks[some] = 1 + nearer.sum(axis=1)
            among = every[:, some] * learner.task.scale
            losses[some] = np.log(np.exp(among).sum(axis=1)) - own[:, 0] * learner.task.scale
    collected.put(cosines, ranks, losses)
    return collected


# ── answers ──────────────────────────────────────────────────────────────────────────────────


def _answers(learner: Learner, train: Rows, rows: Rows) -> ChosenAnswers:
    assert isinstance(learner, QuestionAnsweringLearner)
    return nearest_words(learner.task, train, rows)


# ── tags ─────────────────────────────────────────────────────────────────────────────────────


def _word_tags(learner: Learner, train: Rows, rows: Rows) -> TagCollector:
    """The most frequent tag of a word in the training rows; of a word that is not there, that of
    the word in lower case, or the most frequent one of all."""
    assert isinstance(learner, TokenClassificationLearner)
    known = _tag_counts(learner, train)
    words = [words_of(cell) for cell in rows.texts]
    sentences = _sentences(learner, rows, words)
    keys = (
        next(key for key in (word, word.lower(), "") if key in known)
        for some in words
        for word in some
    )
    counts = np.array([known[key] for key in keys]).reshape(-1, len(learner.labels))  # [W, C]
    shares = counts / counts.sum(axis=1, keepdims=True)
    best, every = shares.argmax(axis=1), np.arange(len(shares))
    losses = np.zeros(len(shares))
    if sentences.targets is not None:
        gold = sentences.targets
        losses = np.where(gold == UNKNOWN, 0, -_logs(shares[every, gold]))
    collected = TagCollector(sentences, learner.labels)
    collected.put(every, best, shares[every, best], losses)
    return collected


def _tag_counts(learner: TokenClassificationLearner, train: Rows) -> dict[str, Numbers]:
    """How often each word has each tag, float64 [C]; under “” all words together."""
    ids = {tag: number for number, tag in enumerate(learner.labels)}
    counts: dict[str, Numbers] = defaultdict(lambda: np.zeros(len(ids)))
    assert train.tags is not None
    for text, cell in zip(train.texts, train.tags, strict=True):
        for word, tag in zip(words_of(text), words_of(cell), strict=True):
            if tag in ids:
                for key in {word, word.lower(), ""}:
                    counts[key][ids[tag]] += 1
    return dict(counts)


def _sentences(
    learner: TokenClassificationLearner, rows: Rows, words: Sequence[Sequence[str]]
) -> Sentences:
    starts = np.cumsum([0, *map(len, words)])
    tags = None if rows.tags is None else tag_numbers(rows)
    targets = None if tags is None else learner.targets(tags)
    return Sentences(
        tokenized=None,  # type: ignore[arg-type]  # no network reads it
        targets=targets,
        cells=rows.texts,
        tags=tags,
        firsts=np.zeros(int(starts[-1]), dtype=np.int32),
        starts=starts,
    )


def _logs(shares: Numbers) -> Numbers:
    logs: Numbers = np.log(np.maximum(shares, LEAST))
    return logs


def _log_odds(shares: Numbers) -> Numbers:
    kept = np.clip(shares.astype(np.float64), LEAST, 1 - LEAST)
    odds: Numbers = np.log(kept / (1 - kept))
    return odds
