"""A fine-tuned classifier at work on rows: probabilities, and figures where there are labels.

Shapes: N rows, C classes.
"""

from pathlib import Path

import numpy as np
import torch

from engine.data.store import Rows
from engine.errors import MissingColumn, StudioError
from engine.evaluation.classification import ClassReport, report
from engine.models import checkpoint
from engine.tasks.classification import same_labels
from engine.tasks.learner import WIDTH_STEP


class Predictor:
    """Loads a checkpoint once and answers for any number of rows."""

    def __init__(self, folder: Path, max_length: int = 512, batch: int = 32) -> None:
        loaded = checkpoint.load(folder)
        if loaded.network.heads.kind != "classes" or loaded.network.task is None:
            raise StudioError(
                f"The model {folder.name} has no class head.",
                "Fine-tune it for classification first, or choose a fine-tuned checkpoint.",
            )
        self._network, self._tokenizer = loaded.network, loaded.tokenizer
        self._longest = min(max_length, loaded.spec.positions)
        self._batch = batch
        self.labels = loaded.labels

    def logits(self, texts: list[str], pairs: list[str] | None) -> np.ndarray:
        """Class logits, float32 [N, C], in the order of the rows."""
        encoded = self._tokenizer.encode_many(texts, pairs, self._longest)
        order = sorted(range(len(encoded)), key=lambda i: len(encoded[i][0]))
        out = np.empty((len(encoded), len(self.labels)), dtype=np.float32)
        for first in range(0, len(order), self._batch):
            numbers = order[first : first + self._batch]
            longest = max(len(encoded[i][0]) for i in numbers)
            width = -(-longest // WIDTH_STEP) * WIDTH_STEP
            tokens = torch.full((len(numbers), width), self._tokenizer.pad)
            segments, real = torch.zeros_like(tokens), torch.zeros_like(tokens, dtype=torch.bool)
            for row, i in enumerate(numbers):
                ids, kinds = encoded[i]
                tokens[row, : len(ids)] = torch.tensor(ids)
                segments[row, : len(ids)] = torch.tensor(kinds)
                real[row, : len(ids)] = True
            with torch.inference_mode():
                out[numbers] = self._network.logits(tokens, segments, real).numpy()
        return out

    def probabilities(self, texts: list[str], pairs: list[str] | None) -> np.ndarray:
        """Class probabilities, float32 [N, C]."""
        return torch.from_numpy(self.logits(texts, pairs)).softmax(1).numpy()

    def judge(self, rows: Rows) -> ClassReport:
        """Compare with the labels of the rows, by name or by number."""
        if rows.labels is None:
            raise MissingColumn("label", ["text"] + (["pair"] if rows.pairs else []))
        names = same_labels(set(rows.labels), self.labels)
        ids = {label: number for number, label in enumerate(self.labels)}
        targets = np.array([ids[names[label]] for label in rows.labels])
        return report(self.logits(rows.texts, rows.pairs), targets, self.labels)
