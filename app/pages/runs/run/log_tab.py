"""The training log as plain text, which follows while the user is at its end."""

from PySide6.QtGui import QGuiApplication, QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QWidget

from app.pages.runs.run.state import RunState
from app.resources import mono_font
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.text.labels import Text, visible


class LogTab(QWidget):
    """Reads only while it is on the screen."""

    def __init__(self, state: RunState) -> None:
        super().__init__()
        self._state = state
        self.text = QPlainTextEdit()
        self.text.setReadOnly(True)
        self.text.setFont(mono_font())
        self.text.setTabChangesFocus(True)
        self.text.setUndoRedoEnabled(False)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.setAccessibleName(self.tr("Log"))
        self.text.setPlaceholderText(self.tr("No log output yet."))
        row = QHBoxLayout()
        hint = self.tr("Training log (• = events) and the last lines of console output.")
        row.addWidget(Text(hint, "muted"), 1)
        row.addWidget(buttons.plain(self.tr("&Copy"), self._on_copy, "copy"))
        layouts.column(
            row, (self.text, 1), parent=self, spacing=2 * SPACE, margins=(0, 3 * SPACE, 0, 0)
        )
        state.log_read.connect(self._on_log)
        self._on_log(state.log)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._state.follow_log(True)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._state.follow_log(False)

    def _on_log(self, text: str) -> None:
        bar = self.text.verticalScrollBar()
        place, at_end = bar.value(), bar.value() >= bar.maximum() - 2
        self.text.setPlainText(visible(text))
        bar.setValue(bar.maximum() if at_end else min(place, bar.maximum()))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self._state.log)
