"""One class, or one number, for a text or a pair."""

import csv
from pathlib import Path
from typing import Any

import torch
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import accuracy_score, f1_score
from torch import Tensor
from transformers import AutoModelForSequenceClassification

from benchmarks.fidelity.reference_task import Example, ReferenceTask

Row = dict[str, str]


class Classes(ReferenceTask):
    """Cross-entropy; the labels are those of the training rows, sorted."""

    def start(self, checkpoint: Path, train: Path) -> None:
        rows = _rows(train)
        self.labels = sorted({row["label"] for row in rows})
        self.model = AutoModelForSequenceClassification.from_pretrained(
            checkpoint, num_labels=len(self.labels)
        )
        self.examples = [self._example(row, self.labels.index(row["label"])) for row in rows]

    def evaluate(self, path: Path) -> dict[str, float]:
        rows = _rows(path)
        true = [self.labels.index(row["label"]) for row in rows]
        predicted = self.logits(rows).argmax(dim=-1).tolist()
        figures = {
            "accuracy": accuracy_score(true, predicted),
            "f1_macro": f1_score(true, predicted, average="macro"),
        }
        if len(self.labels) == 2:
            figures["f1"] = f1_score(true, predicted)  # of the second label
        return figures

    def logits(self, rows: list[Row]) -> Tensor:
        """float32 [rows, classes]"""
        return torch.cat([one.logits for one in self.outputs([self._example(r) for r in rows])])

    def _example(self, row: Row, label: float | None = None) -> Example:
        encoded: dict[str, Any] = self.tokenizer(
            row["text"], row.get("pair"), truncation=True, max_length=self.setting.max_length
        )
        return dict(encoded) if label is None else {**encoded, "labels": label}


class Scores(Classes):
    """Squared error on the numbers as they are."""

    def start(self, checkpoint: Path, train: Path) -> None:
        self.model = AutoModelForSequenceClassification.from_pretrained(
            checkpoint, num_labels=1, problem_type="regression"
        )
        self.examples = [self._example(row, float(row["score"])) for row in _rows(train)]

    def evaluate(self, path: Path) -> dict[str, float]:
        rows = _rows(path)
        true = [float(row["score"]) for row in rows]
        predicted = self.logits(rows)[:, 0].tolist()
        return {
            "pearson": float(pearsonr(predicted, true).statistic),
            "spearman": float(spearmanr(predicted, true).statistic),
        }


def _rows(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
