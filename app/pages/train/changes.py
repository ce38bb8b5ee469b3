"""What the advanced settings changed, and how the form tells it."""

from pydantic import BaseModel
from PySide6.QtCore import QCoreApplication

from app.pages.train.choices import NO_PROBE, QUICK_TRIAL, Choices
from app.widgets.text.spec_texts import short_title_of, value_text
from engine.config.features import Features
from engine.config.fields import fields_at
from engine.config.training import HardwareSpec, TrainingSpec

translate = QCoreApplication.translate

SIMPLE_FIELDS = (*fields_at(TrainingSpec, "simple"), "train_fraction")  # the last: a switch
SWITCHED = (1.0, QUICK_TRIAL)  # fractions of the training data that the switch stands for


def changed_by_advanced(choices: Choices) -> list[str]:
    """“Max. length 64 (default 128)” for every field that the simple settings do not show."""
    without = set(SIMPLE_FIELDS)
    if choices.training.train_fraction not in SWITCHED:
        without.remove("train_fraction")
    return _changed(choices, without)


def changed(choices: Choices) -> list[str]:
    """The same for every field."""
    return _changed(choices, set())


def _changed(choices: Choices, without: set[str]) -> list[str]:
    found = _differences(TrainingSpec, choices.training, choices.defaults, without)
    found += _differences(Features, choices.probe, NO_PROBE, {"cache"})
    found += _differences(HardwareSpec, choices.hardware, choices.usual_hardware, set())
    task = choices.task
    return found + _differences(type(task), task, choices.present_goal.task, {"kind", "labels"})


def _differences(
    kind: type[BaseModel], now: object, before: object, without: set[str]
) -> list[str]:
    template = translate("Train", "{title} {value} (default {default})")
    return [
        template.format(
            title=short_title_of(name, field),
            value=value_text(getattr(now, name)),
            default=value_text(old),
        )
        for name, field in kind.model_fields.items()
        if name not in without and getattr(now, name) != (old := getattr(before, name))
    ]
