"""The page of one run: results, curves, rows, checkpoints, batch, machine, log, details."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QTabWidget, QWidget

from app.exporting import view as exporting
from app.pages.runs.groups import row_search
from app.pages.runs.rows import RunRow
from app.pages.runs.run.advice import AdviceLine, AdviceState
from app.pages.runs.run.batch_tab import BatchState, BatchTab
from app.pages.runs.run.charts import Charts
from app.pages.runs.run.checkpoints_tab import CheckpointsState, CheckpointsTab
from app.pages.runs.run.details_tab import DetailsTab, LogTab
from app.pages.runs.run.header import ProblemBanner, RunHeader
from app.pages.runs.run.machine_tab import MachineTab
from app.pages.runs.run.reproducibility_tab import ReproducibilityState, ReproducibilityTab
from app.pages.runs.run.rows_tab import RowsTab
from app.pages.runs.run.seeds_tab import SeedsTab
from app.pages.runs.run.sentences_tab import SentencesTab
from app.pages.runs.run.smaller import SmallerDialog
from app.pages.runs.run.smaller_state import SmallerState
from app.pages.runs.run.state import RunState
from app.results.comparison import ResultFile
from app.results.evaluating import results_of_run
from app.results.view import ResultsView
from app.studio import Studio
from app.theme import SPACE
from app.using.tab import UseTab
from app.widgets import layouts
from app.widgets.page import LazyWidget, size_by_shown
from engine.data.formats.sources import is_data_file


class RunView(QWidget):
    """The header and the tabs of a run.

    Signals:
        closed: go back to all runs.
    """

    closed = Signal()

    def __init__(self, state: RunState, studio: Studio) -> None:
        super().__init__()
        self.state, self._studio = state, studio
        self._checkpoints = CheckpointsState(studio, state)
        self.charts = Charts(state, studio.settings, studio.notices)
        self.header = RunHeader(state, self.charts.last_speed)
        self.header.closed.connect(self.closed)
        self.header.export_requested.connect(self._on_export)
        self.header.smaller_requested.connect(self._on_smaller)
        self.banner = ProblemBanner(state)
        self.advice = AdviceLine(AdviceState(state))
        self.tabs = self._tabs(studio)
        self._has_chosen_tab = False
        layouts.column(
            self.header, self.banner, self.advice, (self.tabs, 1), parent=self, spacing=3 * SPACE
        )
        state.changed.connect(self._show)
        self._show()

    def _tabs(self, studio: Studio) -> QTabWidget:
        state = self.state
        self.checkpoints = CheckpointsTab(self._checkpoints)
        self.batch = LazyWidget(lambda: BatchTab(BatchState(state, studio.explorer)))
        self.results = LazyWidget(
            lambda: ResultsView(studio, results_of_run(state.folder)), after_its_page=True
        )
        self.rows = LazyWidget(lambda: RowsTab(state))
        self.sentences = LazyWidget(lambda: SentencesTab(state))
        self.machine = LazyWidget(lambda: MachineTab(state, studio.notices))
        self.log = LazyWidget(lambda: LogTab(state))
        self.details = DetailsTab(state)
        self.reproducibility = LazyWidget(
            lambda: ReproducibilityTab(ReproducibilityState(state, studio.notices))
        )
        self.seeds = LazyWidget(lambda: SeedsTab(state))
        self.use = LazyWidget(lambda: self._create_use_tab(studio))
        tabs = QTabWidget()
        tabs.setDocumentMode(True)
        tabs.setAccessibleName(self.tr("Sections of the run"))
        tabs.addTab(self.results, self.tr("Re&sults"))
        tabs.addTab(self.charts, self.tr("C&urves"))
        tabs.addTab(self.rows, self.tr("Ro&ws"))
        tabs.addTab(self.sentences, self.tr("Sentences o&ver time"))
        tabs.addTab(self.checkpoints, self.tr("Chec&kpoints"))
        tabs.addTab(self.use, self.tr("Use &it"))
        tabs.addTab(self.batch, self.tr("&Batch"))
        tabs.addTab(self.machine, self.tr("&Machine"))
        tabs.addTab(self.log, self.tr("&Log"))
        tabs.addTab(self.details, self.tr("&Details"))
        tabs.addTab(self.reproducibility, self.tr("Re&producibility"))
        tabs.addTab(self.seeds, self.tr("S&eeds"))
        tabs.setTabVisible(0, False)
        tabs.setCurrentWidget(self.charts)
        size_by_shown(tabs)
        return tabs

    def _create_use_tab(self, studio: Studio) -> UseTab:
        tab = UseTab(studio)
        if self.state.row is not None:
            tab.show_model(self.state.row.checkpoint, self.state.row.name)
        return tab

    def accept_drop(self, paths: Sequence[Path]) -> bool:
        """Apply the run's model to a dropped data file; False if that is impossible."""
        row = self.state.row
        if len(paths) != 1 or not is_data_file(paths[0]) or row is None or row.checkpoint is None:
            return False
        self.tabs.setCurrentWidget(self.use)
        self.use.widget.apply_to(paths[0])
        return True

    def compare_results(self, file: Path, other: ResultFile) -> None:
        """Show the rows that flipped between two results."""
        self._has_chosen_tab = True
        self.tabs.setTabVisible(self.tabs.indexOf(self.results), True)
        self.tabs.setCurrentWidget(self.results)
        self.results.widget.compare(file, other)

    def _show_results(self, row: RunRow) -> None:
        """Show the results once the run is over; a CLM has none."""
        has_results = row.job is not None and not row.job.task.causal
        is_shown = has_results and row.checkpoint is not None and not row.is_active
        self.tabs.setTabVisible(self.tabs.indexOf(self.results), is_shown)
        had_rows = self.tabs.currentWidget() is self.rows
        self.tabs.setTabVisible(self.tabs.indexOf(self.rows), has_results and row.is_active)
        if had_rows and not row.is_active:  # the results tab has all of its rows
            self.tabs.setCurrentWidget(self.results if is_shown else self.charts)
        if is_shown and self.results.is_built:
            self.results.widget.show_results()
        if not self._has_chosen_tab:
            self._has_chosen_tab = True
            self.tabs.setCurrentWidget(self.results if is_shown else self.charts)

    def _show(self) -> None:
        row = self.state.row
        if row is None:
            return
        self._show_results(row)
        self.banner.show_run(row)
        is_pretraining = row.job is not None and row.job.task.info.is_pretraining
        self.tabs.setTabVisible(self.tabs.indexOf(self.sentences), is_pretraining)
        if self.use.is_built:
            self.use.widget.show_model(row.checkpoint, row.name)
        seeds = self.tabs.indexOf(self.seeds)
        self.tabs.setTabVisible(seeds, bool(row.group))
        text = self.tr("Lay&er probing sweep") if row.sweep else self.tr("S&eeds")
        if row_search(row) is not None:
            text = self.tr("S&earch")
        self.tabs.setTabText(seeds, text)

    def _on_export(self, checkpoint: Path) -> None:
        exporting.open_dialog(self, self._checkpoints.create_export(checkpoint))

    def _on_smaller(self) -> None:
        name = "" if self.state.row is None else self.state.row.name
        state = SmallerState(self._studio, self.state.folder.path, name)
        dialog = SmallerDialog(state, self._studio, self)
        dialog.export_requested.connect(self._on_export)
        dialog.show()
