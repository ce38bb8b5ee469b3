"""Which of several endings fits: typed here, ranked below."""

from dataclasses import replace

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLineEdit, QVBoxLayout, QWidget

from app.pages.explore.panels.predictions.face import Face
from app.pages.explore.panels.predictions.state import PredictionsState
from app.pages.explore.side import MOST_CHARACTERS
from app.pages.explore.study import TYPING_PAUSE
from app.theme import SPACE
from app.widgets.bars import Bar, Bars, chance
from app.widgets.text import Text
from engine.messages.explore.prediction import Predicted

FIELDS = 4  # at first; another one comes when the last is typed in
MOST = 10


class Choices(Face):
    """A line for each ending, and how likely each of them is."""

    def __init__(self, state: PredictionsState) -> None:
        super().__init__(state)
        self.bars = Bars(self.tr("Endings"))
        self.lines: list[QLineEdit] = []
        typed = QWidget()
        self._fields = QVBoxLayout(typed)
        self._fields.setContentsMargins(0, 0, 0, 0)
        self._fields.setSpacing(2 * SPACE)
        self._pause = QTimer(self, singleShot=True, interval=TYPING_PAUSE)
        self._pause.timeout.connect(self._say)
        asked = Text(self.tr("Endings to choose from"), "strong")
        self.lay_out(self.bars, above=(asked, typed))
        for number in range(max(FIELDS, len(state.endings))):
            self._add_line(state.endings[number] if number < len(state.endings) else "")
        self.show_nothing()

    def show_answer(self, answer: Predicted) -> None:
        ranked = answer.predictions[0].ranked
        bars = [Bar(one.label, one.probability) for one in ranked]
        self.bars.show_bars([replace(bar, emphasised=not n) for n, bar in enumerate(bars)])
        self.verdict.setText(f"{ranked[0].label} · {chance(ranked[0].probability)}")
        self.note.setText(self.tr("A second text above stands at the beginning of every ending."))
        self.verdict.show()
        self.bars.show()

    def show_nothing(self) -> None:
        """There is no answer, because there are not two endings yet."""
        self.verdict.hide()
        self.bars.hide()
        self.note.setText(self.tr("Type two endings at the least; the text above comes first."))

    def _add_line(self, text: str = "") -> None:
        line = QLineEdit(text)
        line.setMaxLength(MOST_CHARACTERS)
        name = self.tr("Ending {0}").format(len(self.lines) + 1)
        line.setPlaceholderText(name)
        line.setAccessibleName(name)
        line.textEdited.connect(lambda _: self._on_edited())
        self._fields.addWidget(line)
        self.lines.append(line)

    def _on_edited(self) -> None:
        if self.lines[-1].text() and len(self.lines) < MOST:
            self._add_line()
        self._pause.start()

    def _say(self) -> None:
        self.state.set_endings(tuple(line.text() for line in self.lines if line.text().strip()))
