"""The first fine-tuning: MiniLM on the sample, in about a minute on two cores."""

from dataclasses import replace

from PySide6.QtCore import QCoreApplication

from app.library import DataEntry, ModelEntry, own_models
from app.pages.train.choices import Choices
from app.pages.train.entries import data_of, model_of
from app.pages.train.goals import first_goal
from app.sample import sample_entry
from engine.errors import StudioError
from engine.files.home import Home
from engine.files.shipped import FIRST_TRAINING, default_base_model

translate = QCoreApplication.translate


def first_choices(entry: DataEntry, models: list[ModelEntry]) -> Choices:
    """Everything chosen for the first fine-tuning.

    Raises StudioError where MiniLM is not there.
    """
    usual = default_base_model(pretrains=False)
    model = next((m for m in models if m.path == usual and m.info is not None), None)
    if model is None:
        raise StudioError(
            translate("Train", "MiniLM was not installed with this program."),
            translate("Train", "Import a model first."),
        )
    goal = first_goal(pretrains=False)
    choices = replace(Choices(), goal=goal, data=data_of(entry), model=model_of(model))
    return choices.with_training(choices.training.model_copy(update=FIRST_TRAINING))


def first_of(home: Home) -> Choices:
    """The sample and all that is chosen for it, for a thread."""
    return first_choices(sample_entry(home), own_models(home))
