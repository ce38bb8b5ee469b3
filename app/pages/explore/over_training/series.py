"""Saves every figure of the page for each snapshot of a run."""

from functools import partial
from itertools import product
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app import background
from app.notices import Notices
from app.pages.explore.over_training.state import SnapshotBrowser
from app.timers import repeated
from app.widgets.charts.figure import Figure, png
from app.widgets.charts.figure_menu import FigureButton, write_picture
from app.widgets.opening import open_path
from app.widgets.text import numbers

POLL_MS = 50
DRAWING_POLLS = 4  # to wait after the answers, for drawing in the background


class PictureSeries(QObject):
    """Steps through all snapshots twice: to find the limits of the scales, then to save.

    Signals:
        changed: the series started, ended or moved to another snapshot.
    """

    changed = Signal()

    def __init__(self, state: SnapshotBrowser, notices: Notices, page: QWidget) -> None:
        super().__init__(state)
        self._state, self._notices, self._page = state, notices, page
        self._folder = Path()
        self._start_index = self._polls = self._written_count = 0
        self._steps: list[tuple[bool, int]] = []  # remaining: (is saved, snapshot)
        self._polling = repeated(self, POLL_MS, self._on_time)
        self._writing: background.Job | None = None

    @property
    def is_running(self) -> bool:
        return self._polling.isActive() or self._writing is not None

    def start(self, folder: Path) -> None:
        """Write the pictures into a folder, replacing files of the same names."""
        snapshots = self._state.snapshots
        if snapshots is None or self.is_running:
            return
        self._folder, self._start_index, self._written_count = folder, self._state.index, 0
        self._steps = list(product((False, True), range(len(snapshots.folders))))
        self._polling.start()
        self._show_step()

    def cancel(self) -> None:
        """Stop; written pictures stay."""
        self._polling.stop()
        if self._writing is not None:
            self._writing.cancel()
            self._writing = None
        self._state.show(self._start_index)
        self.changed.emit()

    def _show_step(self) -> None:
        self._polls = 0
        self._state.show(self._steps[0][1])
        self.changed.emit()

    def _on_time(self) -> None:
        snapshots = self._state.snapshots
        if snapshots is None:
            self.cancel()
            return
        self._polls = self._polls + 1 if self._state.is_answered else 0
        if self._polls <= DRAWING_POLLS:
            return
        is_saved, index = self._steps[0]
        if not is_saved:
            self._advance()
            return
        pictures = {
            self._folder / f"{figure.name}-step-{snapshots.steps[index]:08d}.png": figure
            for figure in self._figures()
        }
        if not self._state.is_answered:  # a figure asked for exact values
            self._polls = 0
            return
        self._polling.stop()
        self._written_count += len(pictures)
        self._writing = background.run(
            self, partial(_write, pictures), lambda _: self._on_written(), self._on_failed
        )

    def _figures(self) -> list[Figure]:
        shown = (b.figure() for b in self._page.findChildren(FigureButton) if b.isVisible())
        return [figure for figure in shown if figure is not None]

    def _on_written(self) -> None:
        self._writing = None
        self._polling.start()
        self._advance()

    def _advance(self) -> None:
        del self._steps[0]
        if self._steps:
            self._show_step()
            return
        self._polling.stop()
        text = self.tr("Saved {0} pictures in {1}.")
        self._notices.info(
            text.format(numbers.count(self._written_count), self._folder),
            self.tr("Show in folder"),
            partial(open_path, self._folder),
        )
        self._state.show(self._start_index)
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self._writing = None
        self.cancel()
        self._notices.show(error)


def _write(pictures: dict[Path, Figure]) -> None:
    for path, figure in pictures.items():
        write_picture(path, png(figure))
