"""Comparison of several runs: curves, settings, scores, and charts of any columns."""

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QTabWidget, QWidget

from app.pages.runs.compare.curves_tab import CurvesTab
from app.pages.runs.compare.pictures_tab import ParallelTab, ScatterTab
from app.pages.runs.compare.scores_tab import ScoresTab
from app.pages.runs.compare.settings_tab import SettingsTab
from app.pages.runs.compare.state import CompareState
from app.theme import SPACE
from app.using.report import FORMS, gather_comparison
from app.using.saving_report import SavingReport, dress_report_button
from app.widgets import buttons, layouts
from app.widgets.dialogs import ask_for_file
from app.widgets.page import Later
from app.widgets.text.labels import OneLine, Text, visible


class CompareView(QWidget):
    """The tabs of a comparison.

    Signals:
        left: go back to all runs.
        opened: the id of a run to open.
        flips_wanted: two RunScore whose flipped rows are shown; see ScoresTab.
    """

    left = Signal()
    opened = Signal(str)
    flips_wanted = Signal(object, object)

    def __init__(self, state: CompareState) -> None:
        super().__init__()
        self.state = state
        state.setParent(self)
        names = ", ".join(visible(row.name) for row in state.rows)
        head = layouts.row(
            buttons.quiet(self.tr("All &runs"), self.left.emit, "arrow-left"), spacing=2 * SPACE
        )
        title = self.tr("Compare %Ln run(s)", "", len(state.rows))
        layouts.extend(head, Text(title, "title", wraps=False), (OneLine(names, "muted"), 1))
        self.saving = SavingReport(state.studio, self)
        self.saving.changed.connect(self._show_saving)
        self.report = buttons.plain("", self._ask_where, "save")
        head.addWidget(self.report)
        self.curves = CurvesTab(state)
        self.settings = Later(lambda: SettingsTab(state))
        self.scores = Later(self._make_scores)
        self.parallel = Later(lambda: ParallelTab(state))
        self.scatter = Later(self._make_scatter)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName(self.tr("Sections of the comparison"))
        self.tabs.addTab(self.curves, self.tr("C&urves"))
        self.tabs.addTab(self.settings, self.tr("S&ettings"))
        self.tabs.addTab(self.scores, self.tr("&Scores"))
        self.tabs.addTab(self.parallel, self.tr("&Parallel coordinates"))
        self.tabs.addTab(self.scatter, self.tr("Sc&atter plot"))
        layouts.column(head, (self.tabs, 1), parent=self, spacing=2 * SPACE)
        back = QShortcut(QKeySequence(QKeySequence.StandardKey.Back), self)
        back.activated.connect(self.left)
        self._show_saving()

    def _ask_where(self) -> None:
        """Ask for the file of the report; does not block."""
        gathered = partial(gather_comparison, self.state.candidates())
        save = partial(self.saving.save, gathered)
        ask_for_file(self, self.tr("Save the report"), "comparison-report.html", list(FORMS), save)

    def _show_saving(self) -> None:
        dress_report_button(self.report, self.saving)

    def _make_scores(self) -> ScoresTab:
        tab = ScoresTab(self.state)
        tab.flips_wanted.connect(self.flips_wanted)
        return tab

    def _make_scatter(self) -> ScatterTab:
        tab = ScatterTab(self.state)
        tab.opened.connect(self.opened)
        return tab
