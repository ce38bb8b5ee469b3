"""Saving a report without blocking the window."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal
from PySide6.QtWidgets import QPushButton

from app import background
from app.studio import Studio
from app.translation import find_language, tr
from app.using.report import Material, PendingFigure, PlacedFigure, draw, write
from app.widgets import buttons
from app.widgets.opening import notify_saved


class ReportSaver(QObject):
    """Saves one report at a time: reads and writes it in a thread, and draws its figures in the GUI
    thread, one in each turn of the event loop.

    Signals:
        changed: `is_busy` changed.
    """

    changed = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._pending: list[PendingFigure] = []
        self._drawn: list[PlacedFigure] = []
        self.is_busy = False

    def save(self, collect: Callable[[], Material], path: Path) -> None:
        """Write a report to a file and notify the user of success or failure.

        `collect` reads the contents in a thread.
        """
        if self.is_busy:
            return
        self.is_busy = True
        self.changed.emit()
        background.run(
            self, collect, lambda material: self._on_collected(material, path), self._fail
        )

    def _on_collected(self, material: Material, path: Path) -> None:
        self._pending, self._drawn = list(material.pending), list(material.curves)
        self._draw_next(material, path)

    def _draw_next(self, material: Material, path: Path) -> None:
        if self._pending:
            placed = draw(self._pending.pop(0))
            self._drawn += [placed] if placed is not None else []
            QTimer.singleShot(0, self, lambda: self._draw_next(material, path))
            return
        figures = tuple(self._drawn)
        preferences = self._studio.settings.preferences
        language = find_language(preferences.language).code
        background.run(
            self,
            lambda: write(path, material.report.signed(preferences), figures, language),
            lambda _: self._end(path),
            self._fail,
        )

    def _end(self, path: Path) -> None:
        notify_saved(self._studio.notices, path)
        self._stop()

    def _fail(self, error: BaseException) -> None:
        self._studio.notices.show(error)
        self._stop()

    def _stop(self) -> None:
        self._pending, self._drawn = [], []
        self.is_busy = False
        self.changed.emit()


def update_report_button(button: QPushButton, saving: ReportSaver) -> None:
    """Show on a button that saves reports whether one is being saved."""
    text = tr("Saving the report…") if saving.is_busy else tr("Sa&ve the report…")
    buttons.set_text(button, text)
    button.setEnabled(not saving.is_busy)
