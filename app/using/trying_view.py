"""Text box with a live prediction and the words that decided it."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from app.tasks import view_class
from app.tasks.prediction_view import PredictionInput
from app.theme import SPACE
from app.timers import debounced
from app.translation import translated
from app.using.trying_state import TryingState
from app.widgets import layouts
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text, height_of_lines, one_line
from app.widgets.text.passages_view import PassagesView
from app.widgets.text.word_effects import WordRow, tint_effects
from engine.config.tasks import TASKS, get_head

TYPING_PAUSE_MS = 150  # as on the Explore page
BOX_LINES = 3  # longer texts scroll


class TryingView(QWidget):
    """Prediction of a model for typed text.

    Signals:
        settled: the first text, after a pause in typing.
    """

    settled = Signal(str)

    def __init__(self, state: TryingState, labels: tuple[str, ...]) -> None:
        super().__init__()
        self._state, self._labels = state, labels
        self.prediction = view_class(state.task)()
        self.prediction.choices_typed.connect(state.set_endings)
        self.status = Text("", "muted")
        self.passages_view = PassagesView()
        self.passages_view.chosen.connect(state.choose_passage)
        self.words_title = Text("", "strong")
        self.words = WordRow(self.tr("Words and their effects"))
        self.words_note = Text("", "muted")
        first, second, asks_pair = self._names()
        self._pause = debounced(self, TYPING_PAUSE_MS, self._settle)
        self.boxes: dict[str, list[QPlainTextEdit]] = {}
        column = layouts.column(parent=self, spacing=3 * SPACE)
        for role, title in (("text", first), ("pair", second)):
            joined = state.joined.get(role)
            names = joined.columns if joined is not None else (title,)
            self.boxes[role] = [self._box(name) for name in names]
            for name, box in zip(names, self.boxes[role], strict=True):
                if joined is None:
                    column.addWidget(box)
                else:
                    label = Text(one_line(name, 100), "muted")
                    layouts.extend(column, layouts.column(label, box, spacing=SPACE))
        self.text, self.pair = (boxes[0] for boxes in self.boxes.values())
        set_shown(self.pair, asks_pair or "pair" in state.joined)
        for part in (
            self.status,
            self.prediction,
            self.passages_view,
            self.words_title,
            self.words,
            self.words_note,
        ):
            column.addWidget(part)
        column.addStretch(1)
        state.changed.connect(self.show_state)
        self.show_state()

    def _names(self) -> tuple[str, str, bool]:
        head, info = get_head(self._state.task), TASKS[self._state.task].info
        if head.finds_spans:
            return self.tr("Question"), self.tr("Passage"), True
        if head.scores_choices:
            return self.tr("Context"), self.tr("Start of each choice (optional)"), True
        reads_pairs = "pair" in (*info.reads, *info.may_read)
        return self.tr("Text"), self.tr("Second text"), reads_pairs

    def _box(self, name: str) -> QPlainTextEdit:
        box = QPlainTextEdit()
        box.setAccessibleName(name)
        box.setPlaceholderText(name)
        box.setTabChangesFocus(True)
        box.document().setDocumentMargin(SPACE / 2)
        box.setFixedHeight(height_of_lines(box, BOX_LINES))
        box.textChanged.connect(self._pause.start)
        return box

    def _typed(self, role: str) -> str:
        cells = [box.toPlainText() for box in self.boxes[role]]
        joined = self._state.joined.get(role)
        return cells[0] if joined is None else joined.join(cells)

    def _settle(self) -> None:
        self._state.type_in(self._typed("text"), self._typed("pair"))
        self.settled.emit(self._state.text)

    def show_state(self) -> None:
        state = self._state
        shown = state.predicted is not None
        if state.predicted is not None:
            pair = state.asked_pair
            self.prediction.show_prediction(
                state.predicted, PredictionInput(state.text, pair, self._labels)
            )
        elif self.prediction.needs_choices:
            self.prediction.show_empty()
        self.prediction.setVisible(shown or self.prediction.needs_choices)
        self.status.setText(self._status())
        self.status.setVisible(bool(self.status.text()))
        is_unsure = bool(self.status.text()) and shown
        self.status.set_style("bad" if state.problem else "warn" if is_unsure else "muted")
        passages = state.predicted.passages if state.predicted is not None else ()
        set_shown(self.passages_view, bool(passages))
        if passages:
            self.passages_view.show_passages((state.text, state.pair), passages, state.passage)
        has_words = bool(state.words)
        self.words_title.setText(self._title())
        self.words_title.setVisible(has_words)
        self.words.show_words(tint_effects(state.words))
        self.words.setVisible(has_words)
        self.words_note.setText(self._note())
        self.words_note.setVisible(bool(self.words_note.text()))

    def _status(self) -> str:
        if self._state.problem is not None:
            return translated(self._state.problem.phrase)
        if self._state.needs_pair:
            return self.tr("Type two texts; their similarity is updated while you type.")
        predicted = self._state.predicted
        if predicted is None and not (self._state.text.strip() or self._state.pair.strip()):
            return self.tr("Type or paste a text; the prediction is updated while you type.")
        certainty = predicted.certainty if predicted is not None else None
        if predicted is not None and certainty is not None and certainty < predicted.unsure_below:
            return self.tr("Unsure: a probability of {0} is below the threshold of {1}.").format(
                numbers.percent(certainty), numbers.percent(predicted.unsure_below)
            )
        return ""

    def _title(self) -> str:
        if self._state.passage >= 0:
            return self.tr("Effect of each word in passage {0}").format(self._state.passage + 1)
        if not self._state.explained_label:
            return self.tr("Effect of each word on the number")
        return self.tr("Effect of each word on “{0}”").format(self._state.explained_label)

    def _note(self) -> str:
        if self._state.no_words_reason:
            return self._state.no_words_reason
        if not self._state.words:
            return ""
        if self._state.remaining:
            return self.tr("%Ln word(s) left …", "", self._state.remaining)
        return self.tr(
            "Fall of the logit when the word is replaced by [MASK]: above 0, the word "
            "supports the prediction; below 0, it opposes it."
        )
