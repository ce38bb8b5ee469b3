"""Base of the widgets that show predictions of a task."""

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

NARROW, WIDE = 180 * SPACE, 220 * SPACE  # card widths
TEXT_HEIGHT = 60 * SPACE  # longer texts scroll


@dataclass(frozen=True)
class PredictionInput:
    """Input of a prediction: the texts and the labels of the model."""

    text: str
    pair: str | None = None
    labels: tuple[str, ...] = ()


class PredictionView(QWidget):
    """Shows predictions of one task: a card with `verdict`, further parts, and `note`.

    Signals:
        choices_typed: tuple of str, the choices; only if `needs_choices`.
    """

    choices_typed = Signal(tuple)
    needs_choices = False

    def __init__(self, style: TextStyle = "heading") -> None:
        super().__init__()
        self.verdict = OneLine("", style)
        self.note = Text("", "muted")

    def lay_out(self, *parts: QWidget, above: Sequence[QWidget] = (), width: int = NARROW) -> None:
        """Make the card; called once by each view."""
        card = Card(padding=5 * SPACE)
        card.setMaximumWidth(width)
        for part in (*above, self.verdict, *parts, self.note):
            card.body.addWidget(part)
        layouts.column(card, layouts.STRETCH, parent=self)

    @abstractmethod
    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        """Show a prediction of this task."""

    def show_empty(self) -> None:
        """Show no prediction; called only for views that need more than the text."""

    def show_choices(self, choices: tuple[str, ...]) -> None:
        """Show choices as if typed; only if `needs_choices`."""


class ReadOnlyText(QTextEdit):
    """Read-only text that can be copied; as high as its content, up to TEXT_HEIGHT."""

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
