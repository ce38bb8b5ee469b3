"""The question that is open."""

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.widgets.dialogs import Question

PATIENCE = 60_000  # ms; a worker may be asked first


def question(qtbot: QtBot, title: str = "") -> Question:
    """The open question, once there is one with this in its title."""

    def found() -> list[Question]:
        shown = [w for w in QApplication.topLevelWidgets() if isinstance(w, Question)]
        return [dialog for dialog in shown if dialog.isVisible() and title in dialog.windowTitle()]

    qtbot.waitUntil(lambda: bool(found()), timeout=PATIENCE)
    return found()[0]
