"""What has been chosen so far in the wizard, and the job that follows from it. No widgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from pathlib import Path

from engine.messages.reports import CheckpointInfo
from engine.spec.dataset import DatasetSpec, DataSource, FileData, StoredData
from engine.spec.features import Features
from engine.spec.job import BaseModelSource, FromCheckpoint, FromScratch, JobSpec
from engine.spec.model import PRESETS, BertSpec
from engine.spec.task import (
    MultiLabel,
    MultipleChoice,
    Pretraining,
    QuestionAnswering,
    Regression,
    TaskSpec,
    TextClassification,
    TokenClassification,
)
from engine.spec.training import HardwareSpec, TrainingSpec

OWN_SIZE = "own"
QUICK_LOOK = 0.1  # of the examples
LONGEST_NAME = 200  # characters, as in JobSpec


ANY_HARDWARE = HardwareSpec()
NO_READER = Features()  # the model itself is fine-tuned
FINE_TUNING = TrainingSpec()  # as in the paper, appendix A.3


class Step(IntEnum):
    """The steps of the wizard, in their order."""

    TASK = 0
    DATA = 1
    START = 2
    SETTINGS = 3
    REVIEW = 4


class Kind(StrEnum):
    """What a person wants; the cards of the first step, in their order."""

    SENTENCE = "sentence"
    PAIR = "pair"
    LABELS = "labels"
    NUMBER = "number"
    TAGS = "tags"
    QUESTIONS = "questions"
    CHOICES = "choices"
    ONWARD = "onward"
    SCRATCH = "scratch"

    @property
    def pretrains(self) -> bool:
        return self in (Kind.ONWARD, Kind.SCRATCH)


@dataclass(frozen=True)
class Aim:
    """What a kind amounts to when nothing was changed."""

    task: TaskSpec
    training: TrainingSpec = FINE_TUNING


# Pre-training has rates that suit masked words with few steps.
AIMS: dict[Kind, Aim] = {
    Kind.SENTENCE: Aim(TextClassification()),
    Kind.PAIR: Aim(TextClassification()),
    Kind.LABELS: Aim(MultiLabel()),
    Kind.NUMBER: Aim(Regression()),
    Kind.TAGS: Aim(TokenClassification()),
    Kind.CHOICES: Aim(MultipleChoice(), TrainingSpec(batch_size=16, learning_rate=2e-5)),
    Kind.QUESTIONS: Aim(QuestionAnswering(), TrainingSpec(epochs=2, max_length=384)),
    Kind.ONWARD: Aim(
        Pretraining(), TrainingSpec(epochs=1, batch_size=32, learning_rate=1e-4, max_length=128)
    ),
    Kind.SCRATCH: Aim(
        Pretraining(), TrainingSpec(epochs=3, batch_size=32, learning_rate=5e-4, max_length=128)
    ),
}


@dataclass(frozen=True)
class Data:
    """The data set chosen. `spec` is None for plain files, as a job made by hand may name them."""

    name: str
    source: DataSource
    spec: DatasetSpec | None = None


@dataclass(frozen=True)
class Model:
    """A checkpoint to start from, or to take the vocabulary of. `info` is None where it is gone."""

    name: str
    path: Path
    info: CheckpointInfo | None = None


@dataclass(frozen=True)
class Scratch:
    """A network with fresh weights, and its vocabulary."""

    size: str = "small"
    own: BertSpec = PRESETS["small"]
    vocabulary: Model | None = None  # None: a new one is made from the data
    pieces: int = 8000
    lowercase: bool = True
    head_start: bool = False


@dataclass(frozen=True)
class Choices:
    """Everything that the wizard keeps. What one task does not need stays for the others."""

    kind: Kind | None = None
    data: Data | None = None
    model: Model | None = None
    scratch: Scratch = Scratch()
    tasks: Mapping[str, TaskSpec] = field(default_factory=dict)  # what was changed, by kind of task
    trainings: Mapping[str, TrainingSpec] = field(default_factory=dict)  # two for pre-training
    features: Features = NO_READER
    hardware: HardwareSpec = ANY_HARDWARE
    usual_hardware: HardwareSpec = ANY_HARDWARE  # what the settings of the window say
    length_by_hand: bool = False
    name: str = ""

    @property
    def aim(self) -> Aim:
        return AIMS[self.kind or Kind.SENTENCE]

    @property
    def task(self) -> TaskSpec:
        """The present task with its settings."""
        task = self.tasks.get(self.aim.task.kind, self.aim.task)
        if isinstance(task, Pretraining) and task.objective == "next_token":
            return task.model_copy(update={"nsp": False})
        return task

    @property
    def training(self) -> TrainingSpec:
        """The settings of the present task; the usual length is no more than the network reads."""
        kept = self.trainings.get(self._training_name, self.aim.training)
        spec = None if self.length_by_hand else network(self)
        if spec is None or spec.max_positions >= kept.max_length:
            return kept
        return kept.model_copy(update={"max_length": spec.max_positions})

    @property
    def defaults(self) -> TrainingSpec:
        return self.aim.training

    @property
    def _training_name(self) -> str:
        kind = self.kind or Kind.SENTENCE
        return kind if kind.pretrains else self.aim.task.kind

    @property
    def reader(self) -> Features:
        """The settings of a reader of the model, where the present task can have one."""
        return NO_READER if self.kind is not None and self.kind.pretrains else self.features

    @property
    def quick_look(self) -> bool:
        return self.training.train_fraction < 1

    @property
    def is_causal(self) -> bool:
        """Whether the next word is to be learned, from left to right."""
        return isinstance(self.task, Pretraining) and self.task.objective == "next_token"

    def with_task(self, task: TaskSpec) -> "Choices":
        """The same with other settings of a task."""
        return replace(self, tasks={**self.tasks, task.kind: task})

    def with_data(self, data: Data) -> "Choices":
        """Other data; what was said about the labels of the former is taken back."""
        said: dict[str, object] = {"labels": (), "class_weights": {}}
        plain = {
            kind: task.model_copy(update=said) if hasattr(task, "labels") else task
            for kind, task in self.tasks.items()
        }
        return replace(self, data=data, tasks=plain)

    def with_training(self, training: TrainingSpec) -> "Choices":
        """The same with other settings of the present task."""
        by_hand = self.length_by_hand or training.max_length != self.training.max_length
        trainings = {**self.trainings, self._training_name: training}
        return replace(self, trainings=trainings, length_by_hand=by_hand)

    def with_quick_look(self, wanted: bool) -> "Choices":
        share = QUICK_LOOK if wanted else 1.0
        return self.with_training(self.training.model_copy(update={"train_fraction": share}))

    def with_suggested_length(self, length: int) -> "Choices":
        """Take a length that suits the data, unless the user has set one."""
        if self.length_by_hand:
            return self
        changed = self.with_training(self.training.model_copy(update={"max_length": length}))
        return replace(changed, length_by_hand=False)


def network(choices: Choices) -> BertSpec | None:
    """The size of the network that will be trained; None while it is unknown."""
    if choices.kind is Kind.SCRATCH:
        scratch = choices.scratch
        spec = scratch.own if scratch.size == OWN_SIZE else PRESETS[scratch.size]
        known = scratch.vocabulary.info if scratch.vocabulary else None
        pieces = known.vocab_size if known else scratch.pieces
        return spec.model_copy(update={"vocab_size": pieces, "causal": choices.is_causal})
    info = choices.model.info if choices.model else None
    if info is None:
        return None
    return BertSpec(
        vocab_size=info.vocab_size,
        hidden_size=info.hidden_size,
        layers=info.layers,
        heads=info.heads,
        intermediate_size=info.intermediate_size,
        max_positions=info.max_positions,
        causal=info.causal,
    )


def job(choices: Choices) -> JobSpec:
    """The job that was composed; `obstacle` must be silent for every step.

    Raises:
        ValueError: a choice is still missing, or values that do not go together (pydantic's).
    """
    if choices.kind is None or choices.data is None:
        raise ValueError("task and data are not chosen yet")
    return JobSpec(
        name=choices.name.strip() or suggested_name(choices),
        task=choices.task,
        base_model=_start(choices),
        data=choices.data.source,
        training=choices.training,
        features=choices.reader,
        hardware=choices.hardware,
    )


def _start(choices: Choices) -> BaseModelSource:
    if choices.kind is Kind.SCRATCH:
        spec = network(choices)
        assert spec is not None
        vocabulary = choices.scratch.vocabulary
        return FromScratch(
            model=spec,
            tokenizer=vocabulary.path if vocabulary else None,
            lowercase=choices.scratch.lowercase,
            warm_init=choices.scratch.head_start and not choices.is_causal,
        )
    if choices.model is None:
        raise ValueError("no model is chosen yet")
    return FromCheckpoint(path=choices.model.path)


def suggested_name(choices: Choices) -> str:
    """A name made of the data and what it starts from."""
    data = choices.data.name if choices.data else ""
    if choices.kind is Kind.SCRATCH:
        start = f"BERT {choices.scratch.size}"
    else:
        start = choices.model.name if choices.model else ""
    return " · ".join(part for part in (data, start) if part)[:LONGEST_NAME] or "run"


def choices_of(given: JobSpec, datasets: list[Data], models: list[Model]) -> Choices:
    """The choices that lead to `given`, so that one thing can be changed and started again.

    Data sets and models that the studio does not list (any more) are kept as the job names them.
    """
    data = next(
        (d for d in datasets if d.source == given.data or _same_folder(d.source, given.data)),
        Data(_source_name(given.data), given.data),
    )
    choices = replace(
        Choices(),
        data=data,
        features=given.features.model_copy(update={"cache": None}),
        hardware=given.hardware,
        name=given.name,
        length_by_hand=True,
    )
    choices = replace(choices, kind=_kind_of(given, data)).with_task(given.task)
    if isinstance(given.base_model, FromScratch):
        choices = replace(choices, scratch=_scratch_of(given.base_model, models))
    else:
        choices = replace(choices, model=_model_at(given.base_model.path, models))
    return choices.with_training(given.training)


def _kind_of(given: JobSpec, data: Data) -> Kind:
    """The card that leads to a job."""
    if isinstance(given.task, Pretraining):
        return Kind.SCRATCH if isinstance(given.base_model, FromScratch) else Kind.ONWARD
    if isinstance(given.task, TextClassification):
        return Kind.PAIR if _has_pair(data) else Kind.SENTENCE
    return next(kind for kind, aim in AIMS.items() if aim.task.kind == given.task.kind)


def _has_pair(data: Data) -> bool:
    """Whether each row has two texts, as far as is known before files are read."""
    if data.spec is not None:
        return data.spec.mapping.pair is not None
    mapping = data.source.mapping if isinstance(data.source, FileData) else None
    return mapping is not None and mapping.pair is not None


def _scratch_of(start: FromScratch, models: list[Model]) -> Scratch:
    size = next(
        (
            name
            for name, preset in PRESETS.items()
            if preset.model_copy(
                update={"vocab_size": start.model.vocab_size, "causal": start.model.causal}
            )
            == start.model
        ),
        OWN_SIZE,
    )
    return Scratch(
        size=size,
        own=start.model,
        vocabulary=_model_at(start.tokenizer, models) if start.tokenizer else None,
        pieces=start.model.vocab_size,
        lowercase=start.lowercase,
        head_start=start.warm_init,
    )


def _model_at(path: Path, models: list[Model]) -> Model:
    return next((m for m in models if m.path == path), Model(path.name, path))


def _same_folder(one: DataSource, other: DataSource) -> bool:
    return (
        isinstance(one, StoredData) and isinstance(other, StoredData) and one.folder == other.folder
    )


def _source_name(source: DataSource) -> str:
    return source.folder.parent.name if isinstance(source, StoredData) else source.path.name
