"""What every task says of itself, without torch: its settings, and plain facts."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, Protocol

from pydantic import Field

from engine.config import Spec
from engine.config.dataset import DatasetSpec
from engine.config.dataset import Mapping as Columns
from engine.config.export import Output
from engine.config.fields import setting
from engine.config.problems import Problem
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.phrases import phrase

Role = Literal[
    "text", "pair", "label", "flags", "tags", "answers", "beginning", "endings", "negative"
]
RowFigure = Literal[
    "probability",
    "loss",
    "score",
    "words",
    "characters",
    "gold",
    "predicted",
    "residual",
    "margin",
    "no_answer",
]
"""A number of a row of predictions, as `engine.results.row_figures` computes it."""
TARGETS: tuple[Role, ...] = ("endings", "answers", "tags", "flags", "label")
"""Roles that say what is to be predicted; the first that a data set has tells its task."""

SEQUENCE = "ForSequenceClassification"
TOKENS = "ForTokenClassification"
SPANS = "ForQuestionAnswering"
CHOICES = "ForMultipleChoice"
ENCODER = "Model"  # the encoder alone: what comes behind it is not in its class

MAX_CLASSES = 1_000


@dataclass(frozen=True)
class Metric:
    """One number of an evaluation, under the name that it has in events behind `validation_`.

    `short` stands for the title where there is little room; empty: the title is short itself.
    `description` is what the help says of it.
    """

    name: str
    title: str
    short: str = ""
    higher_is_better: bool = True
    unit: Literal["share", "number"] = "share"  # of 1, to be shown in per cent; or any number
    description: str = field(kw_only=True)


LOSS = Metric(
    "loss",
    title="loss",
    higher_is_better=False,
    unit="number",
    description=(
        "What training minimises: the mean cross-entropy of the true labels in nats, or the mean "
        "squared error of a regression. A validation loss that rises while the training loss falls "
        "is a sign of overfitting."
    ),
)
ACCURACY = Metric(
    "accuracy",
    title="accuracy",
    short="acc",
    description=(
        "The fraction of predictions that are right: of rows, of the tags of words, or of masked "
        "tokens. With imbalanced labels, compare it with always predicting the most frequent one."
    ),
)
F1 = Metric(
    "f1",
    title="F1",
    description=(
        "The harmonic mean of precision and recall. In token classification it counts whole "
        "entities, in question answering the words that the predicted and the true answer share."
    ),
)
F1_MACRO = Metric(
    "f1_macro",
    title="macro F1",
    description=(
        "The mean of the F1 of all labels. Every label counts equally, however rare it is, so it "
        "falls where a model ignores rare labels."
    ),
)
EXACT_MATCH = Metric(
    "exact_match",
    title="exact match",
    short="EM",
    description=(
        "The fraction of rows whose prediction is right as a whole: every label of the row, or the "
        "whole answer without case, punctuation and articles."
    ),
)


@dataclass(frozen=True)
class Head:
    """The layer that fine-tuning adds; tasks with equal heads can take over one another's.

    Args:
        architecture: the end of the class's name in transformers.
        tensors: its output tensors, named as in transformers.
        outputs: how many numbers it gives; 0: one for each label.
        problem_type: of config.json, if several heads share a class.
        pools: it pools the vectors of all tokens into one, and has no labels.
    """

    architecture: str
    tensors: tuple[Output, ...]
    outputs: int = 0
    problem_type: str = ""
    pools: bool = False

    @property
    def reads_tokens(self) -> bool:
        """It predicts something for each token, not for the input as a whole."""
        return self.tensors[0].of == "token"

    @property
    def has_labels(self) -> bool:
        """Its outputs have names."""
        return not self.outputs and not self.pools

    @property
    def classifies(self) -> bool:
        """It predicts one of several labels for the input as a whole."""
        return self.labels_inputs and not self.is_multi_label

    @property
    def is_multi_label(self) -> bool:
        """It predicts any number of labels for an input."""
        return self.tensors[0].meaning == "any"

    @property
    def labels_inputs(self) -> bool:
        """It predicts labels for the input as a whole: one, or any number of them."""
        return self.has_labels and not self.reads_tokens

    @property
    def tags_tokens(self) -> bool:
        """It predicts a label for each token."""
        return self.has_labels and self.reads_tokens

    @property
    def predicts_numbers(self) -> bool:
        """Its outputs are numbers, not scores of labels."""
        return self.tensors[0].meaning == "numbers"

    @property
    def scores_choices(self) -> bool:
        """Its input is one of several choices, which are compared by its one output."""
        return self.architecture == CHOICES

    @property
    def finds_spans(self) -> bool:
        """Its outputs are the first and the last token of a span."""
        return self.architecture == SPANS


FINE_TUNING = TrainingSpec()  # as in the paper, appendix A.3


@dataclass(frozen=True)
class TaskInfo:
    """Everything about a task that the code which lists, shows or distinguishes tasks needs.

    Args:
        title: its usual name.
        head: None for pre-training, which has heads of its own.
        metrics: what its evaluation computes.
        best_metric: the one by which checkpoints are compared, unless the labels want another.
        reads: the roles of columns that each row needs.
        may_read: roles that are read if present.
        fills: roles whose cells must not be empty.
        training: the usual settings from a checkpoint.
        from_scratch: the usual settings with fresh weights; None if it needs a checkpoint.
        cuts_long_texts: whether texts beyond the maximum length are truncated.
        hub_pipeline: the pipeline tag of the Hugging Face Hub.
        row_figures: the numbers that its rows have, besides those that every row has.
    """

    title: str
    head: Head | None
    metrics: tuple[Metric, ...]
    best_metric: str
    reads: tuple[Role, ...]
    may_read: tuple[Role, ...] = ()
    fills: tuple[Role, ...] = ()
    training: TrainingSpec = FINE_TUNING
    from_scratch: TrainingSpec | None = None
    cuts_long_texts: bool = True
    hub_pipeline: str = ""
    row_figures: tuple[RowFigure, ...] = ()

    @property
    def is_pretraining(self) -> bool:
        """It needs no labels and trains the heads of pre-training."""
        return self.head is None

    @property
    def scores_in_part(self) -> bool:
        """A row is scored by an F1, as it may be right in part; else it is right or wrong."""
        return self.head is not None and self.head.reads_tokens


class LabelColumn(Protocol):
    """What is known of a label column whose cells were counted."""

    @property
    def cells(self) -> Mapping[str, int]:
        """How many rows have each cell."""

    @property
    def sets(self) -> Mapping[str, int] | None:
        """How many rows have each label, where cells hold several; None where they hold one."""

    @property
    def is_scale(self) -> bool:
        """Whether the cells are numbers on a scale, and no names of classes."""

    @property
    def not_numbers(self) -> Mapping[str, int]:
        """The cells that hold no number."""

    @property
    def numbers(self) -> frozenset[float]:
        """The numbers in the others."""

    def strangers(self, known: tuple[str, ...]) -> list[str]:
        """The labels that are none of the `known` ones, however they are written."""


class TaskSpec(Spec):
    """The settings of a task. Each task is a subclass, listed in `engine.config.tasks.TASKS`."""

    info: ClassVar[TaskInfo]
    kind: str

    @classmethod
    def task_name(cls) -> str:
        """Its name in `engine.config.tasks.TASKS`."""
        name: str = cls.model_fields["kind"].default
        return name

    @classmethod
    def predicts_numbers(cls, metrics: Container[str]) -> bool:
        """Gold and predicted are numbers on a scale, given the metrics that were computed."""
        return cls.info.head is not None and cls.info.head.predicts_numbers

    @property
    def causal(self) -> bool | None:
        """Whether the network must be left-to-right, or must not; None where both will do."""
        return None

    @property
    def needs_nsp(self) -> bool:
        """Whether the network must have the head of next-sentence prediction."""
        return False

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        """Whether a data set with these columns is most likely made for this task."""
        return target(columns) in cls.info.reads

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        """Everything that keeps a data set from this task; `labels` None: not yet counted."""
        yield from ()

    def broken_rules(self) -> Iterator[Problem]:
        """Settings that do not go together."""
        yield from ()

    def label_rows(self, dataset: DatasetSpec, labels: LabelColumn) -> dict[str, int]:
        """How many rows have each label that is learned; empty where that is not known."""
        return {}

    def label_names(self, dataset: DatasetSpec | None, labels: LabelColumn) -> tuple[str, ...]:
        """The labels that the model will have; empty where they are not known yet."""
        return tuple(self.label_rows(dataset, labels)) if dataset else ()

    def unknown_weights(self, names: tuple[str, ...]) -> list[str]:
        """The class weights that belong to none of these labels."""
        return []

    def without_labels(self) -> "TaskSpec":
        """The same settings for another data set."""
        return self

    def with_labels(self, labels: tuple[str, ...]) -> "TaskSpec":
        """The same settings for a head with these labels."""
        return self

    @classmethod
    def of_foreign(cls, labels: tuple[str, ...]) -> "TaskSpec":
        """The task of a model that another program has fine-tuned for it."""
        return cls(kind=cls.task_name()).with_labels(labels)


ClassWeight = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]

LABEL_SMOOTHING = Field(
    0.0,
    ge=0,
    lt=1,
    title="Label smoothing",
    description=(
        "Share of the target probability that is spread over all classes, so that the model is "
        "less overconfident; 0 in the paper, 0.1 is usual."
    ),
    json_schema_extra=setting(branch=True),
)


class LabelledTask(TaskSpec):
    """A task whose head has an output for each label; a subclass gives the fields their titles."""

    labels: tuple[str, ...] = ()
    class_weights: dict[str, ClassWeight] = Field({})

    def label_names(self, dataset: DatasetSpec | None, labels: LabelColumn) -> tuple[str, ...]:
        return self.labels or super().label_names(dataset, labels)

    def unknown_weights(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in self.class_weights if name not in names] if names else []

    def without_labels(self) -> TaskSpec:
        return self.model_copy(update={"labels": (), "class_weights": {}})

    def with_labels(self, labels: tuple[str, ...]) -> TaskSpec:
        return self.model_copy(update={"labels": labels})

    def unlisted(self, labels: LabelColumn) -> Iterator[StudioError]:
        """What is wrong where the settings name the labels and a data set has others."""
        unlisted = labels.strangers(self.labels) if self.labels else []
        if unlisted:
            names = ", ".join(f"“{shortened(name)}”" for name in unlisted[:5])
            yield StudioError(
                phrase("The data has labels that are not in the settings: {names}.", names=names),
                phrase("Add them to the labels in the settings, or leave that list empty."),
            )


def target(columns: Columns) -> Role | None:
    """The column that says what is to be predicted; None where there is plain text alone."""
    return next((role for role in TARGETS if getattr(columns, role)), None)


def shortened(label: str) -> str:
    """A label as it stands in a sentence."""
    return label if len(label) <= 60 else label[:60] + "…"
