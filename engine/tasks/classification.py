"""One label for a sentence or a pair (Devlin et al. 2019, §4.1).

Shapes: B sequences, C classes.
"""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.data.packed import pack_examples
from engine.data.store import Rows
from engine.data.tokenizer import Tokenizer
from engine.errors import MissingColumn, StudioError
from engine.evaluation.classification import ClassReport, report
from engine.models.heads import Heads
from engine.models.network import Network
from engine.spec.task import Classification
from engine.tasks.learner import (
    Batch,
    Examples,
    Learner,
    LogitsTally,
    Progress,
    pad,
    random_pieces,
    share_of_mean,
)


class ClassificationLearner(Learner):
    """A linear layer on the pooled vector of [CLS], and cross-entropy."""

    judged_by = "accuracy"
    higher_is_better = True

    def __init__(self, task: Classification) -> None:
        self._labels = task.labels

    @property
    def heads(self) -> Heads:
        return Heads(outputs=len(self._labels))

    @property
    def packing(self) -> str:
        return "examples"

    @property
    def labels(self) -> tuple[str, ...]:
        return self._labels

    def study(self, rows: Rows) -> None:
        found = sorted(set(_labels(rows)), key=_by_number_then_name)
        if not self._labels:
            self._labels = tuple(found)
        if len(found) < 2:
            only = f"all {len(rows)} have “{found[0]}”" if found else "there are none"
            raise StudioError(
                f"The training rows need at least two different labels, and {only}.",
                "Choose another label column, or add rows of another class.",
            )

    def pack(
        self, rows: Rows, tokenizer: Tokenizer, max_length: int, folder: Path, progress: Progress
    ) -> Examples:
        packed = pack_examples(rows.texts, rows.pairs, tokenizer, max_length, folder, progress)
        if rows.labels is None:
            return Examples(packed)
        ids = {label: number for number, label in enumerate(self._labels)}
        known = same_labels(set(rows.labels), self._labels)
        return Examples(packed, np.array([ids[known[x]] for x in rows.labels], dtype=np.int64))

    def prime(self, network: Network, examples: Examples, tokenizer: Tokenizer) -> None:
        """Nothing: a class head that begins near zero learns how frequent each class is at once."""

    def batch(
        self,
        examples: Examples,
        numbers: np.ndarray,
        tokenizer: Tokenizer,
        random: np.random.Generator,
    ) -> Batch:
        padded = pad(examples.packed, numbers, tokenizer.pad)
        if examples.targets is None:
            return Batch(*padded, targets=torch.zeros(len(numbers), dtype=torch.int64), places=None)
        return Batch(*padded, targets=torch.from_numpy(examples.targets[numbers]), places=None)

    def made_up(
        self, count: int, width: int, tokenizer: Tokenizer, random: np.random.Generator
    ) -> Batch:
        tokens = torch.from_numpy(random_pieces(count, width, tokenizer, random))
        targets = torch.from_numpy(random.integers(0, len(self._labels), count))
        return Batch(tokens, torch.zeros_like(tokens), None, targets, None)

    def losses(
        self, network: Network, batch: Batch, whole: Batch | None = None
    ) -> dict[str, Tensor]:
        count = len((whole or batch).targets)
        logits = network.logits(batch.tokens, batch.segments, batch.real)  # [B, C]
        return {"classes": share_of_mean(logits, batch.targets, count)}

    def tally(self, examples: Examples) -> "ClassTally":
        return ClassTally(examples, self._labels)


class ClassTally(LogitsTally):
    """The most likely class of each example."""

    def __init__(self, examples: Examples, labels: tuple[str, ...]) -> None:
        super().__init__(examples, len(labels))
        self._targets, self._labels = examples.targets, labels

    def report(self) -> ClassReport:
        if self._targets is None:
            raise MissingColumn("label", ["text"])
        return report(self.logits, self._targets, self._labels)

    def answers(self) -> list[dict[str, Any]]:
        shares = torch.from_numpy(self.logits).softmax(1).numpy()
        return [
            {
                "label": self._labels[best],
                "probability": float(row[best]),
                **{f"p({label})": float(p) for label, p in zip(self._labels, row, strict=True)},
            }
            for row, best in zip(shares, shares.argmax(1), strict=True)
        ]


def same_labels(found: set[str], known: tuple[str, ...]) -> dict[str, str]:
    """From the labels of a file to those of a model: by name, else by number (its id).

    Raises StudioError where a label of the file cannot be one of the model's.
    """
    if found <= set(known):
        return {label: label for label in found}
    folded = {label.casefold(): label for label in known}
    if all(label.strip().casefold() in folded for label in found):
        return {label: folded[label.strip().casefold()] for label in found}
    if all(label.strip().isdecimal() and int(label) < len(known) for label in found):
        return {label: known[int(label)] for label in found}
    stranger = min(found - set(known))
    raise StudioError(
        f"The file has the label “{stranger}”, and the model knows {_quoted(known)}.",
        "Choose the right label column, or a model that was trained with these labels.",
    )


def _labels(rows: Rows) -> list[str]:
    if rows.labels is None:
        raise MissingColumn("label", ["text"] + (["pair"] if rows.pairs else []))
    return rows.labels


def _quoted(labels: tuple[str, ...]) -> str:
    shown = ", ".join(f"“{label}”" for label in labels[:10])
    return shown + (f" and {len(labels) - 10} more" if len(labels) > 10 else "")


def _by_number_then_name(label: str) -> tuple[bool, float, str]:
    """10 after 9, and names after numbers."""
    try:
        return (False, float(label), label)
    except ValueError:
        return (True, 0.0, label)
