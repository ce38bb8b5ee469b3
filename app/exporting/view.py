"""The dialog of an export: options, progress, result."""

from PySide6.QtWidgets import QWidget

from app.exporting.choices import Choices
from app.exporting.outcome import Outcome
from app.exporting.state import ExportState
from app.translation import tr
from app.widgets.dialogs import MAX_WIDTH
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import available_area


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
