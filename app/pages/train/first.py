"""The first fine-tuning: the starter model on the sample, in about a minute on two cores."""

from dataclasses import replace

from app.library import DataEntry, ModelEntry, datasets, own_models
from app.pages.train.choices import Choices, Kind
from app.pages.train.entries import data_of, model_of
from engine.data.reading import recognise
from engine.data.store import import_dataset
from engine.errors import StudioError
from engine.home import Home, folder_name
from engine.shipped import sample_data
from engine.spec.dataset import Split

NAME = "speeches"
SEEN = 3000  # examples in all: about a minute on two cores
LENGTH = 64  # word pieces


def sample_entry(home: Home) -> DataEntry:
    """The sample data set of this home; it is imported when it is not there yet.

    Reads and writes files; runs off the window's thread.
    """
    parent = home.datasets / folder_name(NAME)
    for entry in datasets(home):
        if entry.folder.parent == parent and entry.spec is not None:
            return entry
    file = sample_data()
    if not file.is_file():
        raise StudioError(
            "The sample data set did not come with this program.", "Choose a data set of your own."
        )
    recognised = recognise(file)
    if recognised.mapping is None:
        raise StudioError("The sample data set cannot be read.", "Install BERT Studio again.")
    import_dataset(
        NAME, {"all": file}, recognised.reading, recognised.mapping, Split(test=0.1), parent / "1"
    )
    return next(entry for entry in datasets(home) if entry.folder == parent / "1")


def first_choices(entry: DataEntry, models: list[ModelEntry]) -> Choices:
    """Everything chosen for the first fine-tuning.

    Raises StudioError where the starter model is not there.
    """
    starter = next((m for m in models if m.origin == "starter" and m.info is not None), None)
    if starter is None:
        raise StudioError(
            "The starter model did not come with this program.", "Import a model first."
        )
    choices = replace(Choices(), kind=Kind.SENTENCE, data=data_of(entry), model=model_of(starter))
    rows = entry.spec.rows.get("train", 0) if entry.spec else 0
    share = min(1.0, max(0.01, round(SEEN / max(rows, 1), 2)))
    epochs = max(1, min(3, round(SEEN / max(rows, 1))))
    return choices.with_training(
        choices.training.model_copy(
            update={"batch": 16, "epochs": epochs, "share": share, "max_length": LENGTH}
        )
    )


def first_of(home: Home) -> Choices:
    """The two above in one, for a thread."""
    return first_choices(sample_entry(home), own_models(home))
