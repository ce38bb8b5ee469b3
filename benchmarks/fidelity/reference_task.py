"""What the reference needs of each kind of task."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer

from benchmarks.fidelity.settings import Setting

EVALUATION_BATCH = 64
Example = dict[str, Any]


class ReferenceTask(ABC):
    """A model of transformers with the head of a task, and the examples it is trained on."""

    model: torch.nn.Module
    examples: list[Example]

    def __init__(self, checkpoint: Path, setting: Setting, train: Path) -> None:
        self.setting = setting
        self.tokenizer = AutoTokenizer.from_pretrained(checkpoint)
        self.start(checkpoint, train)

    @abstractmethod
    def start(self, checkpoint: Path, train: Path) -> None:
        """Make `model` from a checkpoint, with a fresh head, and `examples` from a file."""

    @abstractmethod
    def evaluate(self, path: Path) -> dict[str, float]:
        """The figures of the model on a file."""

    def collate(self, examples: list[Example]) -> dict[str, Tensor]:
        """A batch, padded to the longest of its examples."""
        return dict(self.tokenizer.pad(examples, return_tensors="pt"))

    def outputs(self, examples: list[Example]) -> Iterator[Any]:
        """What the model gives for a batch at a time, in order."""
        for first in range(0, len(examples), EVALUATION_BATCH):
            yield self.model(**self.collate(examples[first : first + EVALUATION_BATCH]))
