"""The dialog of an export: options, progress, result."""

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.exporting.choices import Choices
from app.exporting.state import ExportState
from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import MAX_WIDTH, foot
from app.widgets.page import clear
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import Fitting, available_area
from app.widgets.text import numbers
from app.widgets.text.labels import ReadText, Text, TextStyle
from engine.messages.exporting import Exported
from engine.messages.question import Refused

REPORT = "export-report.txt"


class ExportDialog(StagesDialog):
    """Shows an ExportState in three stages. Closing it stops a running export."""

    def __init__(self, state: ExportState, owner: QWidget) -> None:
        super().__init__(tr("Export “{0}”").format(state.name), owner)
        self.state = state
        state.setParent(self)
        self.setMinimumWidth(min(MAX_WIDTH, available_area(self).width()))
        self.choices = Choices(state)
        self.progress = StageProgress(
            self.tr("Export progress"),
            self.tr("A large model takes a minute or two. Stopping leaves nothing behind."),
        )
        self.outcome = Outcome(state)
        self.add_parts(self.choices, self.progress, self.outcome)
        state.changed.connect(self._show)
        self._show()

    def stop(self) -> None:
        self.state.cancel()

    def _show(self) -> None:
        state = self.state
        if state.working is not None:
            self.progress.show_working(state.working)
            self.parts.setCurrentWidget(self.progress)
        elif state.exported is not None:
            self.outcome.show_exported(state.exported)
            self.parts.setCurrentWidget(self.outcome)
        elif state.problem is not None:
            self.outcome.show_problem(state.problem)
            self.parts.setCurrentWidget(self.outcome)
        else:
            self.parts.setCurrentWidget(self.choices)


def ask(owner: QWidget, state: ExportState) -> ExportDialog:
    """Open the dialog over the window of `owner` without blocking."""
    dialog = ExportDialog(state, owner)
    dialog.show()
    return dialog


class Outcome(QWidget):
    """The report of an export, or its error."""

    def __init__(self, state: ExportState) -> None:
        super().__init__()
        self._state = state
        self.leave = buttons.plain(self.tr("&Close"))
        self.back = buttons.plain(self.tr("&Back"), state.back, "arrow-left")
        self.report = buttons.plain(self.tr("Open the &report"), self._on_report, "file-text")
        self.folder = buttons.primary(self.tr("Open the &folder"), self._on_folder, "folder-open")
        inner = QWidget()
        self._said = layouts.column(parent=inner, spacing=2 * SPACE)
        layouts.column(
            Fitting(inner),
            layouts.STRETCH,
            foot(self.leave, self.back, self.report, self.folder),
            parent=self,
        )

    def show_exported(self, exported: Exported) -> None:
        report = exported.report
        clear(self._said)
        done = self.tr("Export complete: {0} in {1}").format(
            numbers.size(exported.bytes), exported.folder
        )
        tried = self.tr(
            "The export was reloaded and verified with %Ln text(s). Its tokens and labels "
            "match the model.",
            "",
            len(report.texts),
        )
        texts: list[tuple[str, TextStyle]] = [(done, "good"), (tried, "body")]
        if report.weights_equal:
            same = self.tr("All {0} tensors are identical to the model’s, bit for bit.")
            rounded = self.tr("All {0} tensors match the model’s, rounded to {1}.")
            is_whole = report.precision == "float32"
            template = same if is_whole else rounded
            texts.append((template.format(report.tensors, report.precision), "body"))
        if report.pruned_heads:
            left_out = self.tr(
                "%Ln pruned attention head(s) were left out, so layers are narrower.",
                "",
                report.pruned_heads,
            )
            texts.append((left_out, "body"))
        texts += [(one.sentence(), "body") for one in report.comparisons]
        texts.append((self.tr("Verified with: {0}.").format(", ".join(report.sources)), "muted"))
        texts += [(note, "warn") for note in report.notes]
        for text, style in texts:
            self._said.addWidget(Text(text, style, selectable=True))
        self._show_buttons(is_done=True)

    def show_problem(self, problem: Refused) -> None:
        clear(self._said)
        self._said.addWidget(Text(problem.problem, "bad", selectable=True))
        if problem.advice:
            self._said.addWidget(Text(problem.advice, selectable=True))
        self._said.addWidget(Text(self.tr("No files were written."), "muted"))
        if problem.details:
            self._said.addWidget(ReadText(self.tr("Details"), problem.details[:20_000]))
        self._show_buttons(is_done=False)

    def _show_buttons(self, is_done: bool) -> None:
        self.report.setVisible(is_done)
        self.folder.setVisible(is_done)
        self.back.setVisible(not is_done)
        (self.folder if is_done else self.back).setFocus()

    def _on_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._state.target)))

    def _on_report(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._state.target / REPORT)))
