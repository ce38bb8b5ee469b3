"""The page of all runs, which opens the page of a run, a comparison, or a lineage."""

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QWidget

from app import background
from app.deeds import list_commands
from app.pages.runs.actions import run_action, run_actions
from app.pages.runs.compare.state import MAX_RUNS, CompareState
from app.pages.runs.compare.view import CompareView
from app.pages.runs.lineage.state import LineageState
from app.pages.runs.lineage.view import LineageView
from app.pages.runs.list_view import RunsList
from app.pages.runs.rows import RunRow, read_row, read_rows
from app.pages.runs.run.state import RunState
from app.pages.runs.run.view import RunView
from app.pages.runs.state import RunsState
from app.palette import Command
from app.results.comparison import ResultFile
from app.studio import Studio
from app.widgets import buttons, layouts
from app.widgets.dialogs import choose_file
from app.widgets.page import MARGIN, Page, size_by_shown
from app.widgets.text.labels import without_key
from engine.results.several import RunScore
from engine.runs.bundle import is_bundle
from engine.runs.groups import SUMMARY
from engine.runs.lineage import run_key

MAX_COMMANDED = 30  # newest runs whose actions the palette finds
NOT_COMMANDED = {"open", "compare"}  # the run itself is found; two are compared


class RunsPage(QWidget):
    """Shows the record and passes requests on; holds no state of runs."""

    def __init__(self, studio: Studio) -> None:
        super().__init__()
        self._studio = studio
        self.state = RunsState(studio, self)
        requests = (
            self.state.open_requested,
            self.state.compare_requested,
            self.state.lineage_requested,
        )
        for request in requests:  # the user moves on within the page
            request.connect(studio.history.leave)
        self.state.open_requested.connect(self.open)
        self.state.compare_requested.connect(self.compare)
        self.state.lineage_requested.connect(lambda run_id: self.show_lineage(run_key(run_id)))
        self._list_page = Page(
            self.tr("Runs"), self.tr("Your training runs: finished, running and queued.")
        )
        self._list_buttons = (
            buttons.plain(self.tr("Open a &file of runs…"), self._ask_for_file, "import"),
            buttons.plain(
                self.tr("&New run…"), lambda: studio.navigate.emit("train", None), "plus"
            ),
        )
        layouts.extend(self._list_page.action_row, *self._list_buttons)
        self._stack = QStackedWidget()
        size_by_shown(self._stack)
        self._stack.addWidget(self._list_page)
        self.run: RunView | None = None
        self.lineage: LineageView | None = None
        self.comparison: CompareView | None = None
        layouts.column(self._stack, parent=self)

    @cached_property
    def list(self) -> RunsList:
        """The table of all runs; created on first use, as a new run opens its own page."""
        runs = RunsList(self.state)
        self._list_page.body.addWidget(runs, 1)
        return runs

    # ── called by the window ─────────────────────────────────────────────────────────────────

    def arrive(self, argument: object) -> None:
        """Show a run by {"run": id}, the lineage of a node by {"lineage": key}, a comparison by
        {"compare": ids}, all runs by {"list": True}; None changes nothing."""
        match argument:
            case {"lineage": str(key)}:
                if self.lineage is None or self.place() != argument:
                    self.show_lineage(key)
            case {"run": str(run_id), "do": str(key)}:
                self.open(run_id)
                self._do(run_id, key)
            case str(run_id) | {"run": str(run_id)} if run_id:
                self.open(run_id)
            case {"compare": tuple(ids)}:
                self._return_to_comparison(ids)
            case {"list": True}:
                self.show_all()
        if self._stack.currentIndex() == 0:
            self.list.table.setFocus()

    def commands(self) -> Sequence[Command]:
        """The buttons above the table, for the palette."""
        return [
            *list_commands(self._list_buttons, self._studio, "runs", self.tr("Runs"), "activity")
        ]

    def named_commands(self) -> Sequence[Command]:
        """Commands for each of the newest runs; reads the record."""
        return [
            Command(
                f"{without_key(action.text([row]))} · {row.name}",
                self.tr("Run"),
                action.icon,
                partial(self._studio.navigate.emit, "runs", {"run": row.id, "do": action.key}),
            )
            for row in read_rows(self._studio.record)[:MAX_COMMANDED]
            for action in run_actions()
            if action is not None and action.key not in NOT_COMMANDED and not action.why_not(row)
        ]

    def _do(self, run_id: str, key: str) -> None:
        """Apply an action to a run, once its row is read."""
        record = self._studio.record

        def act(row: RunRow | None) -> None:
            if row is not None and not run_action(key).why_not(row):
                run_action(key).apply(self, self.state, [row])

        background.run(self, lambda: read_row(record, run_id, []), act, self._studio.notices.show)

    def place(self) -> object:
        """The argument of `arrive` that leads back to the shown view."""
        if self.run is not None:
            return {"run": self.run.state.run_id}
        if self.comparison is not None:
            return {"compare": self.comparison.state.ids}
        if self.lineage is not None:
            return {"lineage": self.lineage.state.focus}
        return {"list": True}

    def _return_to_comparison(self, ids: tuple[str, ...]) -> None:
        if self.comparison is not None and self.comparison.state.ids == ids:
            self._close_run()
            self._stack.setCurrentWidget(self.comparison)
            return
        rows = [self.state.rows[run_id] for run_id in ids if run_id in self.state.rows]
        if rows:
            self.compare(rows)
        else:
            self.show_all()

    def _go_back(self) -> None:
        """Return to the place before, else to the comparison, the lineage, or the table."""
        if not self._studio.history.back():
            self._leave_run()

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Copy in run folders or exported runs; a table of data goes to the open run."""
        if self.run is not None and self.run.accept_drop(paths):
            return True
        folders = [folder for path in paths if path.is_dir() for folder in _find_runs(path)]
        for folder in folders:
            self.state.dispatcher.adopt(folder)
        bundles = [path for path in paths if path.is_file() and is_bundle(path)]
        for bundle in bundles:
            self.state.exchange.open(bundle)
        if folders or bundles:
            self.show_all()
        return bool(folders or bundles)

    def _ask_for_file(self) -> None:
        filters = [self.tr("Exported runs (*.zip)")]
        title = self.tr("Open a file of runs")
        choose_file(self.window(), title, self.state.exchange.open, filters)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if not self.state.is_listed:
            self.state.read()

    # ── views ────────────────────────────────────────────────────────────────────────────────

    def open(self, run_id: str) -> None:
        """Show the page of a run; Back returns to the previous view."""
        if self.run is not None and self.run.state.run_id == run_id:
            self._stack.setCurrentWidget(self.run)
            return
        self._close_run()
        state = RunState(self._studio, self.state, run_id)
        view = RunView(state, self._studio)
        state.setParent(view)
        view.closed.connect(self._go_back)
        state.removed.connect(self.show_all)
        self.run = view
        self._add(view)
        state.open()

    def compare(self, rows: Sequence[RunRow]) -> None:
        """Show these runs side by side."""
        self._close_all()
        if len(rows) > MAX_RUNS:
            template = self.tr("The first {0} of these runs are compared.")
            self._studio.notices.info(template.format(MAX_RUNS))
        view = CompareView(CompareState(self._studio, self.state, rows))
        view.closed.connect(self._go_back)
        view.state.flips_requested.connect(self._show_flips)
        self.comparison = view
        self._add(view)

    def _show_flips(self, second: RunScore, first: RunScore) -> None:
        self._studio.history.leave()
        self.open(second.run.key)
        if self.run is not None:
            self.run.compare_results(second.file, ResultFile(first.run.name, first.file))

    def show_lineage(self, key: str) -> None:
        """Show the sources and results of this node."""
        self._close_all()
        view = LineageView(LineageState(self._studio, key))
        view.closed.connect(self._go_back)
        self.lineage = view
        self._add(view)
        view.picture.setFocus()
        view.state.read()

    def show_all(self) -> None:
        """Show the table, with the run that was open selected."""
        if self.run is not None:
            self.list.select(self.run.state.run_id)
        self._close_all()
        self._stack.setCurrentIndex(0)
        self.list.table.setFocus()

    def _leave_run(self) -> None:
        """Return to the comparison, the lineage, or the table."""
        previous = self.comparison or self.lineage
        if previous is None or self.run is None:
            self.show_all()
            return
        self._close_run()
        self._stack.setCurrentWidget(previous)

    def _add(self, view: QWidget) -> None:
        view.setContentsMargins(MARGIN, MARGIN - 12, MARGIN, MARGIN - 8)
        self._stack.addWidget(view)
        self._stack.setCurrentWidget(view)

    def _close_all(self) -> None:
        self._close_run()
        for view in (self.comparison, self.lineage):
            if view is not None:
                self._discard(view)
        self.comparison = self.lineage = None

    def _close_run(self) -> None:
        if self.run is not None:
            self.run.details.save_notes()
            self._discard(self.run)
            self.run = None

    def _discard(self, view: QWidget) -> None:
        self._stack.removeWidget(view)
        view.hide()
        view.deleteLater()


def _find_runs(path: Path) -> list[Path]:
    """Return `path` if it is a run folder, or the run folders of a job with several runs."""
    if (path / "spec.json").is_file():
        return [path]
    parts = path.glob("*/spec.json") if (path / SUMMARY).is_file() else ()
    return sorted(file.parent for file in parts)
