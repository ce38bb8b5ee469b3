"""Which of several endings fits."""

import csv
from pathlib import Path

import torch
from torch import Tensor
from transformers import AutoModelForMultipleChoice

from benchmarks.fidelity.reference_task import Example, ReferenceTask

ENDINGS = 4


class Choices(ReferenceTask):
    """A context with each of its endings is a pair; cross-entropy over their scores."""

    def start(self, checkpoint: Path, train: Path) -> None:
        self.model = AutoModelForMultipleChoice.from_pretrained(checkpoint)
        self.examples = self._read(train)

    def evaluate(self, path: Path) -> dict[str, float]:
        examples = self._read(path)
        predicted = torch.cat([one.logits for one in self.outputs(examples)]).argmax(dim=-1)
        true = torch.tensor([one["labels"] for one in examples])
        return {"accuracy": float((predicted == true).double().mean())}

    def collate(self, examples: list[Example]) -> dict[str, Tensor]:
        """Inputs are int64 [B, endings, T]."""
        flat = [pair for example in examples for pair in example["pairs"]]
        padded = self.tokenizer.pad(flat, return_tensors="pt")
        labels = torch.tensor([example["labels"] for example in examples])
        shaped = {key: rows.unflatten(0, (len(examples), -1)) for key, rows in padded.items()}
        return {**shaped, "labels": labels}

    def _read(self, path: Path) -> list[Example]:
        with path.open(encoding="utf-8", newline="") as file:
            return [self._example(row) for row in csv.DictReader(file)]

    def _example(self, row: dict[str, str]) -> Example:
        endings = [row[f"ending{number}"] for number in range(ENDINGS)]
        longest = self.setting.max_length
        return {
            "pairs": [
                dict(self.tokenizer(row["sent1"], ending, truncation=True, max_length=longest))
                for ending in endings
            ],
            "labels": int(row["label"]),
        }
