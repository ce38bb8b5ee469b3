"""Wait for open questions."""

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.widgets.dialogs import Question

PATIENCE = 60_000  # ms; a worker may answer first


def question(qtbot: QtBot, title: str = "") -> Question:
    """The open question whose title contains `title`; waits for it."""

    def find_questions() -> list[Question]:
        questions = [w for w in QApplication.topLevelWidgets() if isinstance(w, Question)]
        return [q for q in questions if q.isVisible() and title in q.windowTitle()]

    qtbot.waitUntil(lambda: bool(find_questions()), timeout=PATIENCE)
    return find_questions()[0]
