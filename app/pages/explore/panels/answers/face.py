"""How the answers of one kind of head are shown."""

from abc import abstractmethod

from PySide6.QtWidgets import QWidget

from app.pages.explore.panels.answers.state import AnswersState
from engine.messages import Predicted


class Face(QWidget):
    """Shows the answers of one kind of head; made when the first of them comes."""

    def __init__(self, state: AnswersState) -> None:
        super().__init__()
        self.state = state

    @abstractmethod
    def show_answer(self, answer: Predicted) -> None:
        """Bring everything in line with an answer of this kind."""

    def show_nothing(self) -> None:
        """There is no answer; only a face that asks for more than the text is shown then."""
