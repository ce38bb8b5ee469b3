"""Word effects, their faithfulness and edits of the text."""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QSignalBlocker
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QWidget

from app.notices import Notices
from app.pages.explore.panel import Panel
from app.pages.explore.panels.attribution.choice import ENDS, Choice, has_target
from app.pages.explore.panels.attribution.edits import EditsState, EditsView
from app.pages.explore.panels.attribution.faithfulness import FaithfulnessState, FaithfulnessView
from app.pages.explore.panels.attribution.figure import figure_of
from app.pages.explore.panels.attribution.state import AttributionState
from app.pages.explore.panels.attribution.texts import BASELINES, METHODS, explained_text, note
from app.pages.explore.study import TYPING_PAUSE_MS
from app.theme import SPACE
from app.timers import debounced
from app.translation import in_language
from app.widgets import layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.forms.controls import ComboBox
from app.widgets.page import scrolling
from app.widgets.text.labels import OneLine, Text, visible
from app.widgets.text.numbers import count
from app.widgets.text.word_effects import MOST_WORDS, Words
from app.widgets.text.wrapping import Wrapping
from engine.messages.explore.attribution import Attributed
from engine.messages.explore.occlusion import WordEffect

VISIBLE_LABELS = 20  # of an open list
MIN_HEIGHT = 20 * SPACE  # of the words, which scroll
MASK = "mask"  # box entry for the prediction at a mask


class AttributionView(Panel):
    def __init__(
        self,
        states: tuple[AttributionState, AttributionState],
        faithfulness: FaithfulnessState,
        edits: EditsState,
        notices: Notices,
        parent: QWidget | None = None,
    ) -> None:
        queries = [*(state.query for state in states), faithfulness.query, edits.query]
        super().__init__(queries, parent)
        self._states, self._choice = states, states[0].choice
        self.study = states[0].study
        self.controls = Controls(self._choice)
        self.sides = tuple(OneSide(state, notices) for state in states)
        self.faithfulness = FaithfulnessView(faithfulness)
        self.edits = EditsView(edits)
        lower = layouts.row((self.edits, 3), (self.faithfulness, 2), spacing=6 * SPACE)
        column = layouts.column(
            self.controls, parent=self, spacing=2 * SPACE, margins=(0, SPACE, 0, 0)
        )
        for side in self.sides:
            column.addWidget(side)
        column.addLayout(lower, 1)
        self.study.sides_changed.connect(self.show_state)
        self.study.model_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        self.sides[1].setVisible(self.study.is_compared)
        for side in self.sides:
            side.show_state()


class Controls(Wrapping):
    """Boxes for the target and the method."""

    def __init__(self, choice: Choice) -> None:
        super().__init__()
        self._choice = choice
        self._offered: list[tuple[str, str]] | None = None
        self.target = self._box(self.tr("What is explained"))
        self.against = self._box(self.tr("Compared with"))
        self.method = self._box(self.tr("Method"))
        self.baseline = self._box(self.tr("Baseline of the path"))
        self.token, self.other = QLineEdit(), QLineEdit()
        self.token.setAccessibleName(self.tr("Token that is explained"))
        self.token.setPlaceholderText(self.tr("top prediction"))
        self.other.setAccessibleName(self.tr("Token that it is compared with"))
        self.other.setPlaceholderText(self.tr("rather than …"))
        for line in (self.token, self.other):
            line.setFixedWidth(30 * SPACE)
        explain = Text(self.tr("Ex&plain"), "strong", wraps=False)
        explain.setBuddy(self.target)
        self.add(explain, self.target, self.token)
        self.rather = self.add(Text(self.tr("rather than"), "muted", wraps=False), self.against)
        self.other_part = self.add(self.other)
        by = Text(self.tr("&by"), "muted", wraps=False)
        by.setBuddy(self.method)
        self.add(by, self.method)
        self.base_part = self.add(self.baseline)
        for method, title in METHODS.items():
            self.method.addItem(in_language(title), method)
        for baseline, title in BASELINES.items():
            self.baseline.addItem(in_language(title), baseline)
        self._pause = debounced(self, 2 * TYPING_PAUSE_MS, self._on_typed)
        self.target.activated.connect(lambda _: self._on_target(self.target.currentData()))
        self.against.activated.connect(lambda _: choice.set(against=self.against.currentData()))
        self.method.activated.connect(lambda _: choice.set(method=self.method.currentData()))
        self.baseline.activated.connect(lambda _: choice.set(baseline=self.baseline.currentData()))
        for line in (self.token, self.other):
            line.textEdited.connect(lambda _: self._pause.start())
            line.returnPressed.connect(self._on_typed)
        choice.changed.connect(self.show_state)
        choice.study.model_changed.connect(self.show_state)
        self.show_state()

    def _box(self, name: str) -> QComboBox:
        box = ComboBox()
        box.setAccessibleName(name)
        box.setMaxVisibleItems(VISIBLE_LABELS)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        box.setMaximumWidth(47 * SPACE)
        return box

    def _on_target(self, wanted: str) -> None:
        choice, side = self._choice, self._choice.study.both[0]
        choice.explain_mask(wanted == MASK)
        if wanted == MASK:
            return
        if choice.finds_spans(side):
            choice.set(end=wanted.removeprefix("="))
        elif choice.labels(side):
            choice.study.choose_label(wanted.removeprefix("="))

    def _on_typed(self) -> None:
        self._pause.stop()
        self._choice.set(token=self.token.text(), against=self.other.text())

    def show_state(self) -> None:
        choice = self._choice
        side = choice.study.both[0]
        is_of_mask = choice.is_of_mask(side)
        offered = self._targets()
        if offered != self._offered:
            self._offered = offered
            with QSignalBlocker(self.target), QSignalBlocker(self.against):
                self.target.clear()
                self.against.clear()
                self.against.addItem(self.tr("nothing"), "")
                for text, data in offered:
                    self.target.addItem(text, data)
                for label in choice.labels(side):
                    self.against.addItem(visible(label), label)
        self._choose(self.target, self._chosen())
        self._choose(self.against, choice.against)
        self._choose(self.method, choice.method)
        self._choose(self.baseline, choice.baseline)
        spans = choice.finds_spans(side)
        self.token.setVisible(is_of_mask)
        self.other_part.setVisible(is_of_mask)
        self.rather.setVisible(not is_of_mask and len(choice.labels(side)) > 1 and not spans)
        self.base_part.setVisible(choice.method == "integrated_gradients")
        if is_of_mask and not self._pause.isActive():
            for line, text in ((self.token, choice.token), (self.other, choice.against)):
                if line.text().strip() != text:
                    line.setText(text)

    def _choose(self, box: QComboBox, data: str) -> None:
        with QSignalBlocker(box):
            box.setCurrentIndex(max(0, box.findData(data)))

    def _chosen(self) -> str:
        choice, study = self._choice, self._choice.study
        side = study.both[0]
        if choice.is_of_mask(side):
            return MASK
        if choice.finds_spans(side):
            return f"={choice.end}"
        return f"={study.label or ''}"

    def _targets(self) -> list[tuple[str, str]]:
        """Texts and data of the possible targets; data of a class begin with “=”."""
        choice = self._choice
        side = choice.study.both[0]
        found: list[tuple[str, str]] = []
        if has_target(side):
            if choice.finds_spans(side):
                names = (self.tr("the start of the answer"), self.tr("the end of the answer"))
                found += [(name, f"={end}") for name, end in zip(names, ENDS, strict=True)]
            elif choice.labels(side):
                found.append((self.tr("the prediction"), "="))
                found += [(visible(label), f"={label}") for label in choice.labels(side)]
            else:
                found.append((self.tr("the predicted number"), "="))
        if side.has_head("mlm"):
            found.append((self.tr("the token at a mask"), MASK))
        return found


