"""What has been chosen so far in the wizard. No widgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

from app.pages.train.goals import Goal, goals
from engine.config import Spec
from engine.config.dataset import DatasetSpec, DataSource, StoredData
from engine.config.families.bert import PRESETS, BertSpec
from engine.config.features import Features
from engine.config.job import FromCheckpoint
from engine.config.recommended import Recommended, Situation, recommended
from engine.config.search import Method, Range, SearchField, SearchSpec
from engine.config.task import TaskSpec
from engine.config.training import HardwareSpec, TrainingSpec
from engine.messages.reports import CheckpointInfo

CUSTOM_SIZE = "custom"
QUICK_TRIAL = 0.1  # of the training data


BASE_MODEL, DATA = "base_model", "data"  # of which further ones may be tried


def model_value(path: Path) -> dict[str, Any]:
    """A checkpoint as one of several base models."""
    return FromCheckpoint(path=path).model_dump(mode="json")


def data_value(folder: Path) -> dict[str, Any]:
    """A stored data set as one of several."""
    return StoredData(folder=folder).model_dump(mode="json")


class SearchPlan(Spec):
    """How several values are combined: a search without its fields."""

    method: Method = "grid"
    budget: int = 0
    hours: float = 0.0
    stop_after: int = 0
    prune: bool = False


USUAL_PLAN = SearchPlan()
ANY_HARDWARE = HardwareSpec()
NO_PROBE = Features()  # the model itself is fine-tuned


class Step(IntEnum):
    """The steps of the wizard, in their order."""

    TASK = 0
    DATA = 1
    BASE_MODEL = 2
    SETTINGS = 3
    REVIEW = 4


@dataclass(frozen=True)
class Data:
    """The data set chosen. `spec` is None for plain files, as a job made by hand may name them."""

    name: str
    source: DataSource
    spec: DatasetSpec | None = None
    is_gone: bool = False  # it was listed, and is no more


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
    custom: BertSpec = PRESETS["small"]
    vocabulary: Model | None = None  # None: a new one is made from the data
    vocab_size: int = 8000  # of a new one
    lowercase: bool = True
    warm_init: bool = False

    def network(self, causal: bool) -> BertSpec:
        """The network, as wide as its vocabulary."""
        spec = self.custom if self.size == CUSTOM_SIZE else PRESETS[self.size]
        known = self.vocabulary.info if self.vocabulary else None
        size = known.vocab_size if known else self.vocab_size
        return spec.model_copy(update={"vocab_size": size, "causal": causal})


@dataclass(frozen=True)
class Choices:
    """Everything that the wizard keeps. What one task does not need stays for the others."""

    goal: Goal | None = None
    data: Data | None = None
    model: Model | None = None
    scratch: Scratch = Scratch()
    tasks: Mapping[str, TaskSpec] = field(default_factory=dict)  # what was changed, by kind of task
    trainings: Mapping[Goal, Mapping[str, Any]] = field(default_factory=dict)  # what the user set
    features: Features = NO_PROBE
    hardware: HardwareSpec = ANY_HARDWARE
    usual_hardware: HardwareSpec = ANY_HARDWARE  # what the settings of the window say
    typical_length: int = 0  # tokens that 99 % of the inputs do not exceed; 0: not known yet
    name: str = ""
    varied: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # several values, by path
    plan: SearchPlan = USUAL_PLAN

    @property
    def search(self) -> SearchSpec | None:
        """The search over all that has several values for the present task; None without any.

        Raises ValueError where the plan cannot be.
        """
        fields = [
            self._field(path, values)
            for path, values in self.varied.items()
            if values and self._is_varied(path)
        ]
        if not fields:
            return None
        plan = self.plan.model_dump()
        if plan["method"] == "grid" and any(field.is_range for field in fields):
            plan["method"] = "tpe"  # a grid knows no ranges
        return SearchSpec.model_validate({"fields": fields, **plan})

    def _field(self, path: str, values: tuple[Any, ...]) -> SearchField:
        if len(values) == 1 and isinstance(values[0], Range):
            return SearchField.ranged(path, *values[0], whole=isinstance(values[0].low, int))
        return SearchField(path=path, values=(*self._first_of(path), *values))

    def _first_of(self, path: str) -> tuple[Any, ...]:
        """What is chosen in a list, before what is tried besides."""
        if path == BASE_MODEL and self.model is not None:
            return (model_value(self.model.path),)
        if path == DATA and self.data is not None:
            return (self.data.source.model_dump(mode="json"),)
        return ()

    def _is_varied(self, path: str) -> bool:
        """Whether a path that was varied is a part of the job as it is now."""
        part, _, name = path.partition(".")
        if part == "task":
            return name in type(self.present_goal.task).model_fields
        if part == "features":
            return not self.is_pretraining
        if part == BASE_MODEL and name:
            return self.from_scratch and self.scratch.size == CUSTOM_SIZE
        return part != BASE_MODEL or not self.from_scratch

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
    def kept_task(self) -> TaskSpec:
        """The present task with all settings that are kept, also those that others put aside."""
        goal = self.present_goal
        return self.tasks.get(goal.kind, goal.task)

    @property
    def task(self) -> TaskSpec:
        """The present task with the settings that count."""
        task = self.kept_task
        return task.model_copy(update={"nsp": False}) if task.causal else task

    @property
    def training(self) -> TrainingSpec:
        """The settings of the present task: what the user set, and the recommended for the rest."""
        return self.defaults.model_copy(update=dict(self.set_by_user))

    @property
    def set_by_user(self) -> Mapping[str, Any]:
        """The settings of the present task that the user has made, by field."""
        return self.trainings.get(self.present_goal, {})

    @property
    def defaults(self) -> TrainingSpec:
        """The recommended settings."""
        return self.recommended.training

    @property
    def recommended(self) -> Recommended:
        """The settings that are recommended for what is chosen, each with its reason."""
        spec = self.data.spec if self.data else None
        return recommended(
            Situation(
                task=type(self.present_goal.task).info,
                from_scratch=self.from_scratch,
                network=self.network,
                rows=spec.rows.get("train", 0) if spec else 0,
                typical_length=self.typical_length,
                lora=bool(self.set_by_user.get("lora_rank")),
            )
        )

    @property
    def probe(self) -> Features:
        """The settings of a probe on the frozen model, where the present task can have one."""
        return NO_PROBE if self.is_pretraining else self.features

    @property
    def quick_trial(self) -> bool:
        return self.training.train_fraction == QUICK_TRIAL

    @property
    def is_causal(self) -> bool:
        """Whether the next word is to be learned, from left to right."""
        return bool(self.task.causal)

    @property
    def network(self) -> BertSpec | None:
        """The size of the network that will be trained; None while it is unknown."""
        if self.from_scratch:
            return self.scratch.network(self.is_causal)
        info = self.model.info if self.model else None
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

    def with_varied(self, part: str, values: Mapping[str, tuple[Any, ...]]) -> "Choices":
        """The same with several values for these fields of a part, and for no others of it."""
        others = {p: v for p, v in self.varied.items() if p.partition(".")[0] != part}
        made = {f"{part}.{name}" if name else part: found for name, found in values.items()}
        return replace(self, varied=others | made)

    def varied_in(self, part: str) -> dict[str, tuple[Any, ...]]:
        """The fields of a part that have several values, with these."""
        return {
            path.partition(".")[2]: values
            for path, values in self.varied.items()
            if path.partition(".")[0] == part
        }

    def with_task(self, task: TaskSpec) -> "Choices":
        """The same with other settings of a task."""
        return replace(self, tasks={**self.tasks, task.kind: task})

    def with_data(self, data: Data) -> "Choices":
        """Other data; what was said about labels stays, and is an obstacle where it has none."""
        return replace(self, data=data).with_lengths_of(self)

    def with_lengths_of(self, other: "Choices") -> "Choices":
        """What is known of the lengths where the data is that of `other`, else nothing."""
        same = self.data is not None and self.data == other.data
        return replace(self, typical_length=other.typical_length if same else 0)

    def with_training(self, training: TrainingSpec) -> "Choices":
        """The same with other settings of the present task.

        What is changed stays as it is now; what is changed to the recommended value, or was that
        before and is not changed, follows the recommendation.
        """
        before = self.training
        changed = {name: value for name, value in training if value != getattr(before, name)}
        made = self.with_set_by_user({**self.set_by_user, **changed})
        back = {name for name, value in changed.items() if value == getattr(made.defaults, name)}
        return made.with_set_by_user(
            {name: value for name, value in made.set_by_user.items() if name not in back}
        )

    def with_set_by_user(self, values: Mapping[str, Any]) -> "Choices":
        """The same with these settings of the present task made by the user, and no others."""
        return replace(self, trainings={**self.trainings, self.present_goal: values})

    def with_quick_trial(self, wanted: bool) -> "Choices":
        fraction = QUICK_TRIAL if wanted else 1.0
        return self.with_training(self.training.model_copy(update={"train_fraction": fraction}))
