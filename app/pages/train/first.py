"""The first fine-tuning: the starter model on the sample, in about a minute on two cores."""

from dataclasses import replace

from PySide6.QtCore import QCoreApplication

from app.library import DataEntry, ModelEntry, own_models
from app.pages.train.choices import Choices
from app.pages.train.entries import data_of, model_of
from app.pages.train.goals import first_goal
from app.sample import sample_entry
from engine.errors import StudioError
from engine.home import Home
from engine.shipped import FIRST_TRAINING

translate = QCoreApplication.translate


def first_choices(entry: DataEntry, models: list[ModelEntry]) -> Choices:
    """Everything chosen for the first fine-tuning.

    Raises StudioError where the starter model is not there.
    """
    starter = next((m for m in models if m.origin == "starter" and m.info is not None), None)
    if starter is None:
        raise StudioError(
            translate("Train", "The starter model was not installed with this program."),
            translate("Train", "Import a model first."),
        )
    goal = first_goal(pretrains=False)
    choices = replace(Choices(), goal=goal, data=data_of(entry), model=model_of(starter))
    return choices.with_training(choices.training.model_copy(update=FIRST_TRAINING))


def first_of(home: Home) -> Choices:
    """The sample and all that is chosen for it, for a thread."""
    return first_choices(sample_entry(home), own_models(home))
