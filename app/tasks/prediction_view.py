"""How the predictions of one task are shown."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QSizeF, Signal
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.theme import SPACE
from app.widgets import layouts
from app.widgets.page import Card
from app.widgets.text.labels import OneLine, Text, TextStyle, font
from engine.messages.explore.prediction import Predicted

NARROW, WIDE = 180 * SPACE, 220 * SPACE  # widths of cards
TEXT_HEIGHT = 60 * SPACE  # longer texts are scrolled


@dataclass(frozen=True)
class Given:
    """What a prediction was made of: the texts, and the labels that the model knows."""

    text: str
    pair: str | None = None
    labels: tuple[str, ...] = ()


class PredictionView(QWidget):
    """Shows the predictions of one task; made when the first of them comes.

    A card with a `verdict`, a `note` below, and between them what `lay_out` is given.

    Signals:
        choices_typed: tuple of str, what the model is to choose from; only of `asks_for_choices`.
    """

    choices_typed = Signal(tuple)
    asks_for_choices = False

    def __init__(self, style: TextStyle = "heading") -> None:
        super().__init__()
        self.verdict = OneLine("", style)
        self.note = Text("", "muted")

    def lay_out(self, *parts: QWidget, above: Sequence[QWidget] = (), width: int = NARROW) -> None:
        """Make the card; called once, by each view."""
        card = Card(padding=5 * SPACE)
        card.setMaximumWidth(width)
        for part in (*above, self.verdict, *parts, self.note):
            card.body.addWidget(part)
        layouts.column(card, layouts.STRETCH, parent=self)

    @abstractmethod
    def show_prediction(self, prediction: Predicted, given: Given) -> None:
        """Bring everything in line with a prediction for this task."""

    def show_nothing(self) -> None:
        """There is no prediction; only a view that asks for more than the text is shown then."""

    def show_choices(self, choices: tuple[str, ...]) -> None:
        """Show what is chosen from as if it had been typed; only of `asks_for_choices`."""


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
        self.setFixedHeight(min(TEXT_HEIGHT, round(size.height()) + 4 * SPACE))
