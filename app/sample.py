"""The included sample data set, imported into a home."""

import threading

from app.library import DataEntry, datasets
from engine.config.dataset import Split
from engine.data.datasets.importing import import_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.files.home import Home, folder_name
from engine.files.shipped import SAMPLE_TEST, sample_data

NAME = "topics"
_importing = threading.Lock()  # two pages may request it at the same time


def sample_entry(home: Home) -> DataEntry:
    """Return the sample's entry in this home; import it first if needed.

    Reads and writes files and may wait for another thread, so call it outside the GUI thread.
    Raises StudioError if the program was installed without it.
    """
    with _importing:
        return _entry(home)


def _entry(home: Home) -> DataEntry:
    parent = home.datasets / folder_name(NAME)
    for entry in datasets(home):
        if entry.folder.parent == parent and entry.spec is not None:
            return entry
    file = sample_data()
    if not file.is_file():
        raise StudioError(
            "The sample data set is missing from this installation.", "Use a data set of your own."
        )
    recognised = recognise(file)
    if recognised.mapping is None:
        raise StudioError("The sample data set cannot be read.", "Install BERT Studio again.")
    import_dataset(
        NAME,
        {"all": file},
        recognised.reading,
        recognised.mapping,
        Split(test=SAMPLE_TEST),
        parent / "1",
    )
    return next(entry for entry in datasets(home) if entry.folder == parent / "1")
