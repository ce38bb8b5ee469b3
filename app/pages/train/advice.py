"""What stands in the way of a step, what is worth a warning, and what will happen, in sentences."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel
from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import (
    NO_READER,
    OWN_SIZE,
    Choices,
    Goal,
    Step,
    network,
    suggested_name,
)
from app.tasks import part_of
from app.tasks.part import Plan
from app.widgets import numbers
from app.widgets.spec_texts import title_of, value_in_words
from engine.checkpoints.families import FAMILIES
from engine.data.columns.fit import problems_of
from engine.data.columns.labels import CountedLabels
from engine.errors import StudioError
from engine.messages.estimating import Estimated
from engine.spec.dataset import DatasetSpec
from engine.spec.features import FINE_TUNED, LAYER_SWEEP, Features
from engine.spec.fields import fields_at
from engine.spec.model import BertSpec
from engine.spec.training import HardwareSpec, TrainingSpec

translate = QCoreApplication.translate

FEW_EXAMPLES = 50  # of one label, or in all for masked words
LONG_TRAINING = 12 * 3600  # s
TIGHT = 0.75  # of the memory that is free
SIMPLE_FIELDS = (*fields_at(TrainingSpec, "simple"), "train_fraction")  # the last: a switch


@dataclass(frozen=True)
class Lengths:
    """How long the inputs of a data set are, in word pieces, seen on a sample of them."""

    sample: tuple[int, ...]  # sorted

    def suggested(self, longest: int) -> int:
        """The 99th percentile, rounded up to a multiple of 8 or 16, at most `longest`."""
        wanted = self.sample[min(len(self.sample) - 1, int(0.99 * len(self.sample)))]
        multiple = 8 if wanted <= 64 else 16
        return max(16, min(longest, -(-wanted // multiple) * multiple))

    def share_cut(self, longest: int) -> float:
        """The share of inputs that are longer than `longest`."""
        return sum(length > longest for length in self.sample) / len(self.sample)


# ── data that fits ───────────────────────────────────────────────────────────────────────────


def misfits(spec: DatasetSpec, kind: str) -> list[StudioError]:
    """Everything that keeps this data set from this task; empty where it fits."""
    task = Goal(kind).task
    found = problems_of(spec.columns, spec.mapping, task, spec.labels or None)
    if not spec.rows.get("train"):
        found.append(
            StudioError(
                translate("Train", "It has no rows for training."),
                translate("Train", "Import it again with another split."),
            )
        )
    return found


def label_rows(choices: Choices) -> dict[str, int]:
    """How many rows have each label that is to be learned; empty where it is not known yet."""
    spec = choices.data.spec if choices.data else None
    return choices.task.label_rows(spec, CountedLabels(spec.labels)) if spec else {}


def label_names(choices: Choices) -> tuple[str, ...]:
    """The labels that the task will have; empty where they are not known yet.

    Of tags they are the types of the spans, and O.
    """
    spec = choices.data.spec if choices.data else None
    return choices.task.label_names(spec, CountedLabels(spec.labels if spec else {}))


# ── why a step is not done yet ───────────────────────────────────────────────────────────────


def obstacle(choices: Choices, step: Step) -> str:
    """One sentence that says why this step is not done; empty where it is."""
    match step:
        case Step.TASK:
            return "" if choices.goal else translate("Train", "Choose what the model should learn.")
        case Step.DATA:
            return _data_obstacle(choices)
        case Step.START:
            return _start_obstacle(choices)
        case Step.SETTINGS:
            return _settings_obstacle(choices)
        case Step.REVIEW:
            named = choices.name.strip() or suggested_name(choices)
            return "" if named else translate("Train", "Give the run a name.")


def _data_obstacle(choices: Choices) -> str:
    if choices.data is None:
        return translate("Train", "Choose a data set, or import one.")
    if choices.goal is None or choices.data.spec is None:
        return ""
    problems = misfits(choices.data.spec, choices.goal.kind)
    if not problems:
        return ""
    template = translate("Train", "“{name}” does not fit: {problem}")
    return template.format(name=choices.data.name, problem=problems[0])


def _start_obstacle(choices: Choices) -> str:
    if choices.from_scratch:
        vocabulary = choices.scratch.vocabulary
        if vocabulary is not None and vocabulary.info is None:
            return _gone(vocabulary.name)
        return ""
    if choices.model is None:
        return translate("Train", "Choose a model to start from.")
    if choices.model.info is None:
        return _gone(choices.model.name)
    return _direction_obstacle(choices) if choices.continues else ""


def _direction_obstacle(choices: Choices) -> str:
    """Masked words need a model that looks to both sides, the next word one that does not."""
    assert choices.model is not None and choices.model.info is not None
    if choices.model.info.causal == choices.is_causal:
        return ""
    if choices.is_causal:
        text = translate(
            "Train",
            "“{name}” looks to both sides: to learn the next word, choose a left-to-right model,"
            " or begin from scratch.",
        )
    else:
        text = translate(
            "Train",
            "“{name}” is left-to-right: choose the objective “Next word” in the advanced settings,"
            " or another model.",
        )
    return text.format(name=choices.model.name)


def _gone(name: str) -> str:
    return translate("Train", "The model “{name}” is no longer there: choose another.").format(
        name=name
    )


def _processes_obstacle(choices: Choices) -> str:
    """Why the job cannot be shared by so many processes."""
    hardware, training = choices.hardware, choices.training
    if hardware.processes > training.batch_size:
        return translate(
            "Train",
            "A batch of {batch} cannot be shared by {processes} processes: take fewer of them, or "
            "a larger batch.",
        ).format(batch=training.batch_size, processes=hardware.processes)
    if hardware.processes > 1 and hardware.device == "mps":
        return translate("Train", "A Mac has one GPU: set the processes to 1.")
    if not hardware.sharded:
        return ""
    if hardware.processes == 1:
        return translate(
            "Train", "Weights are spread over several processes: ask for 2 of them or more."
        )
    if training.ema_decay or training.lora_rank or choices.reader.vectors != FINE_TUNED:
        return translate(
            "Train",
            "Sharded weights are trained as they are: no average of the weights, no LoRA, no "
            "reader.",
        )
    return ""


def _settings_obstacle(choices: Choices) -> str:
    spec = network(choices)
    longest = choices.training.max_length
    if spec is not None and longest > spec.max_positions:
        return translate(
            "Train",
            "The model reads at most {most} word pieces, and “Longest input” asks for {asked}.",
        ).format(most=spec.max_positions, asked=longest)
    if choices.reader.trains_probe and choices.training.lora_rank:
        return translate("Train", "A reader trains no adapters: set the LoRA rank to 0.")
    if choices.from_scratch and choices.training.lora_rank:
        return translate(
            "Train", "LoRA adapts a model that has learned already: set the LoRA rank to 0."
        )
    if why := _processes_obstacle(choices):
        return why
    task, info = choices.task, choices.model.info if choices.model else None
    if choices.continues and task.needs_nsp:
        family = FAMILIES.get(info.family) if info else None
        if family is not None and not family.knows_next_sentence:
            return translate(
                "Train", "{family} has no head for next sentence: turn “Next sentence” off."
            ).format(family=family.title)
    unknown = task.unknown_weights(label_names(choices))
    if unknown:
        return translate(
            "Train", "A weight is given for “{label}”, and no label of the data is called so."
        ).format(label=unknown[0])
    return task.invalid()


# ── what is worth a warning ──────────────────────────────────────────────────────────────────


def verdict(estimate: Estimated) -> str:
    """“fits”, “tight” or “too big” for the memory of this machine."""
    share = estimate.memory / max(1, estimate.available)
    return "fits" if share <= TIGHT else "tight" if share <= 1 else "too big"


def warnings(
    choices: Choices, lengths: Lengths | None = None, estimate: Estimated | None = None
) -> list[str]:
    """What the user should know before starting; none of it forbids the start."""
    return [
        *_data_warnings(choices, lengths),
        *_model_warnings(choices),
        *(_estimate_warnings(estimate) if estimate else []),
    ]


def _data_warnings(choices: Choices, lengths: Lengths | None) -> list[str]:
    spec = choices.data.spec if choices.data else None
    found = []
    if spec is not None and not spec.rows.get("validation"):
        found.append(
            translate(
                "Train",
                "The data set has no dev rows, so nothing says which checkpoint is the best.",
            )
        )
    rare = [label for label, rows in label_rows(choices).items() if rows < FEW_EXAMPLES]
    if rare:
        shown = ", ".join(f"“{label}”" for label in rare[:3]) + (", …" if rare[3:] else "")
        found.append(
            translate("Train", "Few rows have the label {labels}: expect mistakes there.").format(
                labels=shown
            )
        )
    cut = lengths.share_cut(choices.training.max_length) if lengths else 0
    if cut > 0.01 and choices.task.facts.cuts_long_texts:
        found.append(
            translate(
                "Train",
                "About {share} % of the inputs are longer than {longest} word pieces and are cut.",
            ).format(share=round(100 * cut), longest=choices.training.max_length)
        )
    return found


def _model_warnings(choices: Choices) -> list[str]:
    info = choices.model.info if choices.model else None
    if choices.continues and info is not None and "masked words" not in info.task_heads:
        return [
            translate(
                "Train",
                "The model has no head for masked words: a new one is made and learns from zero.",
            )
        ]
    return []


def _estimate_warnings(estimate: Estimated) -> list[str]:
    found = []
    if verdict(estimate) == "too big":
        found.append(
            translate(
                "Train",
                "It needs more memory than is free: the run will probably fail."
                " A smaller batch or a shorter input helps.",
            )
        )
    elif verdict(estimate) == "tight":
        found.append(
            translate("Train", "It needs nearly all memory that is free: close other programs.")
        )
    wanted = estimate.checkpoint * estimate.checkpoints
    if estimate.disk_free is not None and wanted > estimate.disk_free:
        found.append(
            translate(
                "Train",
                "The checkpoints need up to {wanted}, and {free} are free on the disk of the runs:"
                " training will wait when it is full. Keep fewer of them, or free some space.",
            ).format(wanted=numbers.size(wanted), free=numbers.size(estimate.disk_free))
        )
    if estimate.seconds > LONG_TRAINING:
        found.append(
            translate(
                "Train",
                "It will take long. The run goes on when the window is closed, and can be stopped"
                " and continued at any time.",
            )
        )
    return found


# ── what will happen ─────────────────────────────────────────────────────────────────────────


def summary(choices: Choices) -> str:
    """What will happen, for the review. The steps before it must be done."""
    assert choices.goal is not None and choices.data is not None
    return f"{_what(choices)} {_how(choices)}"


def _what(choices: Choices) -> str:
    assert choices.data is not None
    goal, size = choices.present_goal, choices.scratch.size
    if goal.from_scratch:
        model = translate("Train", "own size") if size == OWN_SIZE else size
    else:
        model = choices.model.name if choices.model else ""
    plan = Plan(
        task=choices.task,
        from_scratch=goal.from_scratch,
        model=model,
        data=choices.data.name,
        labels=len(label_names(choices)),
        trained=_trained(choices),
    )
    return part_of(goal.kind).plan(plan)


def _trained(choices: Choices) -> str:
    """Which weights are trained, as a phrase."""
    training, vectors = choices.training, choices.reader.vectors
    if choices.reader.trains_probe:
        template = translate("Train", "probe on frozen features: {vectors}")
    elif vectors == LAYER_SWEEP:
        template = translate(
            "Train",
            "layer probing sweep",
        )
    elif training.lora_rank:
        template = translate("Train", "LoRA rank {rank}")
    elif training.frozen_layers:
        template = translate("Train", "lowest {frozen} layers frozen")
    else:
        template = translate("Train", "all weights")
    return template.format(rank=training.lora_rank, frozen=training.frozen_layers, vectors=vectors)


def _how(choices: Choices) -> str:
    assert choices.data is not None
    training = choices.training
    if choices.reader.trains_probe:
        training = training.model_copy(update={"epochs": choices.reader.epochs})
    spec = choices.data.spec
    values = {
        "batch": numbers.count(training.batch_size),
        "epochs": value_in_words(training.epochs),
        "steps": numbers.count(training.steps),
        "share": value_in_words(round(100 * training.train_fraction, 1)),
        "rows": numbers.count(round(training.train_fraction * spec.rows.get("train", 0)))
        if spec
        else "",
        "dev": numbers.count(spec.rows.get("validation", 0)) if spec else "",
    }
    if training.steps:
        seen = translate("Train", "It makes {steps} steps of {batch} examples.")
    elif spec is None:
        seen = translate("Train", "It sees the examples {epochs} times in batches of {batch}.")
    elif training.train_fraction < 1:
        seen = translate(
            "Train",
            "It sees {share} % of the training rows ({rows}) {epochs} times in batches of {batch}.",
        )
    else:
        seen = translate(
            "Train", "It sees the {rows} training rows {epochs} times in batches of {batch}."
        )
    if spec is not None and spec.rows.get("validation"):
        kept = translate("Train", "It is judged by {dev} dev rows, and the best state is kept.")
    else:
        kept = translate("Train", "The last state is kept.")
    if training.seeds > 1:
        again = translate(
            "Train", "All of it is done {seeds} times, with the seeds {first} to {last}."
        )
        kept = f"{kept} {again}"
        last = training.seed + training.seeds - 1
        values |= {"seeds": str(training.seeds), "first": str(training.seed), "last": str(last)}
    return f"{seen} {kept}".format(**values)


def changed_by_advanced(choices: Choices) -> list[str]:
    """“Title: value instead of default” for every field that the simple settings do not show."""
    without = set(SIMPLE_FIELDS)
    if not choices.length_by_hand:  # it follows the data, and nobody has changed it
        without.add("max_length")
    found = _differences(TrainingSpec, choices.training, choices.defaults, without)
    found += _differences(Features, choices.reader, NO_READER, {"cache"})
    found += _differences(HardwareSpec, choices.hardware, choices.usual_hardware, set())
    task = choices.task
    return found + _differences(type(task), task, choices.present_goal.task, {"kind", "labels"})


def _differences(
    kind: type[BaseModel], now: object, before: object, without: set[str]
) -> list[str]:
    template = translate("Train", "{title}: {value} instead of {default}")
    return [
        template.format(
            title=title_of(name, field),
            value=value_in_words(getattr(now, name)),
            default=value_in_words(old),
        )
        for name, field in kind.model_fields.items()
        if name not in without and getattr(now, name) != (old := getattr(before, name))
    ]


def parameters(spec: BertSpec) -> int:
    """How many weights a network of this size has, with the head for masked words."""
    d, inner = spec.hidden_size, spec.intermediate_size
    embeddings = (spec.vocab_size + spec.max_positions + spec.segments) * d + 2 * d
    layer = 4 * (d * d + d) + (d * inner + inner) + (inner * d + d) + 4 * d
    head = (d * d + d) + 2 * d + spec.vocab_size  # its decoder is tied to the embeddings
    return embeddings + spec.layers * layer + head


def describe(spec: BertSpec) -> str:
    """The size in a line."""
    return translate("Train", "{layers} layers of width {width}, {heads} heads in each.").format(
        layers=spec.layers, width=numbers.count(spec.hidden_size), heads=spec.heads
    )


def command(verb: str, file: Path) -> str:
    """What does the same without the window: `verb` is train, or cluster for many machines."""
    return shlex.join(["bert-studio", verb, str(file), "--into", str(file.with_suffix(""))])
