"""Regression for a sentence or a pair, as BERT does for STS-B (Devlin et al. 2019, §4.1).

Shapes: B sequences.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from torch import Tensor

from engine.config.prediction import PredictionSettings
from engine.config.tasks.regression import Regression
from engine.data.columns.numbers import parse_number, parse_numbers
from engine.data.columns.roles import MissingRole
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.evaluation.regression import RegressionReport, report
from engine.messages.explore.prediction import Predict, Predicted
from engine.models.checkpoint import Checkpoint
from engine.models.heads import TaskHead
from engine.models.network import Network
from engine.tasks.baselines import Floats, get_targets, tfidf_features, whole_text_baseline
from engine.tasks.finite import require_finite
from engine.tasks.inputs import Inputs
from engine.tasks.learner import Baseline, Batch, Examples, Learner, LogitsCollector
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.whole_text import WholeTextLearner
from engine.tokenizers.tokenizer import Tokenizer


class RegressionLearner(WholeTextLearner):
    """One output on the pooled vector of [CLS], and the mean squared error."""

    task: Regression
    term = "number"

    def fit_labels(self, rows: Rows) -> None:
        numbers = self.targets(rows)
        if numbers is None:
            raise MissingRole("label")
        values = [
            number for cell in rows.labels or () if (number := parse_number(cell)) is not None
        ]
        limits = value_range(values)
        if self.task.range is None:
            self.task = self.task.model_copy(update={"range": limits})

    def targets(self, rows: Rows) -> np.ndarray | None:
        return None if rows.labels is None else parse_numbers(rows.labels, rows.lines)

    def random_targets(self, count: int, rng: Generator) -> np.ndarray:
        return rng.random(count, dtype=np.float32)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        return format_numbers(batch.targets.cpu().numpy())

    @torch.no_grad()
    def init_output_bias(self, network: Network, examples: Examples, tokenizer: Tokenizer) -> None:
        """Start at the mean of the targets, which otherwise takes many steps to reach."""
        assert isinstance(network.task, TaskHead) and examples.targets is not None
        network.task.dense.bias.fill_(float(examples.targets.mean(dtype=np.float64)))

    def label_loss(self, logits: Tensor, targets: Tensor, count: float | Tensor) -> Tensor:
        return F.mse_loss(logits[:, 0], targets, reduction="sum") / count

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """The number, and the range of the training rows if known."""
        outputs, passages = self.typed_outputs(checkpoint, inputs, question)  # [1, 1]
        numbers = require_finite(outputs)
        return Predicted(
            task=self.task.kind,
            tokens=inputs.records,
            truncated=inputs.truncated and self.task.truncates,
            passages=passages,
            value=float(numbers[0, 0]),
            range=self.task.range,
        )

    def describe_output(self, output: Tensor) -> dict[str, Any]:
        return {"value": float(output[0])}

    def scale(self, logits: Tensor) -> Tensor:
        """Apply the activation."""
        return activate(logits, self.prediction)

    def baselines(self) -> tuple[Baseline, ...]:
        return (
            Baseline("majority", "Mean", whole_text_baseline(_mean)),
            Baseline("tfidf", "TF-IDF + ridge regression", whole_text_baseline(_ridge)),
        )

    def make_metrics(self, examples: Examples) -> "NumberCollector":
        return NumberCollector(examples, 1, self.prediction, self.aggregate)


class NumberCollector(LogitsCollector):
    """Predicts a number for each example."""

    def scale(self, outputs: np.ndarray) -> np.ndarray:
        """Apply the activation."""
        numbers: np.ndarray = activate(torch.from_numpy(outputs), self.settings).numpy()
        return numbers

    def report(self) -> RegressionReport:
        if self._targets is None:
            raise MissingRole("label")
        return report(self.logits[:, 0], self._targets)

    def predictions(self) -> list[dict[str, Any]]:
        return [{"number": float(number)} for number in self.logits[:, 0]]

    def row_predictions(self) -> RowPredictions:
        """The loss of a row is its squared error; rows are not simply right or wrong."""
        result = RowPredictions(format_numbers(self.logits[:, 0]), scores=self.logits)
        if self._targets is None:
            return result
        errors = self.logits[:, 0].astype(np.float64) - self._targets.astype(np.float64)
        return replace(result, gold=format_numbers(self._targets), loss=errors**2)


def activate(logits: Tensor, settings: PredictionSettings) -> Tensor:
    """The numbers of logits; by float64, as the last bit of a float32 depends on their count."""
    is_sigmoid = settings.activation == "sigmoid"
    return logits.double().sigmoid().to(logits.dtype) if is_sigmoid else logits


def value_range(numbers: Sequence[float]) -> tuple[float, float]:
    """Lowest and highest number as written, before rounding to float32.

    Raises StudioError if all are the same.
    """
    low, high = min(numbers), max(numbers)
    if low == high:
        raise StudioError(
            "The number is {low} in all {count} training rows: nothing to learn.",
            "Choose another label column, or add rows with other numbers.",
            low=np.format_float_positional(low, trim="-"),
            count=len(numbers),
        )
    return low, high


def format_numbers(numbers: np.ndarray) -> list[str]:
    """Shortest text of each number that identifies it."""
    return [np.format_float_positional(number, trim="-") for number in numbers]


def _mean(learner: Learner, train: Rows, rows: Rows) -> Floats:
    return np.full((len(rows), 1), get_targets(learner, train).mean(dtype=np.float64))


def _ridge(learner: Learner, train: Rows, rows: Rows) -> Floats:
    from sklearn.linear_model import Ridge

    features, new_features = tfidf_features(train, rows, 1)
    predicted: Floats = Ridge().fit(features, get_targets(learner, train)).predict(new_features)
    return predicted[:, None]
