"""The text that Explore shows first for a fine-tuned model: a row of its validation data."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.explore.model_input import TextInput
from app.pages.explore.state import ExploreState
from engine.config.dataset import SPLITS, StoredData
from engine.data.columns.words import split_words
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.runs.folder import RunFolder


class ValidationRow(QObject):
    """Signals:
    found: a TextInput for the chosen model.
    """

    found = Signal(object)

    def __init__(self, explore: ExploreState) -> None:
        super().__init__(explore)
        self._explore = explore
        self._reading: background.Job | None = None
        explore.model_changed.connect(self._on_model)

    def _on_model(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        checkpoint = self._explore.first.checkpoint
        if checkpoint is not None and self._explore.first.task is not None:
            self._reading = background.run(self, lambda: row_of(checkpoint), self._on_read)

    def _on_read(self, row: TextInput | None) -> None:
        if row is not None:
            self.found.emit(row)


def row_of(checkpoint: Path) -> TextInput | None:
    """The first validation row of the run that wrote this checkpoint.

    Else the first row of another split; None if the checkpoint belongs to no run, or its data is
    missing or damaged.
    """
    run = RunFolder(checkpoint.parents[1])
    if checkpoint.parent != run.checkpoints:
        return None
    try:
        source = run.job().data
        dataset = open_dataset(source.folder if isinstance(source, StoredData) else run.dataset)
        pages = (dataset.page(0, 1, split) for split in (SPLITS[1], *SPLITS))
        row = next((page[0] for page in pages if page), None)
    except StudioError:
        return None
    if row is None:
        return None
    mapping = dataset.spec.mapping
    second = mapping.pair or mapping.beginning
    text, other = row[mapping.text] or "", row[second] if second else None
    if mapping.tags is not None:
        text = " ".join(split_words(text))
    return TextInput(text, other or None)
