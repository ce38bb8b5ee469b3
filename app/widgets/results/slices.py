"""Slices of rows: named slices, and slices in which the model is worst."""

from dataclasses import dataclass
from typing import Any, ClassVar

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent

from app.theme import SPACE
from app.translation import marked, translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, ask_for_name
from app.widgets.results.group_table import GroupPicture, Line, Lines
from app.widgets.text import numbers
from engine.results.conditions import sentence
from engine.results.groups import row_scores
from engine.results.predictions import Predictions
from engine.results.slices import MIN_ROWS, Slice, WorstSlices, score_slices, worst_slices

SLICE_NAME_CHARACTERS = 200
NO_SLICES = WorstSlices((), 0, 0)


@dataclass(frozen=True)
class Slices(Lines):
    """Named slices, then the worst ones found."""

    found: WorstSlices = NO_SLICES
    named: tuple[Slice, ...] = ()


def slices(predictions: Predictions, stored: tuple[Slice, ...] = ()) -> Slices:
    """The slices of these rows with their scores."""
    usable = tuple(
        item
        for item in stored
        if all(getattr(c, "column", None) in (None, *predictions.columns) for c in item.conditions)
    )
    scores, result = row_scores(predictions), worst_slices(predictions)
    groups = score_slices(predictions, usable)
    lines = (Line(group, item.name) for item, group in zip(usable, groups, strict=True))
    worst = (Line(item.group, item.group.name) for item in result.slices)
    return Slices((*lines, *worst), scores.name, scores.higher_is_better, result, usable)


class SlicesPicture(GroupPicture):
    """A table of slices; below it the worst one in a sentence.

    Signals:
        renamed: a named Slice and its new name.
        deleted: a named Slice.
    """

    renamed = Signal(object, str)
    deleted = Signal(object)
    key = "slices"
    title = marked("Slices")
    measure: ClassVar[Any] = staticmethod(slices)

    def __init__(self) -> None:
        super().__init__()
        self.rename = buttons.plain(self.tr("Rename slice…"), self._ask_name, "pencil")
        self.delete = buttons.plain(self.tr("Delete slice"), self._on_delete, "trash-2")
        self.column.addLayout(
            layouts.row(self.rename, self.delete, layouts.STRETCH, spacing=2 * SPACE)
        )
        self.table.selectionModel().currentRowChanged.connect(lambda *_: self._show_buttons())
        self.table.installEventFilter(self)
        self._show_buttons()

    def show_measured(self, measured: Lines) -> None:
        super().show_measured(measured)
        self._show_buttons()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Handle F2 and Delete in the table."""
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            act = {Qt.Key.Key_F2: self._ask_name, Qt.Key.Key_Delete: self._on_delete}.get(
                Qt.Key(event.key())
            )
            if act is not None:
                act()
                return True
        return False

    def current(self) -> Slice | None:
        """The current slice; None if it has no name."""
        measured, row = self.measured, self.table.currentIndex().row()
        named = measured.named if isinstance(measured, Slices) else ()
        return named[row] if 0 <= row < len(named) else None

    def _show_buttons(self) -> None:
        """Only named slices can be renamed and deleted."""
        measured = self.measured
        for button in (self.rename, self.delete):
            button.setVisible(isinstance(measured, Slices) and bool(measured.named))
            button.setEnabled(self.current() is not None)

    def _ask_name(self) -> None:
        current = self.current()
        if current is not None:
            ask_for_name(
                self,
                (self.tr("Rename the slice"), translated(sentence(current.conditions))),
                current.name,
                SLICE_NAME_CHARACTERS,
                Choice("rename", self.tr("&Rename"), "primary"),
                lambda name: self.renamed.emit(current, name),
            )

    def _on_delete(self) -> None:
        if (current := self.current()) is not None:
            self.deleted.emit(current)

    def note_text(self, measured: Lines) -> str:
        assert isinstance(measured, Slices)
        count = numbers.count(measured.found.tried)
        if not measured.found.slices:
            return self.tr(
                "No significantly worse slice ({1} slices of at least {0} rows tested). "
                "Filter the rows and save them as a slice to see its score here."
            ).format(MIN_ROWS, count)
        worst = translated(measured.found.slices[0].sentence)
        return self.tr("Worst of {0} slices: {1}.").format(count, worst)
