"""The choices of the wizard and the values derived from them. No widgets."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

from app.library import DataEntry, ModelEntry
from app.tasks import task_part
from engine.config import Spec
from engine.config.dataset import DatasetSpec, DataSource, StoredData
from engine.config.families.bert import PRESETS, BertSpec
from engine.config.features import CONTRASTIVE, FINE_TUNED, Features
from engine.config.job import FromCheckpoint
from engine.config.recommended import (
    RECIPE_FIELDS,
    Quick,
    Recipe,
    Recommendation,
    Situation,
    recommend,
)
from engine.config.search import Method, Range, SearchField, SearchSpec
from engine.config.task import LongTexts, TaskSpec, WindowedTask
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec
from engine.data.columns.fit import CountedLabels, labelled_spec, likely_task
from engine.messages.reports import CheckpointInfo

CUSTOM_SIZE = "custom"
QUICK_TRIAL_FRACTION = 0.1  # of the training data
BASE_MODEL, DATA = "base_model", "data"  # paths of the job that can be varied as a whole


class Step(IntEnum):
    """The steps of the wizard, in order."""

    TASK = 0
    DATA = 1
    BASE_MODEL = 2
    SETTINGS = 3
    REVIEW = 4


@dataclass(frozen=True)
class Goal:
    """A task, from a base model or from scratch: a card of the first step."""

    kind: str
    from_scratch: bool = False

    @property
    def task(self) -> TaskSpec:
        """The task with its default settings."""
        return TASKS[self.kind](kind=self.kind)

    @property
    def is_pretraining(self) -> bool:
        return self.task.info.is_pretraining

    @property
    def title(self) -> str:
        return task_part(self.kind).card_title(self.from_scratch)


def goals() -> list[Goal]:
    """All cards, in order."""
    return [
        Goal(kind, from_scratch)
        for kind, task in TASKS.items()
        for from_scratch in ((False, True) if task.info.from_scratch is not None else (False,))
    ]


def first_goal(pretrains: bool, from_scratch: bool = False) -> Goal:
    """The first card of pre-training, or of fine-tuning."""
    return next(
        goal
        for goal in goals()
        if (goal.is_pretraining, goal.from_scratch) == (pretrains, from_scratch)
    )


def likely_goal(spec: DatasetSpec) -> Goal:
    """The task that suits these rows best, from a base model."""
    return Goal(likely_task(spec.mapping, spec.labels, spec.overlaps).kind)


@dataclass(frozen=True)
class Data:
    """The chosen data set. `spec` is None for plain files, which a job file may name."""

    name: str
    source: DataSource
    spec: DatasetSpec | None = None
    is_deleted: bool = False  # deleted since it was listed

    @classmethod
    def from_entry(cls, entry: DataEntry, target: str | None = None) -> "Data":
        """The data set of an entry; `target` is the column to learn, by default the mapping's."""
        spec = entry.spec
        fingerprint = spec.fingerprint if spec else ""
        source = StoredData(folder=entry.folder, fingerprint=fingerprint)
        data = cls(entry.name, source, spec)
        return data if target is None or spec is None else data.with_target(target)

    @property
    def folder(self) -> Path | None:
        """The folder of a stored version; None for plain files."""
        return self.source.folder if isinstance(self.source, StoredData) else None

    @property
    def target(self) -> str | None:
        """The column to learn; None: that of the import."""
        return self.source.target if isinstance(self.source, StoredData) else None

    def with_target(self, target: str) -> "Data":
        """A copy with another column to learn."""
        spec, source = self.spec, self.source
        if spec is None or not isinstance(source, StoredData) or target not in spec.targets:
            return self
        chosen = source.model_copy(update={"target": target})
        return replace(self, source=chosen, spec=spec.with_target(target))


@dataclass(frozen=True)
class Model:
    """A checkpoint to start from, or whose vocabulary is used; `info` is None if deleted."""

    name: str
    path: Path
    info: CheckpointInfo | None = None

    @classmethod
    def from_entry(cls, entry: ModelEntry) -> "Model":
        return cls(entry.name, entry.path, entry.info)


@dataclass(frozen=True)
class Scratch:
    """A network with fresh weights, and its vocabulary."""

    size: str = "small"
    custom: BertSpec = PRESETS["small"]
    vocabulary: Model | None = None  # None: trained on the data
    vocab_size: int = 8000  # of a new vocabulary
    lowercase: bool = True
    warm_init: bool = False

    def network(self, causal: bool) -> BertSpec:
        spec = self.custom if self.size == CUSTOM_SIZE else PRESETS[self.size]
        info = self.vocabulary.info if self.vocabulary else None
        size = info.vocab_size if info else self.vocab_size
        return spec.model_copy(update={"vocab_size": size, "causal": causal})


class SearchPlan(Spec):
    """Settings of a search, without its fields."""

    method: Method = "grid"
    budget: int = 0
    hours: float = 0.0
    stop_after: int = 0
    prune: bool = False


def model_value(path: Path) -> dict[str, Any]:
    """Return the value of a checkpoint in a search over base models."""
    return FromCheckpoint(path=path).model_dump(mode="json")


