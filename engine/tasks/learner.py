"""What every task provides: a head, how rows become a batch, a loss, and figures.

Shapes: B sequences, T tokens in each, N tokens that are predicted.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.config.dataset import SplitName
from engine.config.prediction import PredictionSettings
from engine.config.task import TaskSpec
from engine.config.tasks import head_of
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset
from engine.data.tokenized.dataset import TokenizedDataset
from engine.evaluation.report import Report
from engine.messages.explore.prediction import Predict, Predicted
from engine.messages.explore.text import LabelProbability, Prediction
from engine.models.checkpoint import Checkpoint
from engine.models.fast.rectangles import Move
from engine.models.fast.vocabulary_loss import NONE
from engine.models.heads import Heads
from engine.models.network import Network, Plan
from engine.progress import ProgressCallback
from engine.tasks.inputs import Inputs
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.sending import sent_together
from engine.tasks.widths import width_of
from engine.tokenizers.tokenizer import Tokenizer

USUAL_PREDICTION = PredictionSettings()
Counts = Mapping[str, float | Tensor]  # by the terms of a loss; tensors are float32 scalars


class Vectors(Protocol):
    """What an encoder gives for each token of the inputs of a `TokenizedDataset`."""

    def padded(self, rows: np.ndarray, width: int) -> Tensor:
        """float32 [B, T, N, D] of these inputs, 0 on padding; T is `width`."""
        ...


class Batch(NamedTuple):
    """Examples as the network takes them."""

    tokens: Tensor  # int64 [B, T]; [B * E, T] where each example is E inputs, as with choices;
    # float [.., T, N, D] where a probe gets vectors
    segments: Tensor  # int64, as tokens
    attention_mask: Tensor | None  # bool, as tokens, False is padding; None where there is none
    targets: Tensor  # [B, …] or, with positions, [N]; 0 where nobody knows
    positions: Tensor | None  # int64 [N], positions in the flattened [B * T] that are predicted
    follows: Tensor | None = None  # int64 [B], 0 where the second span is what follows the first
    numbers: Tensor | None = None  # int64 [B], which examples these are
    inputs_per_example: int = 1  # rows of each example, one after another
    unpadded: Plan | None = None  # the plan of its tokens without padding; see `planned`

    @property
    def size(self) -> int:
        """How many examples there are."""
        return len(self.tokens) // self.inputs_per_example

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each example, int64 [B]; of its longest input."""
        if self.attention_mask is None:
            return np.full(self.size, self.segments.size(1))
        lengths: np.ndarray = (
            self.attention_mask.sum(1).view(-1, self.inputs_per_example).amax(1).cpu().numpy()
        )
        return lengths

    def to(self, device: torch.device) -> "Batch":
        """On a device, with its plan; see `sent_together`."""
        if self.tokens.device == device:
            return self
        return self.with_tensors(sent_together(self.tensors, device))

    @property
    def tensors(self) -> list[Tensor]:
        """All that a network reads, always in the same order."""
        found = list[Tensor]()

        def noted(tensor: Tensor) -> Tensor:
            found.append(tensor)
            return tensor

        self._moved(noted)
        return found

    def with_tensors(self, tensors: Iterable[Tensor]) -> "Batch":
        """With others in the place of `tensors`."""
        others = iter(tensors)
        return self._moved(lambda _: next(others))

    def _moved(self, move: Move) -> "Batch":
        """With every tensor moved that a network reads, always in the same order."""
        return Batch(
            move(self.tokens),
            move(self.segments),
            None if self.attention_mask is None else move(self.attention_mask),
            move(self.targets),
            None if self.positions is None else move(self.positions),
            None if self.follows is None else move(self.follows),
            self.numbers,
            self.inputs_per_example,
            None if self.unpadded is None else self.unpadded.moved(move),
        )

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor | None, Plan | None]:
        """What `Network.logits` takes."""
        return self.tokens, self.segments, self.attention_mask, self.unpadded

    def planned(self, network: Network) -> "Batch":
        """With the plan of its tokens without padding, made on the host where it has none yet."""
        if self.unpadded is not None or not network.passes_over_padding:
            return self
        (rows, width), mask = self.segments.shape, self.attention_mask
        lengths = np.full(rows, width) if mask is None else mask.sum(1).numpy()
        return self._replace(unpadded=network.unpad(lengths, width, self.positions))

    def parts(self, size: int) -> "list[Batch]":
        """The same examples in batches of at most `size`, each no wider than its longest row.

        0 leaves them together; as it is, padding costs no work (see `engine.models.fast.unpadded`).
        """
        if not size or size >= self.size:
            return [self]
        lengths = self.lengths
        found = [slice(n, min(n + size, self.size)) for n in range(0, self.size, size)]
        return [self._part(some, width_of(int(lengths[some].max()))) for some in found]

    def _part(self, some: slice, width: int) -> "Batch":
        old = self.segments.size(1)
        rows = slice(some.start * self.inputs_per_example, some.stop * self.inputs_per_example)
        width = min(width, old)
        mask = None if self.attention_mask is None else self.attention_mask[rows, :width]
        targets, positions = self.targets[some], None
        if self.positions is not None:
            inside = (self.positions >= rows.start * old) & (self.positions < rows.stop * old)
            targets, positions = self.targets[inside], self.positions[inside] - rows.start * old
            positions = positions // old * width + positions % old
        return Batch(
            self.tokens[rows, :width],
            self.segments[rows, :width],
            None if mask is None or bool(mask.all()) else mask,
            targets,
            positions,
            None if self.follows is None else self.follows[some],
            None if self.numbers is None else self.numbers[some],
            self.inputs_per_example,
        )

    def taken(self, numbers: np.ndarray) -> "Batch":
        """Some of the examples, int64 [n] in rising order, no wider than the longest needs."""
        old, width = self.segments.size(1), width_of(int(self.lengths[numbers].max()))
        width = min(width, old)
        chosen = torch.from_numpy(numbers)
        rows = torch.from_numpy(input_rows(numbers, self.inputs_per_example))
        mask = None if self.attention_mask is None else self.attention_mask[rows, :width]
        targets, positions = self.targets, None
        if self.positions is not None:
            new_rows = torch.full((len(self.tokens),), -1)
            new_rows[rows] = torch.arange(len(rows))
            inside = new_rows[self.positions // old] >= 0
            targets, positions = self.targets[inside], self.positions[inside]
            positions = new_rows[positions // old] * width + positions % old
        return Batch(
            self.tokens[rows, :width],
            self.segments[rows, :width],
            None if mask is None or bool(mask.all()) else mask,
            targets if self.positions is not None else targets[chosen],
            positions,
            None if self.follows is None else self.follows[chosen],
            None if self.numbers is None else self.numbers[chosen],
            self.inputs_per_example,
        )

    @property
    def token_count(self) -> int:
        return (
            self.segments.numel() if self.attention_mask is None else int(self.attention_mask.sum())
        )


@dataclass
class Examples:
    """One part of a data set as token ids.

    `targets` is [examples, …], what the task wants of each; None where nobody says. Where an
    example is several inputs of the network, such as one for each choice, they are rows of
    `tokenized`, one after another. `notes` are sentences on what was noticed while tokenising.
    """

    tokenized: TokenizedDataset
    targets: np.ndarray | None = None
    inputs_per_example: int = 1
    notes: tuple[str, ...] = ()
    vectors: Vectors | None = None  # what a probe gets in the place of token ids

    def read(self, batch: Batch, numbers: np.ndarray) -> Batch:
        """A batch of these examples with their vectors, where there are some."""
        if self.vectors is None:
            return batch
        rows = input_rows(numbers, self.inputs_per_example)
        return batch._replace(tokens=self.vectors.padded(rows, batch.tokens.size(1)))

    def __len__(self) -> int:
        return len(self.tokenized) // self.inputs_per_example

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of each example, int64 [examples]; of its longest input."""
        lengths: np.ndarray = self.tokenized.lengths.reshape(-1, self.inputs_per_example).max(
            axis=1
        )
        return lengths


def input_rows(numbers: np.ndarray, inputs_per_example: int) -> np.ndarray:
    """Where the inputs of these examples stand among those of all, int64 [B * E]."""
    rows: np.ndarray = (
        numbers[:, None] * inputs_per_example + np.arange(inputs_per_example)
    ).ravel()
    return rows


class Metrics(ABC):
    """Adds up what a network does on batches, and computes the metrics at the end."""

    @abstractmethod
    def add(self, network: Network, batch: Batch) -> None:
        """Several threads may do this at a time, in any order: the figures must be the same."""

    @abstractmethod
    def compute(self) -> dict[str, float]:
        """The metrics by name, without `validation_`; every task has `loss` and `examples`."""


class TaskPredictions(ABC):
    """What was predicted for rows."""

    @abstractmethod
    def report(self) -> Report:
        """The predictions compared with the targets.

        Raises StudioError where nobody says what is.
        """

    @abstractmethod
    def predictions(self) -> list[dict[str, Any]]:
        """One record for each row that was tokenized, in their order, with what is said of it.

        The first part of a record is what is predicted.
        """

    @abstractmethod
    def row_predictions(self) -> RowPredictions:
        """What is kept of each row that was tokenized, in their order, labelled or not.

        The loss of a row is that of the report: the mean over all rows is the loss there. Where a
        row has several targets, as words or windows, each counts as often as it has them.
        """


class PredictionCollector(Metrics, TaskPredictions):
    """What a network predicts for each example."""

    def compute(self) -> dict[str, float]:
        return self.report().metrics()


class LogitsCollector(PredictionCollector):
    """Keeps what the task head says of each example as a whole: `logits`, float32 [examples, C].

    They are divided by the temperature of the settings.
    """

    def __init__(
        self, examples: Examples, outputs: int, settings: PredictionSettings = USUAL_PREDICTION
    ) -> None:
        self.settings = settings
        self.logits = np.zeros((len(examples), outputs), dtype=np.float32)

    def add(self, network: Network, batch: Batch) -> None:
        assert batch.numbers is not None
        logits = network.logits(*batch.inputs)  # [B, C] or [B * E, 1]
        found = logits.cpu().numpy().reshape(batch.size, -1)
        if self.settings.temperature != 1:
            found = found / np.float32(self.settings.temperature)
        self.logits[batch.numbers.numpy()] = found


@dataclass(frozen=True)
class Baseline:
    """A simple model to compare a network with.

    Args:
        key: begins the names of its files.
        predict: from a learner, the training rows and other rows to what is predicted for these.
    """

    key: str
    name: str
    predict: Callable[["Learner", Rows, Rows], TaskPredictions]


class Learner(ABC):
    """A task in torch.

    `prediction` holds the thresholds and the temperature of the model that predicts.
    """

    prediction = USUAL_PREDICTION
    no_target = NONE  # at a position that counts for nothing

    def __init__(self, task: TaskSpec) -> None:
        """`task` is what a checkpoint keeps; `fit_labels` may fill in what it leaves open."""
        self.task = task
        self._weights: Tensor | None = None  # of classes that do not count alike, float32 [C]
        self._weights_there: tuple[Tensor | None, Tensor] | None = None  # and those on a device

    def weights_on(self, device: torch.device) -> Tensor | None:
        """The weights of the classes, float32 [C], which a device gets once; None: all alike."""
        own, known = self._weights, self._weights_there
        if own is None or own.device == device:
            return own
        if known is None or known[0] is not own or known[1].device != device:
            with torch.inference_mode(False):  # an evaluation may ask first
                known = self._weights_there = own, own.to(device)
        return known[1]

    @property
    def best_metric(self) -> str:
        """The metric by which checkpoints are compared unless the job says another."""
        return self.task.info.best_metric

    @property
    def measured(self) -> tuple[str, ...]:
        """The names of the metrics that there are; what the labels leave out is not among them."""
        return tuple(metric.name for metric in self.task.info.metrics)

    @property
    def heads(self) -> Heads:
        """The heads that a network needs for this task."""
        head = head_of(self.task.kind)
        return Heads(outputs=head.outputs or len(self.labels), kind=self.task.kind)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, in the order of their ids; empty where there are none."""
        return ()

    @property
    def needs_whole_batch(self) -> bool:
        """Whether the loss of a row depends on the others, so that a batch cannot be split."""
        return False

    @property
    def long_inputs(self) -> tuple[int, float]:
        """Length of the inputs at the end of a run, and in which share of its steps; 0: none."""
        return 0, 0.0

    @property
    def causal(self) -> bool | None:
        """Whether the network must be left-to-right, or must not; None where both will do."""
        return self.task.causal

    def rows(self, dataset: Dataset, part: SplitName) -> Rows:
        """The rows of a part as this task reads them."""
        return dataset.rows(part)

    @property
    @abstractmethod
    def tokenization(self) -> str:
        """What names the way in which `tokenize` makes token ids from rows, beside their length.

        Runs with the same data, vocabulary and way share the token ids.
        """

    def says_what_is_right(self, rows: Rows) -> bool:
        """Whether rows have what predictions are held against."""
        return rows.is_labelled

    def fit_network(self, network: Network) -> None:  # noqa: B027
        """Learn from the network what its inputs begin with; nothing for most tasks."""

    @abstractmethod
    def fit_labels(self, rows: Rows) -> None:
        """Learn from the training rows what the spec left open, such as the labels."""

    @abstractmethod
    def tokenize(
        self,
        rows: Rows,
        tokenizer: Tokenizer,
        max_length: int,
        folder: Path,
        progress: ProgressCallback,
    ) -> Examples:
        """Turn rows into token ids, kept in `folder` and taken from there the next time.

        Rows that nobody has labelled are tokenized without targets, to be answered.
        """

    def answer_counts(self, examples: Examples) -> Counter[str]:
        """How often each label is the right one; empty where a task has no labels to count."""
        return Counter()

    def row(self, examples: Examples, number: int) -> int | None:
        """The row that an example was made from; None where it was made from many."""
        return number

    def init_output_bias(  # noqa: B027
        self, network: Network, examples: Examples, tokenizer: Tokenizer
    ) -> None:
        """Give a network with fresh weights what need not be learned step by step.

        Nothing by itself: a head that begins near zero learns how frequent each answer is at once.
        """

    @abstractmethod
    def batch(
        self,
        examples: Examples,
        numbers: np.ndarray,
        tokenizer: Tokenizer,
        rng: np.random.Generator,
    ) -> Batch:
        """The examples with these numbers; random numbers come from `rng` alone."""

    def describe_targets(self, batch: Batch, tokenizer: Tokenizer) -> list[str]:
        """The target of each row of a batch as a whole, for a person to read."""
        return [""] * len(batch.tokens)

    @abstractmethod
    def dummy_batch(
        self, count: int, width: int, tokenizer: Tokenizer, rng: np.random.Generator
    ) -> Batch:
        """A batch of random tokens, all of the same width, to measure a step with."""

    @abstractmethod
    def losses(
        self, network: Network, batch: Batch, counts: Counts | None = None
    ) -> dict[str, Tensor]:
        """The terms of a batch's loss by name, each a float32 scalar; their sum is trained on.

        Each is a mean over the batch. Where the batch is a part of a larger one, `counts` are
        those of the larger one, and each is the share that this part has in the mean over it.
        """

    @abstractmethod
    def counts(self, batch: Batch) -> Mapping[str, float]:
        """By what each term of the loss is divided to be a mean over the batch; never 0."""

    @abstractmethod
    def metrics(self, examples: Examples) -> Metrics:
        """A fresh tally for what a network does on these."""

    @abstractmethod
    def baselines(self) -> tuple[Baseline, ...]:
        """The baselines that are fitted on the training rows of this task."""

    def explain(self, checkpoint: Checkpoint, given: Inputs, question: Predict) -> Predicted:
        """What a fine-tuned model predicts for a typed text.

        Raises StudioError where the question lacks what this task needs.
        """
        raise NotImplementedError(f"{self.task.kind} has no head of its own")


def counted(targets: np.ndarray | None, names: Sequence[str]) -> Counter[str]:
    """How often each name is a target, int64 [N]; numbers below 0 stand for none."""
    if targets is None:
        return Counter()
    counts = np.bincount(targets[targets >= 0], minlength=len(names))
    return Counter({name: int(count) for name, count in zip(names, counts, strict=True) if count})


def special_ids(tokenizer: Tokenizer) -> list[int]:
    """The special tokens."""
    return [tokenizer.pad, tokenizer.unknown, tokenizer.cls, tokenizer.sep, tokenizer.mask]


def random_tokens(
    count: int, width: int, tokenizer: Tokenizer, rng: np.random.Generator
) -> np.ndarray:
    """Random ordinary tokens, int64 [count, width]."""
    ordinary = np.setdiff1d(np.arange(tokenizer.size), special_ids(tokenizer))
    return rng.choice(ordinary, (count, width))


def share_of_mean(
    logits: Tensor,
    targets: Tensor,
    count: float | Tensor,
    weights: Tensor | None = None,
    smoothing: float = 0.0,
    ignored: int = -100,
) -> Tensor:
    """Cross-entropy of logits [N, C] with targets int64 [N], summed and divided by `count`.

    A target of `ignored` is not counted: to take such rows out, a GPU would have to be waited for.

    With `weights`, float32 [C], each row counts as its class weighs, and `count` is the sum of the
    weights of all rows; `smoothing` is the share of a target that goes to all classes alike.
    """
    summed = F.cross_entropy(
        logits,
        targets,
        weights,
        reduction="sum",
        label_smoothing=smoothing,
        ignore_index=ignored,
    )
    return summed / count


def total(losses: dict[str, Tensor]) -> Tensor:
    """The sum of the terms of a loss."""
    return reduce(torch.add, losses.values())


class Padded(NamedTuple):
    tokens: Tensor  # int64 [B, T]
    segments: Tensor  # int64 [B, T]
    attention_mask: Tensor | None  # bool [B, T]


def pad(tokenized: TokenizedDataset, numbers: Sequence[int] | np.ndarray, pad_id: int) -> Padded:
    """Rows of different lengths as one rectangle, padded to a width as `widths` has it."""
    lengths = tokenized.lengths[numbers]
    width = width_of(int(lengths.max()))
    tokens = np.full((len(numbers), width), pad_id, dtype=np.int64)
    segments = np.zeros_like(tokens)
    for row, number in enumerate(numbers):
        ids = tokenized.ids(int(number))
        tokens[row, : len(ids)] = ids
        segments[row, : len(ids)] = tokenized.segments(int(number))
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
    given: Inputs,
    predicted: Sequence[int],
) -> Predicted:
    """A prediction for the whole input with all names, those of `predicted` first, then the most
    likely."""
    order = probabilities.argsort(descending=True, stable=True).tolist()
    order.sort(key=lambda number: number not in predicted)
    ranked = tuple(
        LabelProbability(label=names[n], probability=float(probabilities[n])) for n in order
    )
    whole = Prediction(first=0, last=len(given.described) - 1, ranked=ranked)
    return Predicted(
        task=kind,
        tokens=given.described,
        cut=given.cut,
        predictions=(whole,),
        predicted=tuple(names[number] for number in order if number in predicted),
    )
