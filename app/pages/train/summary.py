"""Texts of the review: what the run will do, changed settings, warnings, and the commands."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel

from app.pages.train.choices import CUSTOM_SIZE, NO_PROBE, QUICK_TRIAL_FRACTION, Choices
from app.pages.train.estimate import verdict
from app.tasks import task_part
from app.tasks.part import Plan
from app.translation import tr, translated
from app.widgets.text import numbers
from app.widgets.text.spec_texts import short_title_of, value_text
from engine.config.dataset import DatasetSpec
from engine.config.features import CONTRASTIVE, LAYER_SWEEP, Features
from engine.config.fields import fields_at
from engine.config.training import HardwareSpec, TrainingSpec
from engine.data.columns.fit import unlabelled_rows
from engine.data.coverage import unknown_note
from engine.data.lengths import Lengths
from engine.messages.estimating import Estimated
from engine.results.intervals import wilson


def summary(choices: Choices) -> str:
    """Sentences about the job. Requires task and data."""
    assert choices.goal is not None and choices.data is not None
    return f"{_task_text(choices)} {_training_text(choices)}"


def _task_text(choices: Choices) -> str:
    assert choices.data is not None
    goal, size = choices.current_goal, choices.scratch.size
    if goal.from_scratch:
        model = tr("custom size") if size == CUSTOM_SIZE else size
    else:
        model = choices.model.name if choices.model else ""
    plan = Plan(
        task=choices.task,
        from_scratch=goal.from_scratch,
        model=model,
        data=choices.data.name,
        labels=len(choices.label_names),
        trained=_trained_text(choices),
    )
    return task_part(goal.kind).describe_plan(plan)


def _trained_text(choices: Choices) -> str:
    training, vectors = choices.training, choices.probe.vectors
    if choices.probe.trains_probe:
        template = tr("probe on frozen features: {vectors}")
    elif vectors == CONTRASTIVE:
        template = tr("contrastive, then a linear layer")
    elif vectors == LAYER_SWEEP:
        template = tr("layer probing sweep")
    elif training.lora_rank:
        template = tr("LoRA, rank {rank}")
    elif training.frozen_layers:
        template = tr("lowest {frozen} layers frozen")
    else:
        template = tr("all weights")
    return template.format(
        rank=training.lora_rank, frozen=training.frozen_layers, vectors=value_text(vectors)
    )


def _training_text(choices: Choices) -> str:
    return " ".join(
        part
        for part in (
            _length_text(choices),
            _unlabelled_text(choices),
            _overlap_text(choices),
            _evaluation_text(choices),
            _seeds_text(choices),
        )
        if part
    )


def _length_text(choices: Choices) -> str:
    assert choices.data is not None
    training, spec = choices.training, choices.spec
    fraction = training.train_fraction
    if training.steps:
        template = tr("{steps} steps, batch size {batch}, learning rate {rate}.")
    elif spec is None:
        template = tr("{epochs}, batch size {batch}, learning rate {rate}.")
    elif fraction < 1:
        template = tr(
            "{epochs} over {share} % of the training data ({rows} rows), batch size {batch},"
            " learning rate {rate}."
        )
    else:
        template = tr("{epochs} over {rows} rows, batch size {batch}, learning rate {rate}.")
    probe = choices.probe
    return template.format(
        steps=numbers.count(training.steps),
        epochs=_epochs(probe.epochs if probe.trains_probe else training.epochs),
        batch=numbers.count(training.batch_size),
        rate=value_text(probe.learning_rate if probe.trains_probe else training.learning_rate),
        share=value_text(round(100 * fraction, 1)),
        rows=numbers.count(round(fraction * spec.rows.get("train", 0))) if spec else "",
    )


def _unlabelled_text(choices: Choices) -> str:
    spec = choices.data.spec if choices.data else None
    rows = sum(unlabelled_rows(spec, choices.task).values()) if spec else 0
    if not spec or not rows:
        return ""
    template = tr("%Ln row(s) without a label ({0}) are left out.", rows)
    return template.format(numbers.percent(rows / sum(spec.rows.values())))


def _overlap_text(choices: Choices) -> str:
    spec, head = choices.data.spec if choices.data else None, choices.task.info.head
    if spec is None or head is None or not head.tags_tokens or not spec.overlaps:
        return ""
    return tr(
        "%Ln span(s) that overlap a longer one are left out; span classification learns them.",
        spec.overlaps,
    )


def _epochs(epochs: float) -> str:
    if epochs == int(epochs):
        return tr("%n epoch(s)", int(epochs))
    return tr("{0} epochs").format(value_text(epochs))


def _evaluation_text(choices: Choices) -> str:
    assert choices.data is not None
    spec = choices.spec
    rows = spec.rows.get("validation", 0) if spec else 0
    if not rows:
        return tr("The last checkpoint is kept.")
    template = tr("Validated on {0} rows; the best checkpoint is kept.")
    return template.format(numbers.count(rows))


def _seeds_text(choices: Choices) -> str:
    first, count = choices.training.seed, choices.training.seeds
    if count == 1:
        return ""
    template = tr("Repeated with {count} random seeds, {first} to {last}.")
    return template.format(count=count, first=first, last=first + count - 1)


def command(verb: str, file: Path) -> str:
    """The shell command for a job file; `verb` is train, or cluster for several machines."""
    return shlex.join(["bert-studio", verb, str(file), "--into", str(file.with_suffix(""))])


SIMPLE_FIELDS = (*fields_at(TrainingSpec, "simple"), "train_fraction")  # shown as a switch
SWITCH_FRACTIONS = (1.0, QUICK_TRIAL_FRACTION)  # with the switch off and on


def list_advanced_changes(choices: Choices) -> list[str]:
    """List changed fields that Simple does not show: “Max. length 64 (default 128)”."""
    excluded = {*SIMPLE_FIELDS, "long_texts"}
    if choices.training.train_fraction not in SWITCH_FRACTIONS:
        excluded.remove("train_fraction")
    return _changed(choices, excluded)


def list_changes(choices: Choices) -> list[str]:
    """List all changed fields in the same form, after the recipe if it is not the default."""
    is_quick = choices.recipe == "quick" and choices.quick is not None
    recipe = [tr("Recipe Quick (default Paper)")] if is_quick else []
    return recipe + _changed(choices, set())


def _changed(choices: Choices, excluded: set[str]) -> list[str]:
    result = _differences(TrainingSpec, choices.training, choices.defaults, excluded)
    result += _differences(Features, choices.probe, NO_PROBE, {"cache"})
    result += _differences(HardwareSpec, choices.hardware, choices.default_hardware, set())
    task = choices.task
    before = choices.current_goal.task
    return result + _differences(type(task), task, before, {"kind", "labels", *excluded})


def _differences(
    kind: type[BaseModel], new: object, before: object, excluded: set[str]
) -> list[str]:
    template = tr("{title} {value} (default {default})")
    return [
        template.format(
            title=short_title_of(name, field),
            value=value_text(getattr(new, name)),
            default=value_text(old),
        )
        for name, field in kind.model_fields.items()
        if name not in excluded and getattr(new, name) != (old := getattr(before, name))
    ]


FEW_EXAMPLES = 50  # a label with fewer is rare
FEW_VALIDATION_ROWS, USUAL_ACCURACY = 30, 0.8
LONG_TRAINING = 12 * 3600  # s
SOME_TRUNCATED, MANY_TRUNCATED = 0.01, 0.25  # of the inputs


class Caution(NamedTuple):
    """A warning before the start; if it is not `is_serious`, a remark."""

    text: str
    is_serious: bool = True


def warnings(
    choices: Choices, lengths: Lengths | None = None, estimate: Estimated | None = None
) -> list[Caution]:
    """Warnings and remarks about the data, the model, time, memory and disk."""
    return [
        *_data_warnings(choices),
        *_length_warnings(choices, lengths),
        *_model_warnings(choices),
        *(_estimate_warnings(estimate) if estimate else []),
    ]


def _data_warnings(choices: Choices) -> Iterator[Caution]:
    spec = choices.spec
    if spec is not None and not spec.rows.get("validation"):
        yield Caution(
            tr("The data set has no validation rows, so the best checkpoint cannot be chosen.")
        )
    if spec is not None and (few := _few_validation_rows(choices, spec)):
        yield Caution(few, is_serious=False)
    rare = [label for label, rows in choices.label_rows.items() if rows < FEW_EXAMPLES]
    if rare:
        shown = ", ".join(f"“{label}”" for label in rare[:3]) + (", …" if rare[3:] else "")
        template = tr("Few rows with the label {labels}: expect poor predictions.")
        yield Caution(template.format(labels=shown), is_serious=False)


def _few_validation_rows(choices: Choices, spec: DatasetSpec) -> str:
    """Interval of a score on few validation rows, in words; “” for enough rows, and for none."""
    unlabelled = unlabelled_rows(spec, choices.task).get("validation", 0)
    rows = spec.rows.get("validation", 0) - unlabelled
    if not 0 < rows < FEW_VALIDATION_ROWS:
        return ""
    interval = wilson(round(USUAL_ACCURACY * rows), rows)
    template = tr(
        "%Ln validation row(s) with a label: if {0} are correct, the 95 % interval is {1} to {2}. "
        "Smaller differences between models are noise.",
        rows,
    )
    return template.format(*(numbers.percent(value, 0) for value in interval))


def _length_warnings(choices: Choices, lengths: Lengths | None) -> Iterator[Caution]:
    if lengths is None:
        return
    if unknown := unknown_note(lengths.unknown):
        yield Caution(translated(unknown))
    fraction = lengths.fraction_above(choices.training.max_length)
    if fraction > SOME_TRUNCATED and choices.task.truncates:
        template = tr(
            "About {share} % of the inputs are longer than {length} tokens and are truncated:"
            " {unread} % of all tokens are never read."
        )
        length = choices.training.max_length
        unread = round(100 * lengths.fraction_unread(length))
        shown = template.format(share=round(100 * fraction), length=length, unread=unread)
        yield Caution(shown, is_serious=fraction > MANY_TRUNCATED)


def _model_warnings(choices: Choices) -> Iterator[Caution]:
    info = choices.model.info if choices.model else None
    if choices.continues_pretraining and info is not None and "mlm" not in info.task_heads:
        text = tr(
            "The model has no head for masked language modelling (MLM); a new one is trained."
        )
        yield Caution(text, is_serious=False)


def _estimate_warnings(estimate: Estimated) -> Iterator[Caution]:
    for text in filter(None, (_memory_warning(estimate), _disk_warning(estimate))):
        yield Caution(text)
    if text := _time_warning(estimate):
        yield Caution(text, is_serious=False)


def _memory_warning(estimate: Estimated) -> str:
    match verdict(estimate):
        case "too large":
            return tr(
                "This needs more memory than is free and will probably fail."
                " Use settings that need less memory, or reduce the max. length."
            )
        case "tight":
            return tr("This needs nearly all of the free memory. Close other programs.")
    return ""


def _disk_warning(estimate: Estimated) -> str:
    needed = estimate.disk
    if estimate.disk_free is None or needed <= estimate.disk_free:
        return ""
    return tr(
        "The checkpoints, snapshots and caches need up to {needed}, but this disk has only {free}"
        " free. Training pauses when the disk is full. Keep fewer checkpoints, or free some space."
    ).format(needed=numbers.size(needed), free=numbers.size(estimate.disk_free))


def _time_warning(estimate: Estimated) -> str:
    if estimate.seconds <= LONG_TRAINING:
        return ""
    return tr(
        "This takes a long time. Training continues when the window is closed, and can be"
        " stopped and resumed at any time."
    )
