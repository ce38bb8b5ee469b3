"""Interface of a task in torch: head, tokenization, batches, loss, metrics.

Shapes: B sequences, T tokens in each, N predicted tokens.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.random import Generator
from numpy.typing import NDArray
from torch import Tensor

from engine.config.dataset import SplitName
from engine.config.prediction import PredictionSettings
from engine.config.task import (
    AggregatingTask,
    Aggregation,
    LabelledTask,
    TaskSpec,
    WindowedTask,
)
from engine.config.tasks import get_head
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset
from engine.data.tokenized.dataset import TokenizedDataset
from engine.evaluation.report import Report
from engine.messages.explore.prediction import Passage, Predict, Predicted
from engine.messages.explore.text import LabelProbability, Prediction
from engine.models.checkpoint import Checkpoint
from engine.models.fast.padded_blocks import Move
from engine.models.fast.vocabulary_loss import IGNORE_INDEX
from engine.models.heads import Heads
from engine.models.network import Network, Plan
from engine.progress import ProgressCallback
from engine.tasks.inputs import Inputs
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.sending import copy_together
from engine.tokenizers.tokenizer import Tokenizer

DEFAULT_PREDICTION = PredictionSettings()
WIDTH_STEP = 8  # few shapes, and vector instructions prefer multiples of 8
Counts = Mapping[str, float | Tensor]  # by loss term; tensors are float32 scalars
Losses = dict[str, Tensor]  # float32 scalars, by loss term


class Vectors(Protocol):
    """Encoder outputs for each token of the inputs of a `TokenizedDataset`."""

    def read_padded(self, rows: np.ndarray, width: int) -> Tensor:
        """float32 [B, T, N, D] of these inputs, 0 on padding; T is `width`."""
        ...


class Batch(NamedTuple):
    """A batch of examples."""

    tokens: Tensor  # int64 [B, T]; [B * E, T] if each example is E inputs, as with choices;
    # float [.., T, N, D] if a probe reads vectors
    segments: Tensor  # int64, as tokens
    attention_mask: Tensor | None  # bool, as tokens, False is padding; None without padding
    targets: Tensor  # [B, …] or, with positions, [N]; 0 if unlabelled
    positions: Tensor | None  # int64 [N], predicted positions in the flattened [B * T]
    nsp_targets: Tensor | None = None  # int64 [B], 0 if the second segment follows the first
    indices: Tensor | None = None  # int64 [B], of the examples
    inputs_per_example: int = 1  # rows of each example, consecutive
    unpadded: Plan | None = None  # see `plan`
    # int64 [B * E, K], rows of each of E texts of an example, -1 for none; None: one row for each
    windows: Tensor | None = None

    @property
    def size(self) -> int:
        inputs = self.tokens if self.windows is None else self.windows
        return len(inputs) // self.inputs_per_example

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of the longest input of each example, of all its windows together; int64 [B]."""
        lengths: NDArray[np.int64] = self._input_lengths
        if self.windows is not None:
            windows = self.windows.cpu().numpy()
            lengths = np.where(windows >= 0, lengths[windows], 0).sum(1)
        longest: NDArray[np.int64] = lengths.reshape(-1, self.inputs_per_example).max(1)
        return longest

    @property
    def _input_lengths(self) -> np.ndarray:
        """Tokens of each input, int64 [B * E]."""
        if self.attention_mask is None:
            return np.full(len(self.tokens), self.segments.size(1))
        lengths: np.ndarray = self.attention_mask.sum(1).cpu().numpy()
        return lengths

    def _input_rows(self, indices: np.ndarray) -> np.ndarray:
        """Input rows of examples, int64."""
        rows = input_rows(indices, self.inputs_per_example)
        if self.windows is None:
            return rows
        windows: np.ndarray = self.windows.cpu().numpy()[rows]
        return windows[windows >= 0]

    def to(self, device: torch.device) -> "Batch":
        """Move to a device, with its plan; see `copy_together`."""
        if self.tokens.device == device:
            return self
        return self.with_tensors(copy_together(self.tensors, device))

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors that a network reads, in a fixed order."""
        tensors = list[Tensor]()

        def record(tensor: Tensor) -> Tensor:
            tensors.append(tensor)
            return tensor

        self._map_tensors(record)
        return tensors

    def with_tensors(self, tensors: Iterable[Tensor]) -> "Batch":
        remaining = iter(tensors)
        return self._map_tensors(lambda _: next(remaining))

    def _map_tensors(self, move: Move) -> "Batch":
        return Batch(
            move(self.tokens),
            move(self.segments),
            None if self.attention_mask is None else move(self.attention_mask),
            move(self.targets),
            None if self.positions is None else move(self.positions),
            None if self.nsp_targets is None else move(self.nsp_targets),
            self.indices,
            self.inputs_per_example,
            None if self.unpadded is None else self.unpadded.map_tensors(move),
            None if self.windows is None else move(self.windows),
        )

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor | None, Plan | None]:
        """Arguments of `Network.logits`."""
        return self.tokens, self.segments, self.attention_mask, self.unpadded

    def plan(self, network: Network) -> "Batch":
        """Add the plan for running the batch without padding, made on the host if missing."""
        if self.unpadded is not None or not network.uses_plan:
            return self
        (rows, width), mask = self.segments.shape, self.attention_mask
        lengths = np.full(rows, width) if mask is None else mask.sum(1).numpy()
        return self._replace(unpadded=network.unpad(lengths, width, self.positions))

    def parts(self, size: int) -> "list[Batch]":
        """Split into batches of at most `size` examples, each no wider than its longest row.

        0 does not split; padding costs nothing then (see `engine.models.fast.unpadded`).
        """
        if not size or size >= self.size:
            return [self]
        indices = np.arange(self.size)
        return [self.take(indices[n : n + size]) for n in range(0, self.size, size)]

    def take(self, indices: np.ndarray) -> "Batch":
        """Select examples, int64 [n] ascending; no wider than the longest needs."""
        input_indices = self._input_rows(indices)
        old_width = self.segments.size(1)
        width = min(padded_width(int(self._input_lengths[input_indices].max())), old_width)
        selected, rows = torch.from_numpy(indices), torch.from_numpy(input_indices)
        mask = None if self.attention_mask is None else self.attention_mask[rows, :width]
        targets, positions = self.targets, None
        if self.positions is not None:
            new_rows = torch.full((len(self.tokens),), -1)
            new_rows[rows] = torch.arange(len(rows))
            is_taken = new_rows[self.positions // old_width] >= 0
            targets, positions = self.targets[is_taken], self.positions[is_taken]
            positions = new_rows[positions // old_width] * width + positions % old_width
        return Batch(
            self.tokens[rows, :width],
            self.segments[rows, :width],
            None if mask is None or bool(mask.all()) else mask,
            targets if self.positions is not None else targets[selected],
            positions,
            None if self.nsp_targets is None else self.nsp_targets[selected],
            None if self.indices is None else self.indices[selected],
            self.inputs_per_example,
            windows=None
            if self.windows is None
            else number_windows(
                self.windows[torch.from_numpy(input_rows(indices, self.inputs_per_example))]
            ),
        )

    @property
    def token_count(self) -> int:
        return (
            self.segments.numel() if self.attention_mask is None else int(self.attention_mask.sum())
        )


@dataclass
class Examples:
    """Examples of a split as token ids.

    `targets` is [examples, …]; None if unlabelled. If an example is several inputs of the network,
    such as one for each choice, they are consecutive rows of `tokenized`. `notes` are sentences
    about the tokenization.
    """

    tokenized: TokenizedDataset
    targets: np.ndarray | None = None
    inputs_per_example: int = 1
    notes: tuple[str, ...] = ()
    vectors: Vectors | None = None  # read by a probe instead of token ids
    owners: NDArray[np.int64] | None = None  # [examples], row of each window; None: one for each

    @property
    def row_targets(self) -> np.ndarray | None:
        """Targets of the rows, [rows, …]; those of their windows are equal."""
        if self.owners is None or self.targets is None:
            return self.targets
        return self.targets[first_windows(self.owners)]

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values of rows, [rows, …], for the examples."""
        return values if self.owners is None else values[self.owners]

    def add_vectors(self, batch: Batch, indices: np.ndarray) -> Batch:
        """Add the vectors, if any, to a batch of these examples."""
        if self.vectors is None:
            return batch
        rows = input_rows(indices, self.inputs_per_example)
        return batch._replace(tokens=self.vectors.read_padded(rows, batch.tokens.size(1)))

    def __len__(self) -> int:
        return len(self.tokenized) // self.inputs_per_example

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of the longest input of each example, int64 [examples]."""
        lengths: np.ndarray = self.tokenized.lengths.reshape(-1, self.inputs_per_example).max(
            axis=1
        )
        return lengths


@dataclass
class WindowGroups(Examples):
    """Texts as examples of training end to end, each several windows.

    A batch has at most `limit` windows of a text, drawn at random, or the first one if it is 0.
    `targets` are those of examples, and `owners` the text of each window.
    """

    limit: int = 1

    @property
    def row_targets(self) -> np.ndarray | None:
        return self.targets

    def spread(self, values: np.ndarray) -> np.ndarray:
        return values

    def __len__(self) -> int:
        return (len(self._starts) - 1) // self.inputs_per_example

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """First window of each text, int64 [texts + 1]."""
        assert self.owners is not None
        return np.append(first_windows(self.owners), len(self.owners))

    @property
    def lengths(self) -> np.ndarray:
        """Expected tokens of the windows of the longest text of an example, int64 [examples]."""
        counts = np.diff(self._starts)
        tokens = np.add.reduceat(self.tokenized.lengths, self._starts[:-1])
        lengths: np.ndarray = -(-tokens * np.minimum(counts, max(1, self.limit)) // counts)
        longest: np.ndarray = lengths.reshape(-1, self.inputs_per_example).max(1)
        return longest

    def draw(self, indices: np.ndarray, rng: Generator) -> tuple[np.ndarray, Tensor]:
        """Draw windows of these examples: the rows in `tokenized`, and `Batch.windows`."""
        texts = input_rows(indices, self.inputs_per_example)
        drawn = [
            first + (np.sort(rng.permutation(count)[: self.limit]) if self.limit else np.arange(1))
            for first, count in zip(self._starts[texts], np.diff(self._starts)[texts], strict=True)
        ]
        windows = np.full((len(drawn), max(map(len, drawn))), -1)
        for row, some in enumerate(drawn):
            windows[row, : len(some)] = some
        return np.concatenate(drawn), number_windows(torch.from_numpy(windows))


def number_windows(windows: Tensor) -> Tensor:
    """Number the inputs of some examples, int64 [B, K], from 0; -1 stays."""
    is_input = windows >= 0
    numbers = is_input.flatten().cumsum(0).view_as(windows) - 1
    return torch.where(is_input, numbers, -1)


def first_windows(owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """The first window of each row, int64 [rows]; `owners` ascend from 0 without gaps."""
    return np.flatnonzero(np.diff(owners, prepend=-1))


def input_rows(indices: np.ndarray, inputs_per_example: int) -> np.ndarray:
    """Input rows of examples, int64 [B * E]."""
    rows: np.ndarray = (
        indices[:, None] * inputs_per_example + np.arange(inputs_per_example)
    ).ravel()
    return rows


class Metrics(ABC):
    """Accumulates over batches, and computes the metrics at the end."""

    @abstractmethod
    def add(self, network: Network, batch: Batch) -> None:
        """Add a batch; thread-safe and independent of the order."""

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """Metrics by name, without `validation_`; always with `loss` and `examples`."""


class TaskPredictions(ABC):
    """Predictions of a task for rows."""

    @abstractmethod
    def report(self) -> Report:
        """Compare the predictions with the targets. Raises StudioError if rows are unlabelled."""

    @abstractmethod
    def predictions(self) -> list[dict[str, Any]]:
        """A record for each row, in order; its first entry is the prediction."""

    @abstractmethod
    def row_predictions(self) -> RowPredictions:
        """Columns to store for each row, in order, labelled or not.

        Losses of rows are those of the report, whose loss is their mean. A row with several
        targets, such as words or windows, is weighted by their number.
        """


class PredictionCollector(Metrics, TaskPredictions):
    """Predictions of a network for examples."""

    def compute(self) -> dict[str, float]:
        return self.report().metrics()


class LogitsCollector(PredictionCollector):
    """Collects the logits of the task head, float32 [examples, C], divided by the temperature."""

    def __init__(
        self,
        examples: Examples,
        outputs: int,
        settings: PredictionSettings = DEFAULT_PREDICTION,
        aggregate: Aggregation = "mean",
    ) -> None:
        """`aggregate` pools the windows of a row, if examples are windows."""
        self.settings, self._targets = settings, examples.row_targets
        self._owners, self._aggregate = examples.owners, aggregate
        # of the examples: rows, or windows of them
        self.outputs = np.zeros((len(examples), outputs), dtype=np.float32)
        self.scores = np.zeros(len(examples), dtype=np.float32)  # attention of windows

    @property
    def logits(self) -> np.ndarray:
        """Outputs of the rows, float32 [rows, C]."""
        if self._owners is None:
            return self.outputs
        return pool_rows(self.outputs, self._owners, self.scores, self._aggregate)

    @property
    def weights(self) -> np.ndarray:
        """Weight of each window in the highest output of its row, float32 [windows].

        See `row_weights`; with the maximum it is 1 for the window that has this maximum.
        """
        assert self._owners is not None
        if self._aggregate != "max":
            return row_weights(self._owners, self.scores, self._aggregate)
        logits = self.logits  # [rows, C]
        best = logits.argmax(1)[self._owners]  # [windows]
        highest = self.outputs[np.arange(len(best)), best] == logits.max(1)[self._owners]
        sums = np.add.reduceat(highest.astype(np.float32), first_windows(self._owners))
        weights: np.ndarray = highest / sums[self._owners]
        return weights

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.indices is not None
        indices = batch.indices.numpy()
        if self._owners is not None and self._aggregate == "attention":
            both = network.logits(*batch.inputs, with_score=True).cpu().numpy()  # [B, C + 1]
            outputs, self.scores[indices] = both[:, :-1], both[:, -1]
        else:  # [B, C] or [B * E, 1]
            outputs = network.logits(*batch.inputs).cpu().numpy().reshape(batch.size, -1)
        self.outputs[indices] = self.scale(outputs)

    def scale(self, outputs: np.ndarray) -> np.ndarray:
        """Divide logits by the temperature."""
        if self.settings.temperature == 1:
            return outputs
        scaled: np.ndarray = outputs / np.float32(self.settings.temperature)
        return scaled


@dataclass(frozen=True)
class Baseline:
    """A simple model to compare a network with.

    Args:
        key: prefix of its files.
        predict: (learner, training rows, other rows) → predictions for the other rows.
    """

    key: str
    name: str
    predict: Callable[["Learner", Rows, Rows], TaskPredictions]


class Learner(ABC):
    """A task in torch.

    `prediction` holds the thresholds and the temperature of the predicting model.
    """

    prediction = DEFAULT_PREDICTION
    ignore_index = IGNORE_INDEX  # at ignored positions
    term = ""  # name of the loss term, if there is only one
    # for rows that are only evaluated: labels that the model does not know count as errors
    allows_new_labels = False
    target_shape: tuple[int, ...] = ()  # of an example

    def __init__(self, task: TaskSpec) -> None:
        """`task` is stored in checkpoints; `fit_labels` may complete it."""
        self.task = task
        self._labels = task.labels if isinstance(task, LabelledTask) else ()
        self.new_labels = Counter[str]()  # labels that the model does not know, with their count
        self._weights: Tensor | None = None  # class weights, float32 [C]
        self._device_weights: tuple[Tensor | None, Tensor] | None = None  # on a device

    def weights_on(self, device: torch.device) -> Tensor | None:
        """Class weights on a device, float32 [C], cached; None for equal weights."""
        weights, cached = self._weights, self._device_weights
        if weights is None or weights.device == device:
            return weights
        if cached is None or cached[0] is not weights or cached[1].device != device:
            with torch.inference_mode(False):  # an evaluation may be the first caller
                cached = self._device_weights = weights, weights.to(device)
        return cached[1]

    @property
    def best_metric(self) -> str:
        """Metric that compares checkpoints, unless the job names another."""
        return self.task.info.best_metric

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of the computed metrics, which may depend on the labels."""
        return tuple(metric.name for metric in self.task.info.metrics)

    @property
    def heads(self) -> Heads:
        """Heads that a network needs for this task."""
        head = get_head(self.task.kind)
        return Heads(
            outputs=head.outputs_for(len(self.labels)),
            kind=self.task.kind,
            scores_windows=isinstance(self.task, AggregatingTask) and self.task.scores_windows,
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, by id; empty for none."""
        return self._labels

    @property
    def needs_whole_batch(self) -> bool:
        """True if the loss of a row depends on the others, so that a batch cannot be split."""
        return False

    @property
    def long_inputs(self) -> tuple[int, float]:
        """Length of the final, longer inputs of a run, and the fraction of its steps; 0: none."""
        return 0, 0.0

    @property
    def causal(self) -> bool | None:
        """True if the network must be left-to-right, False if it must not; None: either."""
        return self.task.causal

    def rows(self, dataset: Dataset, part: SplitName) -> Rows:
        """Rows of a split as this task reads them."""
        return dataset.rows(part)

    @property
    @abstractmethod
    def tokenization(self) -> str:
        """Cache key of the tokenization, besides the length: runs with the same data, vocabulary
        and key share token ids."""

    def can_evaluate(self, rows: Rows) -> bool:
        """True if the rows have targets to evaluate against."""
        return rows.is_labelled

    def fit_network(self, network: Network) -> None:  # noqa: B027
        """Read the prompt prefix, if any, from the network."""

    @abstractmethod
    def fit_labels(self, rows: Rows) -> None:
        """Complete the task from the training rows, for example its labels."""

    @abstractmethod
    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> Examples:
        """Tokenize rows, cached in `folder`; unlabelled rows have no targets."""

    def target_counts(self, examples: Examples) -> Counter[str]:
        """Counts of the target labels; empty for tasks without labels."""
        return Counter()

    def row(self, examples: Examples, index: int) -> int | None:
        """Row of an example; None if it was built from many."""
        if examples.owners is None or isinstance(examples, WindowGroups):
            return index
        return int(examples.owners[index])

    def fit_length(self, max_length: int) -> None:
        """Complete the task with the maximum length of the inputs of a run."""
        if isinstance(self.task, WindowedTask):
            self.task = self.task.with_window(max_length)

    def training_examples(self, examples: Examples) -> Examples:
        """The examples of training: texts, if several windows of each are trained together."""
        task = self.task
        if examples.owners is None or not isinstance(task, AggregatingTask):
            return examples
        if not task.windows_per_text:
            return examples
        return WindowGroups(
            examples.tokenized,
            examples.row_targets,
            notes=examples.notes,
            owners=examples.owners,
            limit=task.windows_per_text,
        )

    def init_output_bias(  # noqa: B027
        self, network: Network, examples: Examples, tokenizer: Tokenizer
    ) -> None:
        """Initialise the output bias of a new network from label frequencies.

        No-op by default: heads initialised near zero learn the frequencies immediately.
        """

    def batch(
        self, examples: Examples, indices: np.ndarray, tokenizer: Tokenizer, rng: Generator
    ) -> Batch:
        """A batch of examples by index; `rng` is the only source of randomness."""
        rows, windows = input_rows(indices, examples.inputs_per_example), None
        if isinstance(examples, WindowGroups):
            rows, windows = examples.draw(indices, rng)
        targets = torch.zeros((len(indices), *self.target_shape), dtype=torch.int64)
        if examples.targets is not None:
            targets = torch.from_numpy(examples.targets[indices])
        return Batch(
            *pad(examples.tokenized, rows, tokenizer.pad),
            targets=targets,
            positions=None,
            inputs_per_example=examples.inputs_per_example,
            windows=windows,
        )

    def training_batch(
        self, examples: Examples, indices: np.ndarray, tokenizer: Tokenizer, rng: Generator
    ) -> Batch:
        """A batch for `losses`; `batch` is what is predicted and evaluated."""
        return self.batch(examples, indices, tokenizer, rng)

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        """A readable target for each row of a batch."""
        return [""] * len(batch.tokens)

    @abstractmethod
    def dummy_batch(self, count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> Batch:
        """A batch of random tokens of the same width, for measuring a step."""

    @abstractmethod
    def losses(self, network: Network, batch: Batch, counts: Counts | None = None) -> Losses:
        """Loss terms of a batch by name, each a float32 scalar; their sum is minimised.

        Each is a mean over the batch. If the batch is a part of a larger one with these `counts`,
        each is its contribution to the mean over the larger one.
        """

    def counts(self, batch: Batch) -> Mapping[str, float]:
        """Divisor of each loss term's mean over the batch; never 0."""
        return {self.term: batch.size or 1}

    @abstractmethod
    def make_metrics(self, examples: Examples) -> Metrics:
        """New metrics for these examples."""

    @abstractmethod
    def baselines(self) -> tuple[Baseline, ...]:
        """Baselines that are fitted on the training rows."""

    def predict(self, checkpoint: Checkpoint, inputs: Inputs, question: Predict) -> Predicted:
        """Predict a typed text with a fine-tuned model.

        Raises StudioError if the question lacks an input of this task.
        """
        raise NotImplementedError(f"{self.task.kind} has no task head")


def pool_windows(outputs: Tensor, windows: Tensor, aggregate: Aggregation) -> Tensor:
    """Pool the outputs of the windows of each example, as `pool_rows` does, with gradients.

    Args:
        outputs: float32 [W, C]; with attention [W, C + 1], the score last.
        windows: int64 [B, K], see `Batch.windows`.

    Returns:
        float32 [B, C].
    """
    is_input = windows >= 0  # [B, K]
    padded = outputs[windows.clamp(min=0)]  # [B, K, C]
    if aggregate == "max":
        return padded.masked_fill(~is_input[..., None], float("-inf")).amax(1)
    if aggregate == "attention":
        padded, scores = padded[..., :-1], padded[..., -1]
        weights = scores.masked_fill(~is_input, float("-inf")).softmax(1)
    else:
        weights = is_input / is_input.sum(1, keepdim=True)
    return (padded * weights[..., None]).sum(1)


def pool_rows(
    outputs: NDArray[np.float32],
    owners: NDArray[np.int64],
    scores: NDArray[np.float32],
    aggregate: Aggregation,
) -> NDArray[np.float32]:
    """Pool the outputs of the windows of each row, float32 [W, C]: [rows, C].

    Args:
        owners: row of each window, int64 [W].
        scores: learned score of each window, float32 [W]; read by attention only.
    """
    starts = first_windows(owners)
    if aggregate == "max":
        highest: NDArray[np.float32] = np.maximum.reduceat(outputs, starts)
        return highest
    weights = row_weights(owners, scores, aggregate)
    pooled: NDArray[np.float32] = np.add.reduceat(outputs * weights[:, None], starts)
    return pooled


def row_weights(
    owners: NDArray[np.int64], scores: NDArray[np.float32], aggregate: Aggregation
) -> NDArray[np.float32]:
    """Weight of each window in its row, float32 [W], summing to 1: equal for the mean, the softmax
    of the scores for attention (Ilse et al. 2018, eq. 8), 1 for the first."""
    starts = first_windows(owners)
    if aggregate == "first":
        is_first = np.zeros(len(owners), dtype=np.float32)
        is_first[starts] = 1
        return is_first
    if aggregate != "attention":
        scores = np.zeros(len(owners), dtype=np.float32)
    weights: NDArray[np.float32] = np.exp(scores - np.maximum.reduceat(scores, starts)[owners])
    weights /= np.add.reduceat(weights, starts)[owners]
    return weights


def count_targets(targets: np.ndarray | None, names: Sequence[str]) -> Counter[str]:
    """Counts of the targets, int64 [N], by name; negative targets are ignored."""
    if targets is None:
        return Counter()
    counts = np.bincount(targets[targets >= 0], minlength=len(names))
    return Counter({name: int(count) for name, count in zip(names, counts, strict=True) if count})


def special_ids(tokenizer: Tokenizer) -> list[int]:
    special = (tokenizer.pad, tokenizer.unknown, tokenizer.cls, tokenizer.sep, tokenizer.mask_id)
    return [token_id for token_id in special if token_id is not None]


def random_tokens(count: int, width: int, tokenizer: Tokenizer, rng: Generator) -> np.ndarray:
    """Random ordinary tokens, int64 [count, width]."""
    ordinary = np.setdiff1d(np.arange(tokenizer.size), special_ids(tokenizer))
    return rng.choice(ordinary, (count, width))


def scaled_cross_entropy(
    logits: Tensor,
    targets: Tensor,
    count: float | Tensor,
    weights: Tensor | None = None,
    smoothing: float = 0.0,
    ignore_index: int = IGNORE_INDEX,
) -> Tensor:
    """Cross-entropy of logits [N, C] with targets int64 [N], summed and divided by `count`.

    Targets equal to `ignore_index` do not count; removing their rows would synchronise with a GPU.

    With class `weights`, float32 [C], `count` is the sum of the weights of all rows; `smoothing` is
    the fraction of a target that is spread over all classes.
    """
    loss = partial(F.cross_entropy, ignore_index=ignore_index, label_smoothing=smoothing)
    return loss(logits, targets, weights, reduction="sum") / count


def total(losses: dict[str, Tensor]) -> Tensor:
    """Sum of the terms of a loss."""
    return reduce(torch.add, losses.values())


class Padded(NamedTuple):
    tokens: Tensor  # int64 [B, T]
    segments: Tensor  # int64 [B, T]
    attention_mask: Tensor | None  # bool [B, T]


def padded_width(length: int) -> int:
    """Padded width if the longest row has `length` tokens."""
    return -(-length // WIDTH_STEP) * WIDTH_STEP


def pad(tokenized: TokenizedDataset, indices: Sequence[int] | np.ndarray, pad_id: int) -> Padded:
    """Pad rows of different lengths to a common width, see `padded_width`."""
    lengths = tokenized.lengths[indices]
    width = padded_width(int(lengths.max()))
    tokens = np.full((len(indices), width), pad_id, dtype=np.int64)
    segments = np.zeros_like(tokens)
    for row, index in enumerate(indices):
        ids = tokenized.ids(int(index))
        tokens[row, : len(ids)] = ids
        segments[row, : len(ids)] = tokenized.segments(int(index))
    mask = np.arange(width) < lengths[:, None]
    return Padded(
        torch.from_numpy(tokens),
        torch.from_numpy(segments),
        None if mask.all() else torch.from_numpy(mask),
    )


def ranked_labels(
    kind: str,
    names: Sequence[str],
    probabilities: Tensor,
    inputs: Inputs,
    predicted: Sequence[int],
    passages: tuple[Passage, ...] = (),
) -> Predicted:
    """Rank all names for the whole input: those of `predicted` first, then the most likely."""
    order = probabilities.argsort(descending=True, stable=True).tolist()
    order.sort(key=lambda index: index not in predicted)
    ranked = tuple(
        LabelProbability(label=names[n], probability=float(probabilities[n])) for n in order
    )
    prediction = Prediction(first=0, last=len(inputs.records) - 1, ranked=ranked)
    certainty = ranked[0].probability
    if get_head(kind).is_multi_label:
        certainty = min(max(item.probability, 1 - item.probability) for item in ranked)
    return Predicted(
        task=kind,
        tokens=inputs.records,
        truncated=inputs.truncated and not passages,
        passages=passages,
        predictions=(prediction,),
        predicted=tuple(names[index] for index in order if index in predicted),
        certainty=certainty,
    )
