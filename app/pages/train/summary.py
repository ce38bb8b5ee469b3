"""What a job is going to do, in sentences, and the command that does the same."""

import shlex
from pathlib import Path

from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import CUSTOM_SIZE, Choices
from app.pages.train.fit import label_names
from app.tasks import part_of
from app.tasks.part import Plan
from app.widgets.text import numbers
from app.widgets.text.spec_texts import value_text
from engine.config.features import LAYER_SWEEP

translate = QCoreApplication.translate


def summary(choices: Choices) -> str:
    """What the run will do, for the review. The steps before it must be done."""
    assert choices.goal is not None and choices.data is not None
    return f"{_what(choices)} {_how(choices)}"


def _what(choices: Choices) -> str:
    assert choices.data is not None
    goal, size = choices.present_goal, choices.scratch.size
    if goal.from_scratch:
        model = translate("Train", "custom size") if size == CUSTOM_SIZE else size
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
    training, vectors = choices.training, choices.probe.vectors
    if choices.probe.trains_probe:
        template = translate("Train", "probe on frozen features: {vectors}")
    elif vectors == LAYER_SWEEP:
        template = translate("Train", "layer probing sweep")
    elif training.lora_rank:
        template = translate("Train", "LoRA, rank {rank}")
    elif training.frozen_layers:
        template = translate("Train", "lowest {frozen} layers frozen")
    else:
        template = translate("Train", "all weights")
    return template.format(
        rank=training.lora_rank, frozen=training.frozen_layers, vectors=value_text(vectors)
    )


def _how(choices: Choices) -> str:
    """How long it is trained, how it is evaluated, and how often it is repeated."""
    return " ".join(
        part for part in (_length(choices), _evaluated(choices), _repeated(choices)) if part
    )


def _length(choices: Choices) -> str:
    assert choices.data is not None
    training, spec = choices.training, choices.data.spec
    fraction = training.train_fraction
    if training.steps:
        template = translate("Train", "{steps} steps, batch size {batch}, learning rate {rate}.")
    elif spec is None:
        template = translate("Train", "{epochs}, batch size {batch}, learning rate {rate}.")
    elif fraction < 1:
        template = translate(
            "Train",
            "{epochs} over {share} % of the training data ({rows} rows), batch size {batch},"
            " learning rate {rate}.",
        )
    else:
        template = translate(
            "Train", "{epochs} over {rows} rows, batch size {batch}, learning rate {rate}."
        )
    probe = choices.probe
    return template.format(
        steps=numbers.count(training.steps),
        epochs=_epochs(probe.epochs if probe.trains_probe else training.epochs),
        batch=numbers.count(training.batch_size),
        rate=value_text(probe.learning_rate if probe.trains_probe else training.learning_rate),
        share=value_text(round(100 * fraction, 1)),
        rows=numbers.count(round(fraction * spec.rows.get("train", 0))) if spec else "",
    )


def _epochs(epochs: float) -> str:
    if epochs == int(epochs):
        return translate("Train", "%n epoch(s)", "", int(epochs))
    return translate("Train", "{0} epochs").format(value_text(epochs))


def _evaluated(choices: Choices) -> str:
    assert choices.data is not None
    spec = choices.data.spec
    rows = spec.rows.get("validation", 0) if spec else 0
    if not rows:
        return translate("Train", "The last checkpoint is kept.")
    template = translate("Train", "Validated on {0} rows; the best checkpoint is kept.")
    return template.format(numbers.count(rows))


def _repeated(choices: Choices) -> str:
    first, count = choices.training.seed, choices.training.seeds
    if count == 1:
        return ""
    template = translate("Train", "Repeated with {count} random seeds, {first} to {last}.")
    return template.format(count=count, first=first, last=first + count - 1)


def command(verb: str, file: Path) -> str:
    """What does the same without the window: `verb` is train, or cluster for many machines."""
    return shlex.join(["bert-studio", verb, str(file), "--into", str(file.with_suffix(""))])
