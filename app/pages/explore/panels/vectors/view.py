"""The texts, the cosines of one height, and the means of all heights."""

from functools import partial

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QPlainTextEdit, QVBoxLayout, QWidget

from app.notices import Notices
from app.pages.explore.panel import Panel
from app.pages.explore.panels.vectors.figure import figure_of
from app.pages.explore.panels.vectors.state import VectorsState
from app.pages.explore.study import TYPING_PAUSE_MS
from app.theme import SPACE
from app.widgets.chips import painted
from app.widgets.figure_menu import FigureButton
from app.widgets.numbers import decimal
from app.widgets.numbers_table import NumbersTable
from app.widgets.text import OneLine, Text

DIGITS = 3


class VectorsView(Panel):
    """Shows a VectorsState; a row of the table of heights chooses the height."""

    def __init__(
        self, state: VectorsState, notices: Notices, parent: QWidget | None = None
    ) -> None:
        super().__init__([state.query], parent)
        self._state = state
        self.word, self.texts = QLineEdit(), QPlainTextEdit()
        self.word.setAccessibleName(self.tr("Word to compare"))
        self.word.setPlaceholderText(self.tr("the selected word"))
        self.texts.setAccessibleName(self.tr("Other texts"))
        self.texts.setPlaceholderText(self.tr("Other texts with this word, one on each line"))
        self.texts.setTabChangesFocus(True)
        self.texts.setMinimumHeight(12 * SPACE)
        self.title, self.note = OneLine("", "strong"), Text("", "small")
        self.keep = FigureButton(partial(figure_of, state), notices)
        self.matrix = NumbersTable(self.tr("Cosines"), 1)
        self.heights = NumbersTable(self.tr("Layers"), 1)
        self.keep.offer_on(self.matrix)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(2 * TYPING_PAUSE_MS)
        self._pause.timeout.connect(self._on_typed)
        self.word.textEdited.connect(lambda _: self._pause.start())
        self.word.returnPressed.connect(self._on_typed)
        self.texts.textChanged.connect(self._pause.start)
        label = Text(self.tr("Compa&re"), "strong", wraps=False)
        label.setBuddy(self.word)
        line = QHBoxLayout()
        line.setSpacing(SPACE)
        line.addWidget(label)
        line.addWidget(self.word, 1)
        left, right = QVBoxLayout(), QVBoxLayout()
        left.setSpacing(SPACE)
        right.setSpacing(SPACE)
        left.addLayout(line)
        left.addWidget(self.texts, 2)
        left.addWidget(self.heights, 3)
        head = QHBoxLayout()
        head.addWidget(self.title, 1)
        head.addWidget(self.keep)
        right.addLayout(head)
        right.addWidget(self.matrix, 1)
        right.addWidget(self.note)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, SPACE, 0, 0)
        row.setSpacing(6 * SPACE)
        row.addLayout(left, 4)
        row.addLayout(right, 5)
        self.heights.row_picked.connect(state.set_height)
        state.changed.connect(self.show_state)
        state.height_changed.connect(self.show_state)
        state.study.picked_changed.connect(lambda _: self.show_state())
        self.show_state()

    def _on_typed(self) -> None:
        self._pause.stop()
        self._state.set_word(self.word.text())
        self._state.set_texts(self.texts.toPlainText())

    def show_state(self) -> None:
        """Bring the tables in line with the state."""
        state = self._state
        answer, shown = state.answer, state.shown
        self.heights.show_rows(*self._height_rows())
        if answer is not None and self.heights.currentIndex().row() != state.height:
            self.heights.blockSignals(True)
            self.heights.selectRow(state.height)
            self.heights.blockSignals(False)
        names = [painted(name) for name in state.names()]
        header = [self.tr("Place"), *(str(number + 1) for number in range(len(names)))]
        rows = [
            [f"{number + 1}  {name}", *(decimal(value, DIGITS) for value in cosines)]
            for number, (name, cosines) in enumerate(
                zip(names, shown.cosines if shown is not None else (), strict=True)
            )
        ]
        self.matrix.show_rows(header if rows else [], rows)
        self.title.setText(self._title())
        self.note.setText(self._note())
        self.keep.refresh()

    def _title(self) -> str:
        answer = self._state.answer
        if answer is None:
            return ""
        text = self.tr("“{0}” at layer {1}: cosines between %Ln place(s)", "", len(answer.places))
        return text.format(painted(answer.word), self._state.height)

    def _height_rows(self) -> tuple[list[str], list[list[str]]]:
        answer = self._state.answer
        if answer is None:
            return [], []
        header = [
            self.tr("Layer"),
            self.tr("Mean"),
            self.tr("Random"),
            self.tr("Corrected"),
            self.tr("To static"),
        ]
        rows = []
        for number, height in enumerate(answer.heights):
            mean = height.mean
            static = sum(height.static) / len(height.static) if height.static else None
            rows.append(
                [
                    self.tr("Embeddings") if not number else self.tr("Layer {0}").format(number),
                    "–" if mean is None else decimal(mean, DIGITS),
                    decimal(height.random, DIGITS),
                    "–" if mean is None else decimal(mean - height.random, DIGITS),
                    "–" if static is None else decimal(static, DIGITS),
                ]
            )
        return header, rows

    def _note(self) -> str:
        state = self._state
        if state.problem:
            return state.problem
        if not state.word:
            return self.tr("Select a word of the text above, or type one.")
        answer = state.answer
        if answer is None:
            return self.tr("Running the model …")
        parts = []
        if len(answer.places) < 2:
            parts.append(self.tr("Type other texts with this word to compare it."))
        if answer.missing:
            parts.append(self.tr("Without the word: %Ln text(s).", "", len(answer.missing)))
        parts.append(
            self.tr(
                "Random: the mean of 1,000 pairs of tokens of different texts, since all vectors "
                "of a layer point the same way to some degree. Corrected: the mean minus that. "
                "Static: the rows of the token embedding."
            )
        )
        return " ".join(parts)
