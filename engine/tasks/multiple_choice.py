"""Multiple choice (Devlin et al. 2019, §4.4).

Each ending is a pair with its text; one output on the pooled vector of [CLS] gives its score.
Shapes: B examples, E endings of each, T tokens.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.random import Generator
from numpy.typing import NDArray

from engine.config.prediction import PredictionSettings
from engine.config.tasks.multiple_choice import MultipleChoice
from engine.data.columns.choices import first_choice_number, parse_choice_labels, parse_endings
from engine.data.columns.roles import MissingRole
from engine.data.datasets.rows import Rows
from engine.data.tokenized.dataset import open_cached, tokenize_examples
from engine.errors import StudioError
from engine.evaluation.multiple_choice import ChoiceReport, report
from engine.messages.explore.prediction import Predict, Predicted
from engine.models.checkpoint import Checkpoint
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.baselines import (
    FitFunction,
    Floats,
    UntokenizedExamples,
    add_word,
    log_probabilities,
    tfidf,
)
from engine.tasks.evaluating import collect_predictions
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs, max_tokens
from engine.tasks.learner import (
    Baseline,
    Batch,
    Counts,
    Examples,
    Learner,
    LogitsCollector,
    Losses,
    TaskPredictions,
    count_targets,
    random_tokens,
    ranked_labels,
    scaled_cross_entropy,
)
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.text_classification import class_predictions
from engine.tokenizers.tokenizer import Tokenizer

DEFAULT_ENDINGS = 4  # before `fit_labels`


class MultipleChoiceLearner(Learner):
    """A softmax over the scores of the endings, and cross-entropy."""

    task: MultipleChoice
    term = "choices"
    tokenization = "choices"

    def __init__(self, task: MultipleChoice) -> None:
        super().__init__(task)
        self._first_number: int | None = None  # that labels give to the first ending
        self._endings = DEFAULT_ENDINGS

    def fit_labels(self, rows: Rows) -> None:
        endings = row_endings(rows)
        if rows.labels is None:
            raise MissingRole("label")
        self._endings = len(endings[0])
        self._first_number = first_choice_number(rows.labels, self._endings)
        parse_choice_labels(rows.labels, endings, self._first_number, rows.lines)

    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> Examples:
        endings, targets = row_endings(rows), self.targets(rows)
        count = len(endings[0])
        if (cached := open_cached(folder)) is not None:
            return Examples(cached, targets, count)
        texts = [text for text in rows.texts for _ in range(count)]
        beginnings = rows.beginnings or [""] * len(rows)
        pairs = [
            f"{beginning} {ending}".strip()
            for beginning, row in zip(beginnings, endings, strict=True)
            for ending in row
        ]
        tokenized = tokenize_examples(texts, pairs, tokenizer, max_length, folder, progress)
        return Examples(tokenized, targets, count)

    def targets(self, rows: Rows) -> np.ndarray | None:
        """The index of the right ending of each row, int64 [rows]; None if unlabelled."""
        if rows.labels is None:
            return None
        right = parse_choice_labels(rows.labels, row_endings(rows), self._first_number, rows.lines)
        return np.array(right, dtype=np.int64)

    def target_counts(self, examples: Examples) -> Counter[str]:
        """Count by the position of the right choice, from 1."""
        names = [str(index + 1) for index in range(examples.inputs_per_example)]
        return count_targets(examples.targets, names)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        return [
            phrase("correct choice") if index == right else phrase("wrong choice")
            for right in batch.targets.tolist()
            for index in range(batch.inputs_per_example)
        ]

    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        rows = random_tokens(count * self._endings, width, tokenizer, rng)
        tokens = torch.from_numpy(rows)
        targets = torch.from_numpy(rng.integers(0, self._endings, count))
        segments = torch.zeros_like(tokens)
        return Batch(tokens, segments, None, targets, None, inputs_per_example=self._endings)

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        counts = counts or self.counts(batch)
        scores = network.logits(*batch.inputs)  # [B * E, 1]
        scores = scores.reshape(batch.size, batch.inputs_per_example)  # [B, E]
        return {"choices": scaled_cross_entropy(scores, batch.targets, counts["choices"])}

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """Probabilities of the choices, best first; the second text is the start of each choice."""
        choices = tuple(choice.strip() for choice in question.endings if choice.strip())
        if len(choices) < 2:
            raise StudioError(
                "This model picks one of several choices.", "Type at least two choices."
            )
        beginnings = None if question.pair is None else [question.pair]
        rows = Rows([question.text], beginnings=beginnings, endings=[choices])
        [record] = collect_predictions(checkpoint, self, rows, max_tokens(checkpoint)).predictions()
        probabilities = torch.tensor([record[f"p({n})"] for n in range(len(choices))])  # [E]
        best = [int(probabilities.argmax())]
        return ranked_labels(self.task.kind, choices, require_finite(probabilities), inputs, best)

    def baselines(self) -> tuple[Baseline, ...]:
        return (
            Baseline("majority", "Most frequent position", _choice_baseline(_position_frequencies)),
            Baseline("tfidf", "TF-IDF cosine", _choice_baseline(_cosines)),
        )

    def make_metrics(self, examples: Examples) -> "ChoiceCollector":
        settings = PredictionSettings(temperature=self.prediction.temperature)
        return ChoiceCollector(examples, examples.inputs_per_example, settings)


class ChoiceCollector(LogitsCollector):
    """Predicts the ending with the highest score."""

    def report(self) -> ChoiceReport:
        if self._targets is None:
            raise MissingRole("label")
        return report(self.logits, self._targets)

    def predictions(self) -> list[dict[str, Any]]:
        """The index of the chosen ending, from 0, and the probability of each."""
        probabilities = torch.from_numpy(self.logits).softmax(1).numpy()
        return [
            {
                "choice": int(best),
                "probability": float(row[best]),
                **{f"p({index})": float(p) for index, p in enumerate(row)},
            }
            for row, best in zip(probabilities, probabilities.argmax(1), strict=True)
        ]

    def row_predictions(self) -> RowPredictions:
        """The endings are classes named by their index, from 0."""
        names = [str(index) for index in range(self.logits.shape[1])]
        return class_predictions(self.logits, self._targets, names, self.settings)


def row_endings(rows: Rows) -> list[tuple[str, ...]]:
    """Endings of each row. Raises StudioError if no column is mapped to them."""
    if rows.endings is None:
        raise StudioError(
            "It is not clear which columns hold the choices.",
            "Choose them, or use --endings A,B,C,D on the command line.",
        )
    return parse_endings(rows.endings, rows.lines)


def _choice_baseline(fit: FitFunction) -> Callable[[Learner, Rows, Rows], TaskPredictions]:
    def predict(learner: Learner, train: Rows, rows: Rows) -> TaskPredictions:
        examples = UntokenizedExamples(len(rows), _get_targets(learner, rows))
        examples.inputs_per_example = len(row_endings(rows)[0])
        collector = learner.make_metrics(examples)
        assert isinstance(collector, LogitsCollector)
        collector.logits[:] = fit(learner, train, rows)
        return collector

    return predict


def _get_targets(learner: Learner, rows: Rows) -> NDArray[np.int64] | None:
    assert isinstance(learner, MultipleChoiceLearner)
    return learner.targets(rows)


def _position_frequencies(learner: Learner, train: Rows, rows: Rows) -> Floats:
    targets = _get_targets(learner, train)
    assert targets is not None
    counts = np.bincount(targets, minlength=len(row_endings(rows)[0]))
    return np.repeat(log_probabilities(counts / counts.sum())[None], len(rows), axis=0)


def _cosines(_: Learner, train: Rows, rows: Rows) -> Floats:
    vectorizer = tfidf().fit(add_word(list(train.all_texts())))
    texts = [
        f"{text} {beginning}"
        for text, beginning in zip(rows.texts, rows.beginnings or [""] * len(rows), strict=True)
    ]
    features = vectorizer.transform(texts)
    columns = zip(*row_endings(rows), strict=True)
    cosines = [features.multiply(vectorizer.transform(column)).sum(axis=1) for column in columns]
    return np.hstack([np.asarray(column) for column in cosines])
