"""How far an export is."""

from PySide6.QtWidgets import (
    QProgressBar,
    QVBoxLayout,
    QWidget,
)

from app.exporting.state import ExportState
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons
from app.widgets.dialogs import foot
from app.widgets.text import Text
from engine.messages.question import Working


class ExportProgress(QWidget):
    """Which stage it is at."""

    def __init__(self, state: ExportState) -> None:
        super().__init__()
        self.stage = Text("", "strong")
        self.bar = QProgressBar()
        self.bar.setAccessibleName(self.tr("Export progress"))
        self.bar.setTextVisible(False)
        self.leave = buttons.plain(self.tr("&Stop"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2 * SPACE)
        column.addWidget(self.stage)
        column.addWidget(self.bar)
        column.addWidget(
            Text(
                self.tr("A large model takes a minute or two. Stopping leaves nothing behind."),
                "muted",
            )
        )
        column.addStretch(1)
        column.addLayout(foot(self.leave))

    def show_working(self, working: Working) -> None:
        self.stage.setText(f"{translated(working.stage)} …")
        self.bar.setRange(0, working.total)
        self.bar.setValue(working.done)
        self.bar.setAccessibleDescription(working.stage)
