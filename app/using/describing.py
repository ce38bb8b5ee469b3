"""Labels described in words, tried on the typed text with a sentence encoder (zero-shot)."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.studio import Studio
from app.tasks.prediction_view import PredictionInput
from app.tasks.text_classification import ClassesView
from app.theme import SPACE
from app.timers import debounced
from app.translation import translated
from app.using.trying_view import TYPING_PAUSE_MS
from app.widgets import layouts
from app.widgets.help import HelpButton
from app.widgets.text.labels import Text, height_of_lines
from engine.messages.explore.prediction import PredictByDescriptions, Predicted
from engine.messages.question import Answer, Refused

BOX_LINES = 4
MAX_DESCRIPTIONS = 100


class DescribingState(QObject):
    """The label of the typed text by descriptions. No widgets.

    Signals:
        changed: any part of the state.
    """

    changed = Signal()

    def __init__(self, studio: Studio, checkpoint: Path) -> None:
        super().__init__()
        self._explorer, self._checkpoint = studio.explorer, checkpoint
        self.text = ""
        self.descriptions: tuple[str, ...] = ()
        self.predicted: Predicted | None = None
        self.problem: Refused | None = None
        self._question = 0
        self._explorer.answered.connect(self._on_answer)

    def set_text(self, text: str) -> None:
        self.text = text
        self._ask()

    def describe(self, lines: str) -> None:
        """Use the described labels, one in each line."""
        described = tuple(line.strip() for line in lines.splitlines() if line.strip())
        self.descriptions = described[:MAX_DESCRIPTIONS]
        self._ask()

    def _ask(self) -> None:
        self._question, self.problem = 0, None
        if self.text.strip() and len(self.descriptions) > 1:
            self._question = self._explorer.ask(
                PredictByDescriptions(
                    checkpoint=self._checkpoint, text=self.text, descriptions=self.descriptions
                )
            )
        else:
            self.predicted = None
            self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._question or not self._question or not answer.is_final:
            return
        self._question = 0
        self.predicted = answer if isinstance(answer, Predicted) else None
        self.problem = answer if isinstance(answer, Refused) else None
        self.changed.emit()


class DescribingView(QWidget):
    """A box with a description of each label, and the probabilities of the labels."""

    def __init__(self, state: DescribingState) -> None:
        super().__init__()
        self.state = state
        self.box = QPlainTextEdit()
        self.box.setAccessibleName(self.tr("Labels with descriptions"))
        self.box.setPlaceholderText(
            self.tr("sport: matches, players and results\npolitics: elections and governments")
        )
        self.box.setTabChangesFocus(True)
        self.box.document().setDocumentMargin(SPACE / 2)
        self.box.setFixedHeight(height_of_lines(self.box, BOX_LINES))
        pause = debounced(self, TYPING_PAUSE_MS, lambda: state.describe(self.box.toPlainText()))
        self.box.textChanged.connect(pause.start)
        self.status = Text("", "muted")
        self.prediction = ClassesView()
        self.prediction.note.hide()  # it is about masked tokens
        head = layouts.row(
            Text(self.tr("Labels by description"), "strong", wraps=False),
            HelpButton("sentence-encoders"),
            layouts.STRETCH,
            spacing=2 * SPACE,
        )
        layouts.column(
            head,
            self.box,
            self.status,
            self.prediction,
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 4 * SPACE, 0, 0),
        )
        state.changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        state = self.state
        if state.predicted is not None:
            self.prediction.show_prediction(state.predicted, PredictionInput(state.text))
        self.prediction.setVisible(state.predicted is not None)
        self.status.setText(self._status())
        self.status.set_style("bad" if state.problem else "muted")
        self.status.setVisible(bool(self.status.text()))

    def _status(self) -> str:
        if self.state.problem is not None:
            return translated(self.state.problem.phrase)
        if self.state.predicted is not None:
            return ""
        return self.tr(
            "Write a label with a description in each line; the first text gets the nearest one. "
            "No label is trained."
        )
