"""How the answers of one kind of head are shown."""

from abc import abstractmethod
from collections.abc import Sequence

from PySide6.QtCore import QSizeF
from PySide6.QtWidgets import QFrame, QTextEdit, QVBoxLayout, QWidget

from app.pages.explore.panels.predictions.state import PredictionsState
from app.theme import SPACE
from app.widgets.page import Card
from app.widgets.text import Look, OneLine, Text, font
from engine.messages.explore.prediction import Predicted

NARROW, WIDE = 180 * SPACE, 220 * SPACE  # widths of cards
HEIGHT = 60 * SPACE  # of a text; longer ones are scrolled


class Face(QWidget):
    """Shows the answers of one kind of head; made when the first of them comes.

    A card with a `verdict`, a `note` below, and between them what `lay_out` is given.
    """

    def __init__(self, state: PredictionsState, look: Look = "heading") -> None:
        super().__init__()
        self.state = state
        self.verdict = OneLine("", look)
        self.note = Text("", "muted")

    def lay_out(self, *parts: QWidget, above: Sequence[QWidget] = (), width: int = NARROW) -> None:
        """Make the card; called once, by each face."""
        card = Card(padding=5 * SPACE)
        card.setMaximumWidth(width)
        for part in (*above, self.verdict, *parts, self.note):
            card.body.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(card)
        column.addStretch()

    @abstractmethod
    def show_answer(self, answer: Predicted) -> None:
        """Bring everything in line with an answer of this kind."""

    def show_nothing(self) -> None:
        """There is no answer; only a face that asks for more than the text is shown then."""


class ReadOnlyText(QTextEdit):
    """A text that can be read and copied, as high as it is, up to a limit."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setReadOnly(True)
        self.setAcceptRichText(False)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFont(font("body"))
        self.setTabChangesFocus(True)
        self.document().documentLayout().documentSizeChanged.connect(self._fit)

    def _fit(self, size: QSizeF) -> None:
        self.setFixedHeight(min(HEIGHT, round(size.height()) + 4 * SPACE))
