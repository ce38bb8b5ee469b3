"""A job: all settings of a run, and the rules between them. It is immutable."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from engine.config import Spec
from engine.config.dataset import DataSource
from engine.config.families.bert import BertSpec
from engine.config.features import CONTRASTIVE, FINE_TUNED, LAYER_SWEEP, Features, Vectors
from engine.config.fields import setting
from engine.config.problems import BrokenRules, Problem
from engine.config.search import SearchSpec, check_search
from engine.config.task import AggregatingTask
from engine.config.tasks import AnyTask
from engine.config.training import HardwareSpec, TrainingSpec
from engine.phrases import phrase


class FromScratch(Spec):
    """New weights, with a published vocabulary or one trained on the data."""

    kind: Literal["scratch"] = "scratch"
    model: BertSpec
    tokenizer: Path | None = Field(
        None,
        title="Tokenizer",
        description=(
            "A tokenizer folder or vocab.txt. Empty = train a new vocabulary of the model's size "
            "on the data."
        ),
        json_schema_extra=setting("elsewhere"),
    )
    lowercase: bool = Field(
        True,
        title="Lowercase (uncased)",
        description="A new vocabulary ignores case and accents.",
        json_schema_extra=setting("elsewhere"),
    )
    warm_init: bool = Field(
        False,
        title="Warm initialisation (not in the paper)",
        description=(
            "Starts from co-occurrence word vectors and local attention instead of random weights;"
            " converges faster on small budgets."
        ),
        json_schema_extra=setting("elsewhere"),
    )


class FromCheckpoint(Spec):
    """The weights and the vocabulary of a checkpoint folder."""

    kind: Literal["checkpoint"] = "checkpoint"
    path: Path


BaseModelSource = Annotated[FromScratch | FromCheckpoint, Field(discriminator="kind")]


RUN_NAME_LENGTH = 200  # characters


class RunGroup(Spec):
    """The group of runs that this one belongs to; set by the program."""

    id: str = Field(
        min_length=1, description="The same in all runs of the group, and in no others."
    )
    name: str = Field(description="Name of the group.")
    runs: int = Field(ge=1, description="Number of runs in the group.")
    vectors: tuple[Vectors, ...] = Field((), description="The rows of a layer probing sweep.")
    search: SearchSpec | None = Field(None, description="The search that this run is a part of.")
    setting: int = Field(0, ge=0, description="Index of the combination in the search.")
    seeds: tuple[int, ...] = Field((), description="The seeds of every combination of the search.")
    optuna: str = Field("", description="Version of Optuna that chose the combination, if it did.")


class JobSpec(Spec):
    """Task, base model, data, training and hardware under one name."""

    name: str = Field(min_length=1, max_length=RUN_NAME_LENGTH)
    task: AnyTask
    base_model: BaseModelSource
    data: DataSource
    training: TrainingSpec = TrainingSpec()
    features: Features = Features()
    teacher: Path | None = Field(
        None,
        description=(
            "A fine-tuned model with the same labels, whose outputs are learned in place of the "
            "labels (distillation); None: learn the labels."
        ),
    )
    hardware: HardwareSpec = HardwareSpec()
    search: SearchSpec | None = Field(
        None, description="Several values for some fields; each combination is a separate run."
    )
    group: RunGroup | None = None

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        problems = [problem for rule in RULES for problem in rule(self)]
        if problems:
            raise BrokenRules(problems)
        return self


def settings_of_task_fit(job: "JobSpec") -> Iterator[Problem]:
    """The settings of the task are consistent."""
    for problem in job.task.broken_rules():
        yield Problem(problem.text, tuple(f"task.{field}" for field in problem.fields))


def best_metric_is_measured(job: "JobSpec") -> Iterator[Problem]:
    """The metric of the best checkpoint is one of the task's metrics."""
    name, metrics = job.training.best_metric, job.task.info.metrics
    if name and name not in (metric.name for metric in metrics):
        yield Problem(
            phrase(
                "The task does not measure “{metric}”: choose one of {metrics} for the best "
                "checkpoint, or leave it empty",
                metric=name,
                metrics=", ".join(metric.name for metric in metrics),
            ),
            ("training.best_metric", "task"),
        )


