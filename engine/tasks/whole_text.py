"""Tasks that predict something for a whole sentence or pair, from the vector of [CLS].

Shapes: B sequences, C outputs.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from torch import Tensor

from engine.data.datasets.rows import Rows
from engine.data.tokenized.dataset import tokenize_examples
from engine.errors import StudioError
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.learner import Batch, Counts, Examples, Learner, Losses, random_tokens
from engine.tokenizers.tokenizer import Tokenizer


class WholeTextLearner(Learner):
    """Tokenizes a text or a pair of each row; a task adds the targets and the loss.

    If it is `taught`, the targets are the outputs of a teacher, float32 [rows, C], and the loss is
    the mean squared difference from them (Ba and Caruana 2014, §2.2).
    """

    tokenization = "examples"
    taught = False

    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        counts = counts or self.counts(batch)
        logits = network.logits(*batch.inputs)  # [B, C]
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
        targets = self.targets(rows)
        tokenized = tokenize_examples(
            rows.texts, rows.pairs, tokenizer, max_length, folder, progress
        )
        return Examples(tokenized, targets)

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
