"""Multiple choice in the window."""

from dataclasses import replace

from PySide6.QtWidgets import QLineEdit, QWidget

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.theme import SPACE
from app.timers import debounced
from app.translation import marked, tr
from app.widgets import layouts
from app.widgets.charts.bars import Bar, ProbabilityBars, percentage
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture, MarginPicture, PositionPicture
from app.widgets.text.labels import Text
from engine.messages.explore.prediction import Predicted

INITIAL_LINES = 4  # another one appears when the last is filled
MAX_LINES = 10
MAX_CHARACTERS = 10_000  # per choice
TYPING_PAUSE_MS = 150


class ChoicesView(PredictionView):
    """A line for each choice with its probability."""

    needs_choices = True

    def __init__(self) -> None:
        super().__init__()
        self.bars = ProbabilityBars(self.tr("Choices"))
        self.lines: list[QLineEdit] = []
        inputs = QWidget()
        self._fields = layouts.column(parent=inputs, spacing=2 * SPACE)
        self._pause = debounced(self, TYPING_PAUSE_MS, self._emit_choices)
        self.lay_out(self.bars, above=(Text(self.tr("Choices"), "strong"), inputs))
        for _ in range(INITIAL_LINES):
            self._add_line()
        self.show_empty()

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        ranked = prediction.predictions[0].ranked
        bars = [Bar(prediction.label, prediction.probability) for prediction in ranked]
        self.bars.show_bars([replace(bar, emphasised=not n) for n, bar in enumerate(bars)])
        self.verdict.setText(f"{ranked[0].label} · {percentage(ranked[0].probability)}")
        self.note.setText(self.tr("A second text above becomes the beginning of every choice."))
        self.verdict.show()
        self.bars.show()

    def show_empty(self) -> None:
        """Show no prediction: there are fewer than two choices."""
        self.verdict.hide()
        self.bars.hide()
        self.note.setText(self.tr("Type at least two choices; the text above comes first."))

    def show_choices(self, choices: tuple[str, ...]) -> None:
        while len(self.lines) < len(choices):
            self._add_line()
        for index, line in enumerate(self.lines):
            line.setText(choices[index] if index < len(choices) else "")

    def _add_line(self) -> None:
        line = QLineEdit()
        line.setMaxLength(MAX_CHARACTERS)
        name = self.tr("Choice {0}").format(len(self.lines) + 1)
        line.setPlaceholderText(name)
        line.setAccessibleName(name)
        line.textEdited.connect(lambda _: self._on_edited())
        self._fields.addWidget(line)
        self.lines.append(line)

    def _on_edited(self) -> None:
        if self.lines[-1].text() and len(self.lines) < MAX_LINES:
            self._add_line()
        self._pause.start()

    def _emit_choices(self) -> None:
        self.choices_typed.emit(tuple(line.text() for line in self.lines if line.text().strip()))


class MultipleChoicePart(TaskPart):
    kind = "multiple_choice"
    view = ChoicesView
    pictures = (PositionPicture, MarginPicture, CoveragePicture, LengthPicture)
    purpose = marked("A text and several choices: which one fits? Also for quiz questions.")
    scene = Scene("[CLS] she sang [SEP] a song [SEP]", 4, 0, marked("score"), "a song, not a tree")

    def outputs(self, count: int) -> str:
        return tr("multiple-choice head")