def model_has_the_direction(job: "JobSpec") -> Iterator[Problem]:
    """Causal networks predict the next token; other networks cannot."""
    causal, base = job.task.causal, job.base_model
    if causal is None or not isinstance(base, FromScratch):
        return
    if base.model.causal != causal:
        yield Problem(
            phrase(
                "The objective CLM needs a causal model, MLM a bidirectional one: set "
                "base_model.model.causal to {causal}",
                causal=str(causal).lower(),
            ),
            ("base_model.model.causal", "task.objective"),
        )
    if causal and base.warm_init:
        yield Problem(
            phrase("Warm initialisation is for the objective MLM: turn it off for CLM"),
            ("base_model.warm_init", "task.objective"),
        )


def features_have_a_model(job: "JobSpec") -> Iterator[Problem]:
    """Only trained models have features, and only labels can be learned from them."""
    if job.features.vectors == FINE_TUNED:
        return
    if isinstance(job.base_model, FromScratch) or job.task.info.is_pretraining:
        yield Problem(
            phrase(
                "Feature extraction needs a pre-trained base model and a task with labels: set "
                "features.vectors to fine-tuned otherwise"
            ),
            ("features.vectors", "base_model", "task"),
        )
    elif job.features.trains_probe and job.training.lora_rank:
        yield Problem(
            phrase("A probe on frozen features has no LoRA adapters: set the LoRA rank to 0"),
            ("training.lora_rank", "features.vectors"),
        )


def pairs_have_one_label(job: "JobSpec") -> Iterator[Problem]:
    """Contrastive fine-tuning compares texts of one label each, and fits its last layer."""
    if job.features.vectors != CONTRASTIVE:
        return
    training = job.training
    if not job.task.info.learns_from_pairs:
        yield Problem(
            phrase(
                "Contrastive fine-tuning learns one label per text, without order or levels: "
                "choose text classification, or set features.vectors to fine-tuned"
            ),
            ("features.vectors", "task"),
        )
    others = {
        "training.lora_rank": training.lora_rank,
        "training.ema_decay": training.ema_decay,
        "training.cache_frozen_layers": training.cache_frozen_layers,
        "hardware.processes": job.hardware.processes > 1,
        "task.label_smoothing": getattr(job.task, "label_smoothing", 0),
        "task.long_texts": getattr(job.task, "reads_windows", False),
        "teacher": job.teacher,
    }
    if used := [name for name, value in others.items() if value]:
        yield Problem(
            phrase(
                "Contrastive fine-tuning is not combined with LoRA, averaged weights, cached "
                "layers, label smoothing, windows of long texts, a teacher or several processes: "
                "turn off {names}",
                names=", ".join(used),
            ),
            ("features.vectors", *used),
        )


def cached_layers_are_frozen(job: "JobSpec") -> Iterator[Problem]:
    """Cached outputs are constant over epochs: of frozen layers, and of labelled texts."""
    if not job.training.cache_frozen_layers:
        return
    cache, frozen = "training.cache_frozen_layers", "training.frozen_layers"
    if not job.training.frozen_layers:
        yield Problem(
            phrase("No layers are frozen: set the number of frozen layers, or turn the cache off"),
            (cache, frozen),
        )
    if job.task.info.is_pretraining:
        yield Problem(
            phrase(
                "Frozen layers cannot be cached in pre-training: different tokens are masked in "
                "every epoch"
            ),
            (cache, "task"),
        )
    if job.features.vectors != FINE_TUNED:
        yield Problem(
            phrase(
                "Features are cached anyway: turn the cache of frozen layers off, or set "
                "features.vectors to fine-tuned"
            ),
            (cache, "features.vectors"),
        )