class OneSide(QWidget):
    """Target, words with effects, and the note of one side."""

    def __init__(self, state: AttributionState, notices: Notices) -> None:
        super().__init__()
        self._state = state
        self.title = OneLine("", "strong")
        self.keep = FigureButton(partial(figure_of, state), notices)
        self.words = Words(self.tr("Words and their effects"), picks=True)
        self.note = Text("", "small")
        self.keep.offer_on(self.words)
        self.area = scrolling(self.words)
        head = layouts.row((self.title, 1), self.keep)
        layouts.column(head, (self.area, 1), self.note, parent=self, spacing=SPACE)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.words.word_picked.connect(self._on_word)
        state.changed.connect(self.show_state)
        state.study.picked_changed.connect(lambda _: self.show_state())
        self.show_state()

    def _on_word(self, number: int) -> None:
        token = self._token(number)
        if token >= 0:
            study = self._state.study
            study.pick(study.from_side(self._state.side.number, token))

    def _token(self, number: int) -> int:
        """First token of a displayed word, or -1."""
        answer, side = self._state.answer, self._state.side
        words = answer.words if answer is not None else ()
        if number >= len(words):
            return -1
        word = words[number]
        return next(
            (
                n
                for n, token in enumerate(side.tokens)
                if not token.special and (token.segment, token.start) == (word.segment, word.start)
            ),
            -1,
        )

    def show_state(self) -> None:
        state = self._state
        answer = state.answer
        words: Sequence[WordEffect] = answer.words if answer is not None else ()
        self.words.show_words(words, self._picked(answer), state.largest)
        self._fit()
        self.title.setText(self._title(answer))
        self.note.setText(self._note(answer))
        self.keep.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Give the words the height they need; they scroll if there is less."""
        need = self.words.heightForWidth(max(1, self.area.viewport().width()))
        self.area.setMinimumHeight(min(need, MIN_HEIGHT))
        self.area.setMaximumHeight(max(1, need))

    def _picked(self, answer: Attributed | None) -> int:
        """Index of the selected token's word, or -1."""
        study, side = self._state.study, self._state.side
        picked = study.on_side(side.number, study.picked)
        if answer is None or not 0 <= picked < len(side.tokens):
            return -1
        token = side.tokens[picked]
        return next(
            (
                n
                for n, word in enumerate(answer.words)
                if word.segment == token.segment and word.start <= token.start < word.end
            ),
            -1,
        )

    def _title(self, answer: Attributed | None) -> str:
        state, asked = self._state, self._state.answered
        text = explained_text(answer, asked.head) if answer is not None and asked else ""
        model = state.side.model
        if state.study.is_compared and model is not None:
            text = f"{model.name} · {text}" if text else model.name
        return text

    def _note(self, answer: Attributed | None) -> str:
        state, asked = self._state, self._state.answered
        if state.problem:
            return state.problem
        if state.asked is None:
            if state.choice.is_of_mask(state.side):
                return self.tr("Double-click a word above to mask it: its prediction is explained.")
            return ""
        if answer is None or asked is None:
            return self.tr("Running the model …")
        if not answer.words:
            return self.tr("There is no word to explain it by.")
        if answer.next is not None:
            return self.tr("{0} of {1} computed …").format(count(answer.done), count(answer.points))
        text = note(answer, asked)
        if len(answer.words) > MOST_WORDS:
            text += " " + self.tr("The first %Ln word(s) are shown.", "", MOST_WORDS)
        return text
