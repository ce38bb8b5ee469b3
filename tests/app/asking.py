"""The question that is open."""

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.widgets.dialogs import Question

PATIENCE = 60_000  # ms; a worker may be asked first


def question(qtbot: QtBot, title: str = "") -> Question:
    """Wait for an open question with this text in its title."""

    def find_questions() -> list[Question]:
        shown = [w for w in QApplication.topLevelWidgets() if isinstance(w, Question)]
        return [dialog for dialog in shown if dialog.isVisible() and title in dialog.windowTitle()]

    qtbot.waitUntil(lambda: bool(find_questions()), timeout=PATIENCE)
    return find_questions()[0]
