"""The page of all runs, and from there the page of each."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.pages.runs.list_view import RunsList
from app.pages.runs.run.state import RunState
from app.pages.runs.run.view import RunView
from app.pages.runs.state import RunsState
from app.studio import Studio
from app.widgets import buttons
from app.widgets.page import MARGIN, Page
from engine.runs.groups import SUMMARY


class RunsPage(QWidget):
    """Nothing about a run lives here: it shows what the record says and passes requests on."""

    def __init__(self, studio: Studio, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.state = RunsState(studio, self)
        self._all = Page(
            self.tr("Runs"), self.tr("Your training runs: finished, running and queued.")
        )
        self._all.action_row.addWidget(
            buttons.plain(self.tr("&New run…"), lambda: studio.go.emit("train", None), "plus")
        )
        self._stack = QStackedWidget()
        self._stack.addWidget(self._all)
        self.run: RunView | None = None
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._stack)

    @cached_property
    def list(self) -> RunsList:
        """All runs; made when they are shown first, for which a run that begins does not wait."""
        go = self._studio.go
        runs = RunsList(self.state, self._studio.settings)
        runs.opened.connect(self.open)
        runs.first_wanted.connect(lambda: go.emit("train", {"preset": "first"}))
        runs.new_wanted.connect(lambda: go.emit("train", None))
        self._all.body.addWidget(runs, 1)
        return runs

    # ── called by the window ─────────────────────────────────────────────────────────────────

    def arrive(self, argument: object) -> None:
        """Show all runs, or the one with this id."""
        run_id = argument.get("run") if isinstance(argument, dict) else argument
        if isinstance(run_id, str) and run_id:
            self.open(run_id)
        else:
            self.show_all()

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Take over run folders that were trained elsewhere; a file is for the run that is open."""
        if self.run is not None and self.run.accept_drop(paths):
            return True
        folders = [folder for path in paths if path.is_dir() for folder in _runs_at(path)]
        for folder in folders:
            self.state.adopt(folder)
        if folders:
            self.show_all()
        return bool(folders)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.state.is_listed:
            self.state.read()

    # ── between the two ──────────────────────────────────────────────────────────────────────

    def open(self, run_id: str) -> None:
        """Show the page of one run."""
        if self.run is not None and self.run.state.run_id == run_id:
            self._stack.setCurrentWidget(self.run)
            return
        self._close_run()
        state = RunState(self._studio, self.state, run_id)
        view = RunView(state, self._studio)
        state.setParent(view)
        view.setContentsMargins(MARGIN, MARGIN - 12, MARGIN, MARGIN - 8)
        view.left.connect(self.show_all)
        view.other_wanted.connect(self.open)
        state.gone.connect(self.show_all)
        self.run = view
        self._stack.addWidget(view)
        self._stack.setCurrentWidget(view)
        state.open()

    def show_all(self) -> None:
        """Show the table; the run that was open stays selected there."""
        if self.run is not None:
            self.list.select(self.run.state.run_id)
        self._close_run()
        self._stack.setCurrentIndex(0)
        self.list.table.setFocus()

    def _close_run(self) -> None:
        if self.run is not None:
            self.run.details.save_notes()
            self._stack.removeWidget(self.run)
            self.run.hide()
            self.run.deleteLater()
            self.run = None


def _runs_at(path: Path) -> list[Path]:
    """The run folder itself, or those of a job with several seeds."""
    if (path / "spec.json").is_file():
        return [path]
    parts = path.glob("*/spec.json") if (path / SUMMARY).is_file() else ()
    return sorted(file.parent for file in parts)