def windows_are_read_again(job: "JobSpec") -> Iterator[Problem]:
    """Windows that are drawn in each step cannot be cached."""
    task, is_cached = job.task, job.training.cache_frozen_layers
    if not isinstance(task, AggregatingTask) or not (task.reads_windows and task.windows_per_text):
        return
    if is_cached or job.features.vectors != FINE_TUNED:
        yield Problem(
            phrase(
                "Several windows of a text cannot be trained together on cached layers or "
                "features: set the windows per text in a step to 0, or fine-tune all layers"
            ),
            (
                "task.windows_per_text",
                "training.cache_frozen_layers" if is_cached else "features.vectors",
            ),
        )


def adapters_have_a_model(job: "JobSpec") -> Iterator[Problem]:
    """Adapters change trained weights."""
    if job.training.lora_rank and isinstance(job.base_model, FromScratch):
        yield Problem(
            phrase(
                "LoRA needs a pre-trained model: choose a base model, or set the LoRA rank to 0"
            ),
            ("training.lora_rank", "base_model"),
        )


def teacher_has_outputs(job: "JobSpec") -> Iterator[Problem]:
    """A teacher is for tasks that predict labels or a number for the input as a whole."""
    head = job.task.info.head
    can_learn = head is not None and head.can_teach and job.features.vectors == FINE_TUNED
    if job.teacher is not None and not can_learn:
        yield Problem(
            phrase(
                "A teacher is for fine-tuning on labels or numbers of whole texts: leave it empty"
            ),
            ("teacher", "task"),
        )


def each_process_has_examples(job: "JobSpec") -> Iterator[Problem]:
    """Every process gets a share of each batch."""
    processes, batch_size = job.hardware.processes, job.training.batch_size
    if processes > batch_size:
        yield Problem(
            phrase(
                "A batch of {batch_size} cannot be shared by {processes} processes: increase the "
                "batch size, or use fewer processes",
                batch_size=batch_size,
                processes=processes,
            ),
            ("hardware.processes", "training.batch_size"),
        )
    if processes > 1 and job.hardware.device == "mps":
        yield Problem(
            phrase("A Mac has one GPU: set the number of processes to 1"),
            ("hardware.processes", "hardware.device"),
        )


def shards_are_whole_weights(job: "JobSpec") -> Iterator[Problem]:
    """Sharded training needs full weights and several processes."""
    if not job.hardware.sharded:
        return
    if job.hardware.processes == 1:
        yield Problem(
            phrase("Sharding the weights needs at least 2 processes"),
            ("hardware.sharded", "hardware.processes"),
        )
    if job.training.ema_decay or job.training.lora_rank or job.features.vectors != FINE_TUNED:
        yield Problem(
            phrase(
                "Sharded weights cannot be combined with weight averaging, LoRA or feature "
                "extraction: turn these off, or sharding"
            ),
            ("hardware.sharded", "training.ema_decay", "training.lora_rank", "features.vectors"),
        )


def search_has_values(job: "JobSpec") -> Iterator[Problem]:
    """The values of a search are valid, and a layer sweep is not part of one."""
    yield from check_search(job)
    if job.search is not None and job.features.vectors == LAYER_SWEEP:
        yield Problem(
            phrase("A layer sweep cannot be combined with several values"),
            ("search", "features.vectors"),
        )


RULES: tuple[Callable[["JobSpec"], Iterator[Problem]], ...] = (
    settings_of_task_fit,
    best_metric_is_measured,
    model_has_the_direction,
    features_have_a_model,
    pairs_have_one_label,
    cached_layers_are_frozen,
    windows_are_read_again,
    adapters_have_a_model,
    teacher_has_outputs,
    each_process_has_examples,
    shards_are_whole_weights,
    search_has_values,
)
