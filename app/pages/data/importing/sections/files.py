"""Splits of several files."""

from PySide6.QtWidgets import QComboBox, QWidget

from app.pages.data.cells import one_line
from app.pages.data.importing.files import shown_names
from app.pages.data.importing.sections.section import Section
from app.pages.data.importing.state import ImportState
from app.widgets.forms.controls import ComboBox
from engine.config.dataset import SPLITS


class FilesSection(Section):
    """A box with the splits for each file; not needed for a single file."""

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.heading.setText(self.tr("Files"))
        self.boxes: list[QComboBox] = []

    def show_files(self) -> None:
        self.clear()
        self.boxes = []
        files = self._state.files
        self.setVisible(len(files) > 1)
        if len(files) < 2:
            return
        named = zip(shown_names(files), self._state.splits, strict=True)
        for number, (name, split) in enumerate(named):
            box = ComboBox()
            for each in SPLITS:
                box.addItem(self._explained(each), each)
            box.addItem(self.tr("Skip this file"), None)
            box.setCurrentIndex(SPLITS.index(split) if split else len(SPLITS))
            box.activated.connect(lambda _, n=number, b=box: self._on_chosen(n, b))
            self.add_below(one_line(name), box)
            self.boxes.append(box)

    def _explained(self, split: str) -> str:
        return {
            "train": self.tr("Training set – the model learns from it"),
            "validation": self.tr("Validation set – measures training progress"),
            "test": self.tr("Test set – final, untouched evaluation"),
        }[split]

    def _on_chosen(self, number: int, box: QComboBox) -> None:
        self._state.set_file_split(number, box.currentData())
