"""The dialog of an export: what is wanted, then how far it is, then how it ended."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.exporting.choices import Choices
from app.exporting.outcome import Outcome
from app.exporting.progress import ExportProgress
from app.exporting.state import ExportState
from app.theme import SPACE
from app.translation import tr
from app.widgets.dialogs import MOST_WIDTH, Dialog
from app.widgets.screen import room
from app.widgets.text import Text


class ExportDialog(Dialog):
    """Shows an ExportState in three parts, one at a time. Closing it stops an export under way."""

    def __init__(self, state: ExportState, owner: QWidget) -> None:
        title = tr("Export “{0}”").format(state.name)
        super().__init__(owner.window(), title)
        self.state = state
        state.setParent(self)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(min(MOST_WIDTH, room(self).width()))
        self.choices = Choices(state)
        self.progress = ExportProgress(state)
        self.outcome = Outcome(state)
        self.parts = QStackedWidget()
        for part in (self.choices, self.progress, self.outcome):
            self.parts.addWidget(part)
            part.leave.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE)
        column.setSpacing(4 * SPACE)
        column.addWidget(Text(title, "heading"))
        column.addWidget(self.parts, 1)
        state.changed.connect(self._show)
        self._show()

    def done(self, result: int) -> None:
        """However it is closed: what is under way stops."""
        self.state.cancel()
        super().done(result)

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
    """Open the dialog over the window of `owner`, which can be used while it works."""
    dialog = ExportDialog(state, owner)
    dialog.show()
    return dialog
