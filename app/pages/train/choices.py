"""What has been chosen so far in the wizard, and the job that follows from it. No widgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path

from engine.messages.reports import CheckpointInfo
from engine.spec.dataset import DatasetSpec, DataSource, StoredData
from engine.spec.features import Features
from engine.spec.job import BaseModelSource, FromCheckpoint, FromScratch, JobSpec
from engine.spec.model import PRESETS, BertSpec
from engine.spec.task import TaskSpec
from engine.spec.tasks import TASKS
from engine.spec.training import HardwareSpec, TrainingSpec

OWN_SIZE = "own"
QUICK_LOOK = 0.1  # of the examples
LONGEST_NAME = 200  # characters, as in JobSpec


ANY_HARDWARE = HardwareSpec()
NO_READER = Features()  # the model itself is fine-tuned


class Step(IntEnum):
    """The steps of the wizard, in their order."""

    TASK = 0
    DATA = 1
    START = 2
    SETTINGS = 3
    REVIEW = 4


@dataclass(frozen=True)
class Goal:
    """What a person wants: a task, from a base model or from scratch. A card of the first step."""

    kind: str
    from_scratch: bool = False

    @property
    def task(self) -> TaskSpec:
        """The task with its usual settings."""
        return TASKS[self.kind](kind=self.kind)

    @property
    def training(self) -> TrainingSpec:
        """The usual settings of its training."""
        facts = TASKS[self.kind].facts
        return facts.from_scratch or facts.training if self.from_scratch else facts.training

    @property
    def is_pretraining(self) -> bool:
        return self.task.is_pretraining


def goals() -> list[Goal]:
    """All cards in their order."""
    found = []
    for kind, task in TASKS.items():
        found.append(Goal(kind))
        if task.facts.from_scratch is not None:
            found.append(Goal(kind, from_scratch=True))
    return found


def first_goal(pretrains: bool, from_scratch: bool = False) -> Goal:
    """The first card for pre-training, or for fine-tuning."""
    return next(
        goal
        for goal in goals()
        if (goal.is_pretraining, goal.from_scratch) == (pretrains, from_scratch)
    )


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

    goal: Goal | None = None
    data: Data | None = None
    model: Model | None = None
    scratch: Scratch = Scratch()
    tasks: Mapping[str, TaskSpec] = field(default_factory=dict)  # what was changed, by kind of task
    trainings: Mapping[Goal, TrainingSpec] = field(default_factory=dict)
    features: Features = NO_READER
    hardware: HardwareSpec = ANY_HARDWARE
    usual_hardware: HardwareSpec = ANY_HARDWARE  # what the settings of the window say
    length_by_hand: bool = False
    name: str = ""

    @property
    def present_goal(self) -> Goal:
        """The goal, or the first of them while none is chosen."""
        return self.goal or goals()[0]

    @property
    def from_scratch(self) -> bool:
        """Whether the network will have fresh weights."""
        return self.goal is not None and self.goal.from_scratch

    @property
    def continues(self) -> bool:
        """Whether a base model is pre-trained further."""
        return self.is_pretraining and not self.from_scratch

    @property
    def is_pretraining(self) -> bool:
        return self.goal is not None and self.goal.is_pretraining

    @property
    def task(self) -> TaskSpec:
        """The present task with its settings."""
        goal = self.present_goal
        task = self.tasks.get(goal.kind, goal.task)
        return task.model_copy(update={"nsp": False}) if task.causal else task

    @property
    def training(self) -> TrainingSpec:
        """The settings of the present task; the usual length is no more than the network reads."""
        kept = self.trainings.get(self.present_goal, self.defaults)
        spec = None if self.length_by_hand else network(self)
        if spec is None or spec.max_positions >= kept.max_length:
            return kept
        return kept.model_copy(update={"max_length": spec.max_positions})

    @property
    def defaults(self) -> TrainingSpec:
        return self.present_goal.training

    @property
    def reader(self) -> Features:
        """The settings of a reader of the model, where the present task can have one."""
        return NO_READER if self.is_pretraining else self.features

    @property
    def quick_look(self) -> bool:
        return self.training.train_fraction < 1

    @property
    def is_causal(self) -> bool:
        """Whether the next word is to be learned, from left to right."""
        return bool(self.task.causal)

    def with_task(self, task: TaskSpec) -> "Choices":
        """The same with other settings of a task."""
        return replace(self, tasks={**self.tasks, task.kind: task})

    def with_data(self, data: Data) -> "Choices":
        """Other data; what was said about the labels of the former is taken back."""
        plain = {kind: task.without_labels() for kind, task in self.tasks.items()}
        return replace(self, data=data, tasks=plain)

    def with_training(self, training: TrainingSpec) -> "Choices":
        """The same with other settings of the present task."""
        by_hand = self.length_by_hand or training.max_length != self.training.max_length
        trainings = {**self.trainings, self.present_goal: training}
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
    if choices.from_scratch:
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
    if choices.goal is None or choices.data is None:
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
    if choices.from_scratch:
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
    if choices.from_scratch:
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
    choices = replace(choices, goal=_goal_of(given)).with_task(given.task)
    if isinstance(given.base_model, FromScratch):
        choices = replace(choices, scratch=_scratch_of(given.base_model, models))
    else:
        choices = replace(choices, model=_model_at(given.base_model.path, models))
    return choices.with_training(given.training)


def _goal_of(given: JobSpec) -> Goal:
    """The card that leads to a job."""
    can_be_fresh = given.task.facts.from_scratch is not None
    return Goal(given.task.kind, can_be_fresh and isinstance(given.base_model, FromScratch))


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
