"""The interface of a task without torch: its settings and its info."""

import math
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, ClassVar, Literal, Protocol, Self

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
"""Target roles; the first one that a data set has decides its task."""

SEQUENCE = "ForSequenceClassification"
TOKENS = "ForTokenClassification"
SPANS = "ForQuestionAnswering"
CHOICES = "ForMultipleChoice"
ENCODER = "Model"  # only the encoder, without pooling

MAX_CLASSES = 10_000


@dataclass(frozen=True)
class Metric:
    """A metric, named as in events without `validation_`.

    `short` replaces the title in narrow places if it is not empty. `description` is its help text.
    `limits` are its lowest and highest possible value.
    """

    name: str
    title: str
    short: str = ""
    higher_is_better: bool = True
    unit: Literal["share", "number"] = "share"  # shown in per cent, or as a number
    limits: tuple[float, float] = (0.0, 1.0)
    description: str = field(kw_only=True)

    def text(self, value: float) -> str:
        """A value in documents, as `score_text`."""
        return score_text(value, self.unit == "share")


def score_text(value: float, is_share: bool, sign: str = "") -> str:
    """64.3 % for a proportion, 0.6429 for another number; with a `sign` “+” of a difference."""
    return percent(value, sign) if is_share else f"{value:{sign}.4f}"


def percent(fraction: float, sign: str = "") -> str:
    """A proportion in documents and in the terminal: 64.3 %."""
    return f"{100 * fraction:{sign}.1f} %"


FROM_ZERO = (0.0, math.inf)  # limits of losses and errors

