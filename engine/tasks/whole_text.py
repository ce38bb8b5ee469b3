"""Tasks that predict something for a whole sentence or pair, from the vector of [CLS].

Shapes: B sequences, C outputs.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from torch import Tensor

from engine.config.task import AggregatingTask, Aggregation, TaskSpec, WindowedTask
from engine.config.tasks import get_head
from engine.data.datasets.rows import Rows
from engine.data.tokenized.dataset import tokenize_examples
from engine.data.tokenized.windows import tokenize_windows
from engine.errors import StudioError
from engine.messages.explore.prediction import Passage, Predict
from engine.models.checkpoint import Checkpoint
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.evaluating import collect_predictions
from engine.tasks.inputs import Inputs, max_tokens
from engine.tasks.learner import (
    Batch,
    Counts,
    Examples,
    Learner,
    LogitsCollector,
    Losses,
    pool_windows,
    random_tokens,
)
from engine.tasks.passages import cut_texts, passage_effects
from engine.tokenizers.tokenizer import Tokenizer


class WholeTextLearner(Learner):
    """Tokenizes a text or a pair of each row; a task adds the targets and the loss.

    If it is `taught`, the targets are the outputs of a teacher, float32 [rows, C], and the loss is
    the mean squared difference from them (Ba and Caruana 2014, §2.2).
    """

    task: TaskSpec
    taught = False

    @property
    def tokenization(self) -> str:
        return f"windows-{self._stride}" if self._stride is not None else "examples"

    @property
    def _stride(self) -> int | None:
        """The document stride; None if long texts are truncated."""
        task = self.task
        return task.doc_stride if isinstance(task, WindowedTask) and task.reads_windows else None

    @property
    def aggregate(self) -> Aggregation:
        """Pooling of the outputs of windows."""
        return self.task.aggregate if isinstance(self.task, AggregatingTask) else "mean"

    def row_logits(self, network: Network, batch: Batch) -> Tensor:
        """Logits of the examples of a batch, float32 [B, C]."""
        if batch.windows is None:
            return network.logits(*batch.inputs)
        if self.aggregate != "attention":
            return pool_windows(network.logits(*batch.inputs), batch.windows, self.aggregate)
        outputs = network.logits(*batch.inputs, with_score=True)
        return pool_windows(outputs, batch.windows, self.aggregate)

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        counts = counts or self.counts(batch)
        logits = self.row_logits(network, batch)  # [B, C]
        count = counts[self.term]
        if self.taught:
            return {self.term: F.mse_loss(logits, batch.targets, reduction="sum") / count}
        return {self.term: self.label_loss(logits, batch.targets, count)}

    def counts(self, batch: Batch) -> dict[str, float]:
        count = batch.targets.numel() if self.taught else self.label_count(batch)
        return {self.term: count or 1}

    @abstractmethod
    def label_loss(self, logits: Tensor, targets: Tensor, count: float | Tensor) -> Tensor:
        """Loss of logits [B, C] against labels, summed and divided by `count`."""

    def label_count(self, batch: Batch) -> float:
        """Divisor of the mean of `label_loss`."""
        return batch.size

    def typed_outputs(
        self, checkpoint: Checkpoint, inputs: Inputs, question: Predict
    ) -> tuple[Tensor, tuple[Passage, ...]]:
        """The outputs of a typed text, float32 [1, C], and its windows if it has several.

        They are scaled as those of a collector. A text with masked tokens is read at once.
        """
        length = max_tokens(checkpoint)
        if self._stride is None or inputs.masked:
            logits = checkpoint.network.logits(inputs.tokens, inputs.segments)
            return self.scale(logits), ()
        rows = Rows([question.text], None if question.pair is None else [question.pair])
        windows = list[tuple[np.ndarray, np.ndarray]]()

        def keep(examples: Examples) -> None:
            tokenized = examples.tokenized
            windows.extend((tokenized.ids(n), tokenized.segments(n)) for n in range(len(examples)))

        collector = collect_predictions(checkpoint, self, rows, length, on_tokenized=keep)
        assert isinstance(collector, LogitsCollector)
        outputs = torch.from_numpy(collector.logits)
        if len(windows) < 2:
            return outputs, ()
        assert isinstance(self.task, WindowedTask)
        texts = [question.text, *([] if question.pair is None else [question.pair])]
        length = self.task.with_window(length).window_length
        cut = cut_texts(checkpoint.tokenizer, texts, length, self._stride)
        are_classes = get_head(self.task.kind).classifies
        effects = passage_effects(
            *(checkpoint, self, collector, windows, cut, self.aggregate, are_classes)
        )
        return outputs, tuple(
            Passage(
                segment=cut.text,
                start=start,
                end=end,
                effect=float(effect),
                weight=float(weight),
                **self.describe_output(torch.from_numpy(alone)),
            )
            for (start, end), effect, weight, alone in zip(
                cut.characters, effects, collector.weights, collector.outputs, strict=True
            )
        )

    def scale(self, logits: Tensor) -> Tensor:
        """Divide logits by the temperature."""
        return logits / self.prediction.temperature

    @abstractmethod
    def describe_output(self, output: Tensor) -> dict[str, Any]:
        """The predicted `label`, if any, and its probability as the `value`, or the number.

        Args:
            output: of one text or window, divided by the temperature, float32 [C].
        """

    @abstractmethod
    def targets(self, rows: Rows) -> np.ndarray | None:
        """The target of each row, [rows, …]; None if unlabelled."""

    def all_labels(self, names: Mapping[str, str], given: Iterable[str]) -> tuple[str, ...]:
        """The labels of the model, then those of `given` that it does not know, which are counted;
        `names` maps the labels of a file to those of the model."""
        known = set(self._labels)
        self.new_labels = Counter(names[label] for label in given if names[label] not in known)
        return (*self._labels, *self.new_labels)

    @abstractmethod
    def random_targets(self, count: int, rng: Generator) -> np.ndarray:
        """Random targets, [count, …]."""

    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> Examples:
        # first, so that invalid targets are reported before tokenizing
        targets, columns = self.targets(rows), (rows.texts, rows.pairs)
        if self._stride is None:
            examples = tokenize_examples(*columns, tokenizer, max_length, folder, progress)
            return Examples(examples, targets)
        assert isinstance(self.task, WindowedTask)
        length = self.task.with_window(max_length).window_length
        tokenized, owners = tokenize_windows(
            *columns, tokenizer, length, self._stride, folder, progress
        )
        return Examples(tokenized, None if targets is None else targets[owners], owners=owners)

    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        tokens = torch.from_numpy(random_tokens(count, width, tokenizer, rng))
        targets = torch.from_numpy(self.random_targets(count, rng))
        return Batch(tokens, torch.zeros_like(tokens), None, targets, None)


def label_weights(
    labels: Sequence[str], given: dict[str, float], balanced: np.ndarray | None
) -> torch.Tensor | None:
    """The weight of each label, float32 [C]: the given one, else the balanced one, else 1.

    None without weights. Raises StudioError if a weight names no label.
    """
    if unknown := sorted(set(given) - set(labels)):
        raise StudioError(
            "There is a weight for “{unknown}”, but no label has this name.",
            "Use one of the labels {labels}, or remove this weight.",
            unknown=unknown[0],
            labels=quote_labels(labels),
        )
    if not given and balanced is None:
        return None
    weights = np.ones(len(labels)) if balanced is None else balanced
    result = [given.get(label, weight) for label, weight in zip(labels, weights, strict=True)]
    return torch.tensor(result, dtype=torch.float32)


def quote_labels(labels: Sequence[str]) -> str:
    """The first labels in quotation marks, for a sentence."""
    shown = ", ".join(f"“{label}”" for label in labels[:10])
    return shown + (phrase(" and {count} more", count=len(labels) - 10) if len(labels) > 10 else "")


def label_sort_key(label: str) -> tuple[bool, float, str]:
    """A sort key for labels: numbers by value, then names."""
    try:
        return (False, float(label), label)
    except ValueError:
        return (True, 0.0, label)