def data_value(folder: Path, target: str | None = None) -> dict[str, Any]:
    """Return the value of a stored data set in a search over data sets and their label columns."""
    return StoredData(folder=folder, target=target).model_dump(mode="json")


DEFAULT_PLAN = SearchPlan()
DEFAULT_HARDWARE = HardwareSpec()
NO_PROBE = Features()  # the model itself is fine-tuned


@dataclass(frozen=True)
class Choices:
    """All choices of the wizard, including those that only other tasks need."""

    goal: Goal | None = None
    data: Data | None = None
    model: Model | None = None
    scratch: Scratch = Scratch()
    tasks: Mapping[str, TaskSpec] = field(default_factory=dict)  # changed settings by task kind
    overrides: Mapping[Goal, Mapping[str, Any]] = field(default_factory=dict)  # set by the user
    recipe: Recipe = "paper"
    features: Features = NO_PROBE
    hardware: HardwareSpec = DEFAULT_HARDWARE
    default_hardware: HardwareSpec = DEFAULT_HARDWARE  # from the settings of the window
    typical_length: int = 0  # tokens, the 99th percentile of the inputs; 0: not known yet
    name: str = ""
    varied: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # several values, by path
    plan: SearchPlan = DEFAULT_PLAN

    # ── task, network and settings ───────────────────────────────────────────────────────────────

    @property
    def current_goal(self) -> Goal:
        """The goal, or the first card before one is chosen."""
        return self.goal or goals()[0]

    @property
    def from_scratch(self) -> bool:
        return self.goal is not None and self.goal.from_scratch

    @property
    def is_pretraining(self) -> bool:
        return self.goal is not None and self.goal.is_pretraining

    @property
    def continues_pretraining(self) -> bool:
        return self.is_pretraining and not self.from_scratch

    @property
    def stored_task(self) -> TaskSpec:
        """The task with all its settings, including those that others disable."""
        goal = self.current_goal
        return self.tasks.get(goal.kind, goal.task)

    @cached_property
    def task(self) -> TaskSpec:
        """The task with the settings in effect."""
        task = self.stored_task
        return task.model_copy(update={"nsp": False}) if task.causal else task

    @property
    def is_causal(self) -> bool:
        """True if the network reads from left to right."""
        return bool(self.task.causal)

    @cached_property
    def network(self) -> BertSpec | None:
        """The network to train; None if no model is chosen."""
        if self.from_scratch:
            return self.scratch.network(self.is_causal)
        info = self.model.info if self.model else None
        if info is None:
            return None
        return BertSpec(
            layers=info.layers,
            hidden_size=info.hidden_size,
            heads=info.heads,
            intermediate_size=info.intermediate_size,
            vocab_size=info.vocab_size,
            max_positions=info.max_positions,
            causal=info.causal,
        )

    @cached_property
    def spec(self) -> DatasetSpec | None:
        """The rows that the task learns from; None if they are not known."""
        spec = self.data.spec if self.data else None
        return labelled_spec(spec, self.task) if spec else None

    @cached_property
    def label_rows(self) -> dict[str, int]:
        """Number of rows with each label to learn; empty if not known yet."""
        spec = self.spec
        return self.task.label_rows(spec, CountedLabels(spec.labels)) if spec else {}

    @cached_property
    def label_names(self) -> tuple[str, ...]:
        """The labels of the task (for tags: the span types and O); empty if not known yet."""
        spec = self.spec
        return self.task.label_names(spec, CountedLabels(spec.labels if spec else {}))

    @cached_property
    def situation(self) -> Situation:
        """The inputs of the recommendation."""
        spec, info = self.spec, self.model.info if self.model else None
        return Situation(
            task=type(self.current_goal.task).info,
            from_scratch=self.from_scratch,
            network=self.network,
            rows=spec.rows.get("train", 0) if spec else 0,
            typical_length=self.typical_length,
            lora=bool(self.set_by_user.get("lora_rank")),
            contrastive=self.probe.vectors == CONTRASTIVE,
            recipe=self.recipe,
            shares_layers=info is not None and info.shares_layers,
            encodes_sentences=info is not None and info.sentence is not None,
            reads_windows=isinstance(self.task, WindowedTask) and self.task.reads_windows,
        )

    @property
    def quick(self) -> Quick | None:
        """The recipe “quick”; None if it is not for this job."""
        return self.situation.quick if self.probe.vectors == FINE_TUNED else None

    @cached_property
    def recommended(self) -> Recommendation:
        """The recommended settings, each with its reason."""
        situation = self.situation
        return recommend(situation if self.quick else replace(situation, recipe="paper"))

    @property
    def defaults(self) -> TrainingSpec:
        return self.recommended.training

    @property
    def set_by_user(self) -> Mapping[str, Any]:
        """Training settings that the user changed for this task, by field."""
        return self.overrides.get(self.current_goal, {})

    @cached_property
    def training(self) -> TrainingSpec:
        """The recommended settings with the user's changes."""
        return self.defaults.model_copy(update=dict(self.set_by_user))

    @property
    def quick_trial(self) -> bool:
        return self.training.train_fraction == QUICK_TRIAL_FRACTION

    @property
    def probe(self) -> Features:
        """Settings of a probe on the frozen model; none for pre-training."""
        return NO_PROBE if self.is_pretraining else self.features

    # ── several values ───────────────────────────────────────────────────────────────────────────

    @property
    def search(self) -> SearchSpec | None:
        """The search over all fields with several values; None if there are none.

        Raises ValueError if the plan is invalid.
        """
        fields = [
            self._search_field(path, values)
            for path, values in self.varied.items()
            if values and self._applies(path)
        ]
        if not fields:
            return None
        plan = self.plan.model_dump()
        if plan["method"] == "grid" and any(field.is_range for field in fields):
            plan["method"] = "tpe"  # a grid takes no ranges
        return SearchSpec.model_validate({"fields": fields, **plan})

    def _search_field(self, path: str, values: tuple[Any, ...]) -> SearchField:
        if len(values) == 1 and isinstance(values[0], Range):
            return SearchField.from_range(path, *values[0], whole=isinstance(values[0].low, int))
        if path == BASE_MODEL and self.model is not None:
            values = (model_value(self.model.path), *values)
        elif path == DATA and self.data is not None:
            values = (self.data.source.model_dump(mode="json"), *values)
        return SearchField(path=path, values=values)

    def _applies(self, path: str) -> bool:
        """True if the current job has this path."""
        part, _, name = path.partition(".")
        if part == "task":
            return name in type(self.current_goal.task).model_fields
        if part == "features":
            return not self.is_pretraining
        if part == BASE_MODEL and name:
            return self.from_scratch and self.scratch.size == CUSTOM_SIZE
        return part != BASE_MODEL or not self.from_scratch

    def varied_in(self, part: str) -> dict[str, tuple[Any, ...]]:
        """The fields of a part that have several values, and these values."""
        return {
            path.partition(".")[2]: values
            for path, values in self.varied.items()
            if path.partition(".")[0] == part
        }

    # ── changed copies ───────────────────────────────────────────────────────────────────────────

    def with_varied(self, part: str, values: Mapping[str, tuple[Any, ...]]) -> "Choices":
        """A copy in which only these fields of a part have several values."""
        others = {p: v for p, v in self.varied.items() if p.partition(".")[0] != part}
        added = {f"{part}.{name}" if name else part: several for name, several in values.items()}
        return replace(self, varied=others | added)

    def without_search(self, goal: Goal) -> "Choices":
        """A copy in which no field has several values, and the plan is the default one.

        Training settings of `goal` that had several are the recommended ones again.
        """
        varied, changed = self.varied_in("training"), self.overrides.get(goal, {})
        kept = {name: value for name, value in changed.items() if name not in varied}
        return replace(self, overrides={**self.overrides, goal: kept}, varied={}, plan=DEFAULT_PLAN)

    def with_search(self, other: "Choices") -> "Choices":
        """A copy with the several values and the plan of `other`."""
        goal = other.current_goal
        overrides = {**self.overrides, goal: other.overrides.get(goal, {})}
        return replace(self, overrides=overrides, varied=other.varied, plan=other.plan)

    def with_task(self, task: TaskSpec) -> "Choices":
        return replace(self, tasks={**self.tasks, task.kind: task})

    def with_long_texts(self, way: LongTexts) -> "Choices":
        """A copy that reads long texts in this way, if the task has several."""
        return self.with_task(self.stored_task.model_copy(update={"long_texts": way}))

    def with_data(self, data: Data) -> "Choices":
        """A copy with other data; settings for missing labels are kept and become obstacles."""
        return replace(self, data=data).with_lengths_from(self)

    def with_lengths_from(self, other: "Choices") -> "Choices":
        """A copy with the text lengths of `other` if both have the same data, else unknown."""
        same = self.data is not None and self.data == other.data
        return replace(self, typical_length=other.typical_length if same else 0)

    def with_training(self, training: TrainingSpec) -> "Choices":
        """A copy with other training settings for the current task.

        Changed fields are kept as set by the user. A field at its recommended value follows the
        recommendation from then on.
        """
        before = self.training
        changed = {name: value for name, value in training if value != getattr(before, name)}
        after = self.with_set_by_user({**self.set_by_user, **changed})
        reset = {name for name, value in changed.items() if value == getattr(after.defaults, name)}
        return after.with_set_by_user(
            {name: value for name, value in after.set_by_user.items() if name not in reset}
        )

    def with_set_by_user(self, values: Mapping[str, Any]) -> "Choices":
        """A copy with exactly these settings of the current task changed by the user."""
        return replace(self, overrides={**self.overrides, self.current_goal: values})

    def with_recipe(self, recipe: Recipe) -> "Choices":
        """A copy with a recipe, which replaces what the user set for its fields."""
        kept = {name: v for name, v in self.set_by_user.items() if name not in RECIPE_FIELDS}
        return replace(self, recipe=recipe).with_set_by_user(kept)

    def with_quick_trial(self, on: bool) -> "Choices":
        fraction = QUICK_TRIAL_FRACTION if on else 1.0
        return self.with_training(self.training.model_copy(update={"train_fraction": fraction}))