LOSS = Metric(
    "loss",
    title="loss",
    higher_is_better=False,
    unit="number",
    limits=FROM_ZERO,
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
        "The fraction of predictions that are correct: of rows, of the tags of "
        "words, or of masked tokens. With imbalanced labels, compare it with "
        "always predicting the most frequent one."
    ),
)
F1 = Metric(
    "f1",
    title="F1",
    description=(
        "The harmonic mean of precision and recall. In token and span classification it counts "
        "whole entities, in question answering the words that the predicted and the true answer "
        "share."
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
PRECISION = Metric(
    "precision",
    title="precision",
    description="The fraction of the predicted entities that are correct in type, start and end.",
)
RECALL = Metric(
    "recall",
    title="recall",
    description=(
        "The fraction of the true entities that are found with the correct type, start and end."
    ),
)
EXACT_MATCH = Metric(
    "exact_match",
    title="exact match",
    short="EM",
    description=(
        "The fraction of rows whose prediction is correct as a whole: every label "
        "of the row, or the whole answer without case, punctuation and articles."
    ),
)


@dataclass(frozen=True)
class Head:
    """The layer that fine-tuning adds; tasks with equal heads can share it.

    Args:
        architecture: suffix of the class name in transformers.
        tensors: its output tensors, named as in transformers.
        outputs: number of outputs; 0: one for each label.
        problem_type: of config.json, if several heads share a class.
        pools: it pools the vectors of all tokens into one, and has no labels.
        is_ordinal: its labels are ordered. The output of a label is the logit of it or a higher
            one, given the label below or a higher one; that of the lowest is not used.
        span_size: it labels spans, from the outputs of their first and last words: two for each
            label, and two vectors of this size.
    """

    architecture: str
    tensors: tuple[Output, ...]
    outputs: int = 0
    problem_type: str = ""
    pools: bool = False
    is_ordinal: bool = False
    span_size: int = 0

    def outputs_for(self, labels: int) -> int:
        """The number of outputs with so many labels."""
        if self.span_size:
            return 2 * (labels + self.span_size)
        return self.outputs or labels

    def labels_of(self, outputs: int) -> int:
        """The number of labels with so many outputs; the first outputs have their names."""
        return outputs // 2 - self.span_size if self.span_size else outputs

    def output_names(self, labels: tuple[str, ...]) -> tuple[str, ...]:
        """The names of the outputs in config.json, the labels first."""
        if not self.span_size:
            return labels
        sides = ((f"{side} {n}" for n in range(self.span_size)) for side in ("first", "last"))
        return (*labels, *(f"end of {label}" for label in labels), *chain.from_iterable(sides))

    @property
    def reads_tokens(self) -> bool:
        """True if it predicts something for each token, not for the input as a whole."""
        return self.tensors[0].of == "token"

    @property
    def has_labels(self) -> bool:
        """True if its outputs have names."""
        return not self.outputs and not self.pools

    @property
    def classifies(self) -> bool:
        """True if it predicts one of several labels for the input as a whole."""
        return self.labels_inputs and not self.is_multi_label

    @property
    def is_nominal(self) -> bool:
        """True if it predicts one of several labels that have no order."""
        return self.classifies and not self.is_ordinal

    @property
    def is_multi_label(self) -> bool:
        """True if it predicts any number of labels for an input."""
        return self.labels_inputs and self.tensors[0].meaning == "any"

    @property
    def labels_inputs(self) -> bool:
        """True if it predicts labels for the input as a whole: one, or any number of them."""
        return self.has_labels and not self.reads_tokens

    @property
    def can_teach(self) -> bool:
        """True if another network can learn its outputs: labels or a number for whole inputs."""
        return self.labels_inputs or (self.predicts_numbers and not self.pools)

    @property
    def marks_text(self) -> bool:
        """True if it predicts labels for parts of the input: tokens or spans."""
        return self.has_labels and self.reads_tokens

    @property
    def tags_tokens(self) -> bool:
        """True if it predicts a label for each token."""
        return self.marks_text and not self.labels_spans

    @property
    def labels_spans(self) -> bool:
        """True if it predicts spans with labels, which may overlap."""
        return self.span_size > 0

    @property
    def predicts_numbers(self) -> bool:
        """True if its outputs are numbers, not scores of labels."""
        return not self.has_labels and self.tensors[0].meaning == "numbers"

    @property
    def scores_choices(self) -> bool:
        """True if its input is one of several choices, which are compared by its one output."""
        return self.architecture == CHOICES

    @property
    def finds_spans(self) -> bool:
        """True if its outputs are the first and the last token of a span."""
        return self.architecture == SPANS


FINE_TUNING = TrainingSpec()  # as in the paper, appendix A.3


@dataclass(frozen=True)
class TaskInfo:
    """Properties of a task, for code that handles all tasks.

    Args:
        title: its usual name.
        head: None for pre-training, whose heads are separate.
        metrics: what its evaluation computes.
        best_metric: the one that compares checkpoints, unless the labels require another.
        reads: the required column roles.
        may_read: optional column roles.
        required_cells: roles whose cells must not be empty.
        labelled_by: roles of the labels: a row is unlabelled if all their cells are empty.
        empty_label: what an empty cell means if it is itself a label, a sentence.
        training: the default settings from a checkpoint.
        from_scratch: the default settings with fresh weights; None if it needs a checkpoint.
        cuts_long_texts: texts beyond the maximum length are truncated.
        hub_pipeline: the pipeline tag of the Hugging Face Hub.
        row_figures: the numbers of its rows, in addition to those that all rows have.
        has_levels: its labels are paths of a hierarchy.
    """

    title: str
    head: Head | None
    metrics: tuple[Metric, ...]
    best_metric: str
    reads: tuple[Role, ...]
    may_read: tuple[Role, ...] = ()
    required_cells: tuple[Role, ...] = ()
    labelled_by: tuple[Role, ...] = ()
    empty_label: str = ""
    training: TrainingSpec = FINE_TUNING
    from_scratch: TrainingSpec | None = None
    cuts_long_texts: bool = True
    hub_pipeline: str = ""
    row_figures: tuple[RowFigure, ...] = ()
    has_levels: bool = False

    @property
    def is_pretraining(self) -> bool:
        """True if it needs no labels and trains the heads of pre-training."""
        return self.head is None

    @property
    def learns_from_pairs(self) -> bool:
        """True if contrastive fine-tuning can learn it: one label per text, no order or levels."""
        is_nominal = self.head is not None and self.head.is_nominal
        return is_nominal and not self.has_levels and "pair" not in self.reads

    @property
    def has_partial_scores(self) -> bool:
        """True if rows have an F1, as they may be partly right; else they are right or wrong."""
        return self.head is not None and self.head.reads_tokens


class LabelColumn(Protocol):
    """A label column whose cells were counted."""

    @property
    def cells(self) -> Mapping[str, int]:
        """Rows by cell."""

    @property
    def sets(self) -> Mapping[str, int] | None:
        """Rows by label, if cells hold several; None if they hold one."""

    @property
    def is_scale(self) -> bool:
        """True if the cells are numbers on a scale, not names of classes."""

    @property
    def not_numbers(self) -> Mapping[str, int]:
        """Rows by cell that is no number."""

    @property
    def numbers(self) -> frozenset[float]:
        """The numbers in the other cells."""

    @property
    def ordered(self) -> tuple[str, ...]:
        """The labels from the lowest to the highest, if they are on a scale; else ()."""

    @property
    def spelling_problem(self) -> StudioError | None:
        """The problem of numbers with ambiguous commas, or with units."""

    def unknown_labels(self, known: tuple[str, ...]) -> list[str]:
        """The labels that are not `known`, in any notation."""


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
        """True if gold and predicted are numbers on a scale, given the computed metrics."""
        return cls.info.head is not None and cls.info.head.predicts_numbers

    @property
    def causal(self) -> bool | None:
        """True if the network must be left-to-right, False if it must not be; None: either."""
        return None

    @property
    def needs_nsp(self) -> bool:
        """True if the network needs a next-sentence head."""
        return False

    @classmethod
    def suits(cls, columns: Columns, labels: LabelColumn | None) -> bool:
        """True if a data set with these columns is most likely meant for this task."""
        return target(columns) in cls.info.reads

    @property
    def labelled_by(self) -> tuple[Role, ...]:
        """Roles that are all empty in a row without a label; none if every row counts."""
        return self.info.labelled_by

    def label_columns(self, columns: Columns) -> tuple[str, ...]:
        """The columns of these roles."""
        used = dict(columns.by_field())
        return tuple(name for role in self.labelled_by for name in used.get(role, ()))

    def problems(self, columns: Columns, labels: LabelColumn | None) -> Iterator[StudioError]:
        """All reasons why a data set does not fit this task; `labels` None: not counted yet."""
        yield from ()

    @property
    def truncates(self) -> bool:
        """True if it reads only the beginning of long texts."""
        return self.info.cuts_long_texts

    def broken_rules(self) -> Iterator[Problem]:
        """Yield the inconsistent settings."""
        yield from ()

    def label_rows(self, dataset: DatasetSpec, labels: LabelColumn) -> dict[str, int]:
        """Rows by learned label; empty if unknown."""
        return {}

    def label_names(self, dataset: DatasetSpec | None, labels: LabelColumn) -> tuple[str, ...]:
        """The labels of the model; empty if not known yet."""
        return tuple(self.label_rows(dataset, labels)) if dataset else ()

    def unknown_weights(self, names: tuple[str, ...]) -> list[str]:
        """Names in the class weights that are no labels."""
        return []

    def without_labels(self) -> "TaskSpec":
        """The settings without those that depend on the data set."""
        return self

    def with_labels(self, labels: tuple[str, ...]) -> "TaskSpec":
        """The same settings for a head with these labels."""
        return self

    @classmethod
    def from_imported(cls, labels: tuple[str, ...]) -> "TaskSpec":
        """The settings for a model that was fine-tuned by another program."""
        return cls(kind=cls.task_name()).with_labels(labels)


LongTexts = Literal["truncate", "windows"]
Aggregation = Literal["mean", "max", "attention", "first"]


class WindowedTask(TaskSpec):
    """A task that can read long texts in overlapping windows.

    `window_length` is set by a run: the tokens of a window, its max. length; 0: not set yet.
    """

    long_texts: LongTexts = Field(
        "truncate",
        title="Long texts",
        description=(
            "Texts beyond the max. length: truncated, or read whole in overlapping windows of that "
            "length, which takes time in proportion to the length of the text."
        ),
        json_schema_extra=setting("simple", branch=True),
    )
    doc_stride: Annotated[int, Field(ge=0, le=65_536)] = Field(
        0,
        title="Document stride",
        description=(
            "Tokens between the starts of two windows over a long text; 0 = three quarters of a "
            "window."
        ),
        json_schema_extra=setting(branch=True),
    )
    window_length: int = Field(0, ge=0)

    @property
    def reads_windows(self) -> bool:
        """True if long texts are read in windows."""
        return self.long_texts == "windows"

    @property
    def truncates(self) -> bool:
        return super().truncates and not self.reads_windows

    def with_window(self, length: int) -> Self:
        """The same settings for windows of at most `length` tokens."""
        if self.reads_windows:
            length = min(self.window_length or length, length)
        return self.model_copy(update={"window_length": length if self.reads_windows else 0})


class AggregatingTask(WindowedTask):
    """A task that predicts one thing for a whole text, from the outputs of its windows."""

    aggregate: Aggregation = Field(
        "mean",
        title="Aggregation of windows",
        description=(
            "Prediction for a long text: the mean of the outputs of its windows, their maximum, "
            "their mean weighted by a learned attention, or the output of the first window."
        ),
        json_schema_extra=setting(branch=True),
    )
    windows_per_text: Annotated[int, Field(ge=0, le=1024)] = Field(
        0,
        title="Windows per text in a step",
        description=(
            "Train end to end: gradients flow through this many windows of each text, drawn "
            "again in every epoch, and memory grows with it. 0 = every window is an example with "
            "the label of its text."
        ),
        json_schema_extra=setting(branch=True, ticks=(0, 2, 4, 8)),
    )

    @property
    def scores_windows(self) -> bool:
        """True if the head has a learned score for each window."""
        return self.reads_windows and self.aggregate == "attention"

    def broken_rules(self) -> Iterator[Problem]:
        yield from super().broken_rules()
        if self.scores_windows and self.windows_per_text < 2:
            yield Problem(
                phrase(
                    "Attention over windows is learned from several windows of a text: set the "
                    "windows per text in a step to 2 or more, or choose another aggregation"
                ),
                ("windows_per_text", "aggregate"),
            )
        if self.reads_windows and self.aggregate == "first" and self.windows_per_text:
            yield Problem(
                phrase(
                    "With the first window only, nothing is trained end to end: set the windows "
                    "per text in a step to 0, or choose another aggregation"
                ),
                ("windows_per_text", "aggregate"),
            )


ClassWeight = Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]

LABEL_SMOOTHING = Field(
    0.0,
    ge=0,
    lt=1,
    title="Label smoothing",
    description=(
        "Fraction of the target probability that is spread over all classes, so "
        "that the model is less overconfident; 0 in the paper, 0.1 is usual."
    ),
    json_schema_extra=setting(branch=True, fraction=True),
)


class LabelledTask(TaskSpec):
    """A task whose head has an output for each label; subclasses give `class_weights` a title."""

    labels: tuple[str, ...] = Field(
        (),
        title="Labels",
        description=(
            "The labels in the order of their ids. Empty: all labels of the training set, sorted."
        ),
        json_schema_extra=setting("elsewhere"),
    )
    class_weights: dict[str, ClassWeight] = Field({})

    def label_names(self, dataset: DatasetSpec | None, labels: LabelColumn) -> tuple[str, ...]:
        return self.labels or super().label_names(dataset, labels)

    def unknown_weights(self, names: tuple[str, ...]) -> list[str]:
        return [name for name in self.class_weights if name not in names] if names else []

    def without_labels(self) -> TaskSpec:
        return self.model_copy(update={"labels": (), "class_weights": {}})

    def with_labels(self, labels: tuple[str, ...]) -> TaskSpec:
        return self.model_copy(update={"labels": labels})

    def check_labels(self, labels: LabelColumn) -> Iterator[StudioError]:
        """Problems of labels that the settings do not list."""
        unlisted = labels.unknown_labels(self.labels) if self.labels else []
        if unlisted:
            names = ", ".join(f"“{shorten(name)}”" for name in unlisted[:5])
            yield StudioError(
                "The data has labels that are not in the settings: {names}.",
                "Add them to the labels in the settings, or leave that list empty.",
                names=names,
            )


def target(columns: Columns) -> Role | None:
    """The target role of a data set; None for plain text."""
    return next((role for role in TARGETS if getattr(columns, role)), None)


def shorten(label: str) -> str:
    """Truncate a label for a sentence."""
    return label if len(label) <= 60 else label[:60] + "…"
