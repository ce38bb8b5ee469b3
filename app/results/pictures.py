"""The pictures of a task, one shown at a time; clicks select rows."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.notices import Notices
from app.results.state import ResultsState
from app.tasks import task_part
from app.theme import SPACE
from app.translation import in_language
from app.widgets import layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.forms.controls import ComboBox
from app.widgets.page import Stack
from app.widgets.results.picture import ResultPicture
from app.widgets.results.slices import SlicesPicture, slices
from app.widgets.screen import set_shown
from engine.results.predictions import Predictions
from engine.results.slices import Slice, delete_slice, read_slices, rename_slice, save_slice


class PicturesView(QWidget):
    """A choice of pictures; each is created and measured when first shown.

    Signals:
        decided: the signal of the same name of a `ResultPicture`.
    """

    decided = Signal(object)

    def __init__(self, state: ResultsState, notices: Notices, slices_file: Path) -> None:
        super().__init__()
        self._state, self._notices, self._slices_file = state, notices, slices_file
        self._task = ""
        self._kinds: tuple[type[ResultPicture], ...] = ()
        self._measured: set[str] = set()  # keys of pictures that show these predictions
        self.pictures: dict[str, ResultPicture] = {}
        self.choice = ComboBox(self.tr("Picture of the results"))
        self.figure_button = FigureButton(self._figure, notices)
        self.stack = Stack()
        self.figure_button.offer_on(self.stack)
        head = layouts.row((self.choice, 1), self.figure_button, spacing=2 * SPACE)
        layouts.column(head, (self.stack, 1), parent=self, spacing=2 * SPACE)
        self.choice.currentIndexChanged.connect(self.show_picture)
        state.opened.connect(self._on_opened)
        state.filtered.connect(self._on_filtered)
        self._on_opened()

    @property
    def current(self) -> ResultPicture | None:
        index = self.choice.currentIndex()
        return self.pictures.get(self._kinds[index].key) if index >= 0 else None

    def show_picture(self, index: int) -> None:
        predictions = self._state.predictions
        if not 0 <= index < len(self._kinds) or predictions is None:
            return
        kind = self._kinds[index]
        if kind.key not in self.pictures:
            picture = self.pictures[kind.key] = kind()
            picture.chosen.connect(partial(self._state.choose, kind.key))
            picture.decided.connect(self.decided)
            if isinstance(picture, SlicesPicture):
                picture.renamed.connect(self._rename_slice)
                picture.deleted.connect(self._delete_slice)
            self.stack.addWidget(picture)
        self.stack.setCurrentWidget(self.pictures[kind.key])
        if kind.key not in self._measured:
            self._measured.add(kind.key)
            background.run(
                self,
                lambda: self._measure(kind, predictions),
                partial(self._on_measured, kind.key, predictions),
                self._notices.show,
            )

    def _measure(self, kind: type[ResultPicture], predictions: Predictions) -> Any:
        if kind is SlicesPicture:
            return slices(predictions, read_slices(self._slices_file, predictions.info.source))
        return kind.measure(predictions)

    def add_slice(self, name: str) -> None:
        predictions, conditions = self._state.predictions, self._state.conditions
        if predictions is None or not conditions or not name:
            return
        new_slice = Slice(name=name, source=predictions.info.source, conditions=conditions)
        self._change_slices(lambda: save_slice(self._slices_file, new_slice), self._show_slices)

    def _rename_slice(self, existing: Slice, name: str) -> None:
        file = self._slices_file
        self._change_slices(
            lambda: rename_slice(file, existing.name, existing.source, name), self._measure_slices
        )

    def _delete_slice(self, existing: Slice) -> None:
        file = self._slices_file

        def done() -> None:
            self._measure_slices()
            text = self.tr("Deleted the slice “{0}”.").format(existing.name)
            self._notices.info(text, self.tr("Undo"), undo)

        def undo() -> None:
            self._change_slices(lambda: save_slice(file, existing), self._measure_slices)

        self._change_slices(lambda: delete_slice(file, existing.name, existing.source), done)

    def _change_slices(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        background.run(self, work, lambda _: done(), self._notices.show)

    def _show_slices(self) -> None:
        self.choice.setCurrentIndex(self._kinds.index(SlicesPicture))
        self._measure_slices()

    def _measure_slices(self) -> None:
        self._measured.discard(SlicesPicture.key)
        if isinstance(self.current, SlicesPicture):
            self.show_picture(self.choice.currentIndex())

    def _on_measured(self, key: str, predictions: object, measured: Any) -> None:
        if predictions is self._state.predictions and key in self.pictures:
            self.pictures[key].show_measured(measured)

    def _on_opened(self) -> None:
        """Replace the pictures if the task is a different one; measure them again."""
        predictions = self._state.predictions
        self._measured.clear()
        is_labelled = predictions is not None and predictions.is_labelled
        set_shown(self, is_labelled)
        if predictions is None or not is_labelled:
            return
        if predictions.info.task != self._task:
            self._fill_choice(predictions.info.task)
        self.show_picture(self.choice.currentIndex())

    def _fill_choice(self, task: str) -> None:
        for picture in self.pictures.values():
            self.stack.removeWidget(picture)
            picture.deleteLater()
        self._task, self.pictures = task, {}
        self._kinds = (*task_part(task).pictures, SlicesPicture)
        self.choice.blockSignals(True)
        self.choice.clear()
        self.choice.addItems([in_language(kind.title) for kind in self._kinds])
        self.choice.blockSignals(False)

    def _on_filtered(self) -> None:
        for key, picture in self.pictures.items():
            picture.show_chosen(self._state.chosen_by(key))

    def _figure(self) -> Any:
        return self.current.figure() if self.current is not None else None
