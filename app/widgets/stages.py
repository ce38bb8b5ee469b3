"""The dialog of long work: what is wanted, then how far it is, then how it ended."""

from abc import abstractmethod
from typing import Protocol, cast

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QProgressBar, QPushButton, QStackedWidget, QWidget

from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.dialogs import Dialog, foot
from app.widgets.text import Text
from engine.messages.question import Working

WHOLE = 1000  # steps of a bar


class Stage(Protocol):
    """One of the parts; `leave` is the button that closes the dialog."""

    leave: QPushButton


class StagesDialog(Dialog):
    """A heading and the parts below it. Closing it stops what is under way."""

    def __init__(self, title: str, owner: QWidget) -> None:
        super().__init__(owner.window(), title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.parts = QStackedWidget()
        layouts.column(
            Text(title, "heading"),
            (self.parts, 1),
            parent=self,
            spacing=4 * SPACE,
            margins=(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE),
        )

    def add_parts(self, *parts: QWidget) -> None:
        """Add parts, each a `Stage`, of which the first one is shown."""
        for part in parts:
            self.parts.addWidget(part)
            cast(Stage, part).leave.clicked.connect(self.reject)

    def done(self, result: int) -> None:
        """However it is closed: what is under way stops."""
        self.stop()
        super().done(result)

    @abstractmethod
    def stop(self) -> None:
        """Stop what is under way."""


class StageProgress(QWidget):
    """Which stage the work is at, and how far."""

    def __init__(self, name: str, note: str) -> None:
        super().__init__()
        self.stage = Text("", "strong")
        self.bar = QProgressBar()
        self.bar.setAccessibleName(name)
        self.bar.setTextVisible(False)
        self.leave = buttons.plain(self.tr("&Stop"), icon="circle-stop")
        layouts.column(
            self.stage,
            self.bar,
            Text(note, "muted"),
            layouts.STRETCH,
            foot(self.leave),
            parent=self,
            spacing=2 * SPACE,
        )

    def show_working(self, working: Working) -> None:
        self.stage.setText(f"{translated(working.stage)} …")
        self.bar.setRange(0, WHOLE if working.total else 0)
        self.bar.setValue(round(WHOLE * working.done / working.total) if working.total else 0)
        self.bar.setAccessibleDescription(working.stage)
