"""Comparison of several runs: curves, settings, scores, and charts of any columns."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QTabWidget, QWidget

from app.pages.runs.compare.curves_tab import CurvesTab
from app.pages.runs.compare.pictures_tab import ParallelTab, ScatterTab
from app.pages.runs.compare.scores_tab import ScoresTab
from app.pages.runs.compare.settings_tab import SettingsTab
from app.pages.runs.compare.state import CompareState
from app.theme import SPACE
from app.using.report import WRITERS, gather_comparison
from app.using.report_saver import ReportSaver, update_report_button
from app.widgets import buttons, layouts
from app.widgets.dialogs import ask_for_file
from app.widgets.page import LazyWidget, size_by_shown
from app.widgets.text.labels import OneLine, Text, visible


class CompareView(QWidget):
    """The tabs of a comparison.

    Signals:
        closed: go back to all runs.
    """

    closed = Signal()

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self.state = state
        state.setParent(self)
        names = ", ".join(visible(row.name) for row in state.rows)
        head = layouts.row(
            buttons.quiet(self.tr("B&ack"), self.closed.emit, "arrow-left"), spacing=2 * SPACE
        )
        title = self.tr("Compare %Ln run(s)", "", len(state.rows))
        layouts.extend(head, Text(title, "title", wraps=False), (OneLine(names, "muted"), 1))
        self.report_saver = ReportSaver(state.studio, self)
        self.report = buttons.plain("", self._on_report, "save")
        update_button = partial(update_report_button, self.report, self.report_saver)
        self.report_saver.changed.connect(update_button)
        update_button()
        head.addWidget(self.report)
        self.curves = CurvesTab(state)
        self.settings = LazyWidget(lambda: SettingsTab(state))
        self.scores = LazyWidget(lambda: ScoresTab(state))
        self.parallel = LazyWidget(lambda: ParallelTab(state))
        self.scatter = LazyWidget(lambda: ScatterTab(state))
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName(self.tr("Sections of the comparison"))
        self.tabs.addTab(self.curves, self.tr("C&urves"))
        self.tabs.addTab(self.settings, self.tr("S&ettings"))
        self.tabs.addTab(self.scores, self.tr("&Scores"))
        self.tabs.addTab(self.parallel, self.tr("&Parallel coordinates"))
        self.tabs.addTab(self.scatter, self.tr("Sc&atter plot"))
        size_by_shown(self.tabs)
        layouts.column(head, (self.tabs, 1), parent=self, spacing=2 * SPACE)

    def _on_report(self) -> None:
        collect = partial(gather_comparison, self.state.compared_runs())
        save = partial(self.report_saver.save, collect)
        title, name = self.tr("Save the report"), "comparison-report.html"
        ask_for_file(self, title, name, list(WRITERS), save)
