"""List of findings, each with its rows and fixes."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.pages.data.dataset.checks.state import ChecksState
from app.theme import SPACE, Role
from app.translation import in_language, translated
from app.widgets import buttons, layouts
from app.widgets.page import Card, Picture, clear, rule
from app.widgets.progress import ProgressLine
from app.widgets.text.labels import Text, plain_menu_text
from engine.data.checks import CHECKS
from engine.data.checks.check import Finding, Fix, Severity

PICTURES: dict[Severity, tuple[str, Role]] = {
    "problem": ("circle-alert", Role.BAD),
    "warning": ("triangle-alert", Role.WARN),
    "note": ("info", Role.MUTED),
}
MAX_FINDINGS = 20


class ChecksCard(Card):
    """The findings of a data set.

    Signals:
        rows_requested: the Finding whose rows to show.
        fix_requested: the chosen Fix.
    """

    rows_requested = Signal(object)
    fix_requested = Signal(object)

    def __init__(self, state: ChecksState, parent: QWidget | None = None) -> None:
        super().__init__("", parent)
        self._state = state
        self._shown: list[Finding] | None = None
        self.title = Text(self.tr("Checks"), "heading")
        self.summary = Text("", "muted")
        self.progress = ProgressLine(self.tr("Checking rows"))
        self.progress.cancelled.connect(state.cancel)
        self.start = buttons.plain(self.tr("Check for &problems"), state.examine)
        for widget in (self.title, self.summary, self.progress, self.start):
            self.body.addWidget(widget)
        self._inner = QWidget()
        self._list = layouts.column(parent=self._inner, spacing=3 * SPACE)
        self.body.addWidget(self._inner)
        state.changed.connect(self._show)
        self._show()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Set the height that the sentences need at this width."""
        margins = self.body.contentsMargins()
        width = self.width() - margins.left() - margins.right()
        self._inner.setFixedHeight(max(self._list.totalHeightForWidth(width), 0))

    def _show(self) -> None:
        state = self._state
        self._show_progress()
        self.start.setVisible(state.findings is None and not state.is_examining)
        self.summary.setText(self._summary_text())
        self.summary.setVisible(bool(self.summary.text()))
        findings = state.findings or []
        if findings is not self._shown:
            self._shown = findings
            self._fill(findings)
        for button in self.fix_buttons():
            button.setEnabled(state.can_fix and not state.is_fixing)

    def _summary_text(self) -> str:
        state = self._state
        if state.problem:
            return state.problem
        if state.is_examining:
            return ""
        if state.findings is None:
            return self.tr("Finds duplicates, leakage, conflicting labels and more.")
        if not state.findings:
            return self.tr("No problems found.")
        return ""

    def _show_progress(self) -> None:
        state = self._state
        if not state.is_examining and not state.is_fixing:
            self.progress.end()
            return
        stage = self.tr("Creating a new version") if state.is_fixing else self.tr("Checking rows")
        done, total = state.done_and_total
        if self.progress.isHidden() or not done:
            self.progress.begin(stage)
        if total:
            self.progress.show_progress(done, total, stage)

    def fix_buttons(self) -> list[QWidget]:
        """Buttons of the fixes, disabled while a version is being created."""
        return [widget for widget in self.findChildren(QWidget) if widget.property("fix")]

    def _fill(self, findings: list[Finding]) -> None:
        clear(self._list)
        for index, finding in enumerate(findings[:MAX_FINDINGS]):
            if index:
                self._list.addWidget(rule())
            self._list.addLayout(self._entry(finding))
        if len(findings) > MAX_FINDINGS:
            rest_text = self.tr("… and %Ln more", "", len(findings) - MAX_FINDINGS)
            self._list.addWidget(Text(rest_text, "muted"))
        self._inner.setVisible(bool(findings))
        QTimer.singleShot(0, self, self._fit)  # new widgets have their height only then

    def _entry(self, finding: Finding) -> QHBoxLayout:
        picture, role = PICTURES[finding.severity]
        texts = layouts.column(spacing=0)
        title = in_language(CHECKS[finding.check].title)
        texts.addWidget(Text(title, "strong"))
        texts.addWidget(Text(finding.sentence, "muted", selectable=True))
        if len(finding.rows):
            rows = self.tr("Show %Ln row(s)", "", len(finding.rows))
            self._add(texts, rows, title, partial(self.rows_requested.emit, finding))
        for fix in finding.fixes:
            self._add_fix(texts, fix, title)
        return layouts.row(
            (Picture(picture, 16, role), 0, Qt.AlignmentFlag.AlignTop),
            (texts, 1),
            spacing=2 * SPACE,
        )

    def _add_fix(self, texts: QVBoxLayout, fix: Fix, title: str) -> None:
        text = plain_menu_text(translated(fix.title))
        button = self._add(texts, text, title, partial(self.fix_requested.emit, fix))
        button.setProperty("fix", True)
        button.setToolTip(translated(fix.change))
        button.setAccessibleDescription(translated(fix.change))

    def _add(
        self, texts: QVBoxLayout, text: str, title: str, action: Callable[[], object]
    ) -> QPushButton:
        button = buttons.quiet(text, action)
        button.setAccessibleName(self.tr("{0}: {1}").format(title, text))
        texts.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
        return button
