"""Questions to the user, without stopping the program for the answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from app.theme import SPACE
from app.widgets import buttons
from app.widgets.text import Text, visible


@dataclass(frozen=True)
class Choice:
    """A button of a question. `kind` is “primary”, “plain” or “danger”."""

    key: str
    text: str
    kind: str = "plain"


class Question(QDialog):
    """A title, a few sentences, and buttons; the key of the one pressed goes to `on_answer`.

    Escape and the window's close button answer with the last choice, which is the harmless one.
    """

    def __init__(
        self,
        owner: QWidget | None,
        title: str,
        text: str,
        choices: Sequence[Choice],
        on_answer: Callable[[str], object],
    ) -> None:
        super().__init__(owner.window() if owner is not None else None)
        self.setWindowTitle(visible(title))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setMinimumWidth(420)
        self.setMaximumWidth(640)
        self._on_answer = on_answer
        self._answer = choices[-1].key
        self.buttons: dict[str, QPushButton] = {}
        column = QVBoxLayout(self)
        column.setContentsMargins(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE)
        column.setSpacing(3 * SPACE)
        column.addWidget(Text(title, "heading"))
        column.addWidget(Text(text))
        self.body = QVBoxLayout()
        self.body.setSpacing(2 * SPACE)
        column.addLayout(self.body)
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addStretch()
        makers = {"primary": buttons.primary, "plain": buttons.plain, "danger": buttons.danger}
        for choice in reversed(choices):  # the main one stands at the right
            button = makers[choice.kind](choice.text)
            button.clicked.connect(lambda _=False, key=choice.key: self._choose(key))
            row.addWidget(button)
            self.buttons[choice.key] = button
        column.addSpacing(2 * SPACE)
        column.addLayout(row)
        first = next((c.key for c in choices if c.kind == "primary"), choices[-1].key)
        self.buttons[first].setDefault(True)
        self.buttons[first].setFocus()
        self.finished.connect(self._on_finished)

    def _choose(self, key: str) -> None:
        self._answer = key
        self.accept()

    def _on_finished(self) -> None:
        self._on_answer(self._answer)


def ask(
    owner: QWidget,
    title: str,
    text: str,
    choices: Sequence[Choice],
    on_answer: Callable[[str], object],
) -> Question:
    """Open a question over the window of `owner`, and return at once."""
    question = Question(owner, title, text, choices, on_answer)
    question.open()
    return question


def foot(*parts: QWidget) -> QHBoxLayout:
    """Buttons at the right, the main one last."""
    row = QHBoxLayout()
    row.setContentsMargins(0, 4 * SPACE, 0, 0)
    row.setSpacing(2 * SPACE)
    row.addStretch()
    for part in parts:
        row.addWidget(part)
    return row
