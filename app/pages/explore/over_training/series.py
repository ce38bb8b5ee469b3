"""Saves every figure of the page for each snapshot of a run."""

from functools import partial
from itertools import product
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.notices import Notices
from app.pages.explore.over_training.state import OverTraining
from app.timers import repeated
from app.widgets.charts.figure import Figure, png
from app.widgets.charts.figure_menu import FigureButton, write_picture
from app.widgets.text import numbers

POLL_MS = 50
DRAWING_POLLS = 4  # after the answers, for background drawing


class PictureSeries(QObject):
    """Steps through all snapshots twice: to find the ends of the scales, then to save.

    Signals:
        changed: started, ended, or at another snapshot.
    """

    changed = Signal()

    def __init__(self, state: OverTraining, notices: Notices, page: QWidget) -> None:
        super().__init__(state)
        self._state, self._notices, self._page = state, notices, page
        self._folder = Path()
        self._before = self._polls = self._written = 0
        self._steps: list[tuple[bool, int]] = []  # ahead: if it is saved, and which snapshot
        self._polling = repeated(self, POLL_MS, self._on_time)
        self._writing: background.Job | None = None

    @property
    def is_running(self) -> bool:
        return self._polling.isActive() or self._writing is not None

    def start(self, folder: Path) -> None:
        """Write the pictures into a folder, replacing files of the same names."""
        moments = self._state.moments
        if moments is None or self.is_running:
            return
        self._folder, self._before, self._written = folder, self._state.number, 0
        self._steps = list(product((False, True), range(len(moments.folders))))
        self._polling.start()
        self._go()

    def cancel(self) -> None:
        """Stop; written pictures stay."""
        self._polling.stop()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None
        self._state.go(self._before)
        self.changed.emit()

    def _go(self) -> None:
        self._polls = 0
        self._state.go(self._steps[0][1])
        self.changed.emit()

    def _on_time(self) -> None:
        moments = self._state.moments
        if moments is None:
            self.cancel()
            return
        self._polls = self._polls + 1 if self._state.is_answered else 0
        if self._polls <= DRAWING_POLLS:
            return
        saves, number = self._steps[0]
        if not saves:
            self._next()
            return
        pictures = {
            self._folder / f"{figure.name}-step-{moments.steps[number]:08d}.png": figure
            for figure in self._figures()
        }
        if not self._state.is_answered:  # a figure asked for exact values
            self._polls = 0
            return
        self._polling.stop()
        self._written += len(pictures)
        self._writing = background.run(
            self, partial(_write, pictures), lambda _: self._on_written(), self._on_failed
        )

    def _figures(self) -> list[Figure]:
        shown = (b.figure() for b in self._page.findChildren(FigureButton) if b.isVisible())
        return [figure for figure in shown if figure is not None]

    def _on_written(self) -> None:
        self._writing = None
        self._polling.start()
        self._next()

    def _next(self) -> None:
        del self._steps[0]
        if self._steps:
            self._go()
            return
        self._polling.stop()
        text = self.tr("Saved {0} pictures in {1}.")
        self._notices.info(text.format(numbers.count(self._written), self._folder))
        self._state.go(self._before)
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self._writing = None
        self.cancel()
        self._notices.show(error)


def _write(pictures: dict[Path, Figure]) -> None:
    for path, figure in pictures.items():
        write_picture(path, png(figure))
