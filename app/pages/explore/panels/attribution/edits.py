"""“What if?”: drop, swap or replace words and score each edit separately."""

from dataclasses import dataclass

from PySide6.QtCore import QModelIndex, QObject, Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from app import background
from app.explorer import Explorer
from app.library import ModelEntry, home_models
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput, TextInput, clean_text
from app.pages.explore.panels.attribution.state import Choice
from app.pages.explore.word_effects import WordEffectsState
from app.theme import SPACE, px
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.tables import NumbersTable
from app.widgets.text.chips import token_text
from app.widgets.text.labels import Text
from app.widgets.text.numbers import decimal, sign
from engine.files.home import Home
from engine.messages.explore.attribution import (
    Edit,
    EditScored,
    EditsScored,
    ScoreEdits,
    SuggestWords,
    WordsSuggested,
)
from engine.messages.question import Answer, Refused

MAX_ROWS = 100  # edits of one text


@dataclass(frozen=True)
class Word:
    """Character span of a word and of the word after it."""

    segment: int
    start: int
    end: int
    next: tuple[int, int] | None = None  # the next word of the same text


class EditsState(QObject):
    """The edits of the current text and their scores.

    Signals:
        changed: the edits, their scores, the selected word or the error changed.
    """

    changed = Signal()

    def __init__(
        self, attribution: WordEffectsState, choice: Choice, explorer: Explorer, home: Home
    ) -> None:
        super().__init__(attribution)
        self.attribution, self.explore, self._choice = attribution, attribution.explore, choice
        self.problem = ""
        self._explorer, self._home = explorer, home
        self._edits: list[tuple[str, Edit]] = []  # with their descriptions
        self._key: object = None  # checkpoint and texts that the edits belong to
        self._suggestion_id = 0  # of the open question, or 0
        self._suggestion_word: Word | None = None
        self.query = LiveQuery(attribution.explore, explorer, self._question)
        self.query.changed.connect(self.changed)
        choice.changed.connect(self.query.invalidate)
        self.explore.picked_changed.connect(lambda _: self._on_picked())
        self.explore.settled.connect(self.changed)
        explorer.answered.connect(self._on_answer)

    # ── state ────────────────────────────────────────────────────────────────────────────────

    @property
    def word(self) -> Word | None:
        side, picked = self.attribution.side, self.explore.picked
        if not side.is_tokenized or not 0 <= picked < len(side.tokens):
            return None
        token = side.tokens[picked]
        if token.special:
            return None
        indices = side.word_tokens(picked)
        start, end = side.word_span(picked)
        after = indices[-1] + 1
        following = None
        if after < len(side.tokens) and side.tokens[after].segment == token.segment:
            following = None if side.tokens[after].special else side.word_span(after)
        return Word(token.segment, start, end, following)

    def source_text(self, word: Word) -> str:
        return self.attribution.side.texts[word.segment][word.start : word.end]

    @property
    def is_suggesting(self) -> bool:
        return self._suggestion_id > 0

    @property
    def answer(self) -> EditsScored | None:
        answer = self.query.answer
        if isinstance(answer, EditsScored) and len(answer.edits) == len(self._current_edits()):
            return answer
        return None

    def rows(self) -> list[tuple[str, EditScored | None]]:
        """Description of each edit with its score, None until it is known."""
        answer, edits = self.answer, self._current_edits()
        scored = answer.edits if answer is not None else (None,) * len(edits)
        return [(name, score) for (name, _), score in zip(edits, scored, strict=True)]

    # ── user actions ─────────────────────────────────────────────────────────────────────────

    def drop(self) -> None:
        """Remove the selected word and one adjacent space."""
        word = self.word
        if word is None:
            return
        text = self.attribution.side.texts[word.segment]
        start, end = word.start, word.end
        if text[end : end + 1].isspace():
            end += 1
        elif text[max(0, start - 1) : start].isspace():
            start -= 1
        name = self.tr("Drop “{0}”").format(token_text(self.source_text(word)))
        self._add([(name, Edit(segment=word.segment, start=start, end=end))])

    def swap(self) -> None:
        word = self.word
        if word is None or word.next is None:
            return
        text = self.attribution.side.texts[word.segment]
        first, between, second = (
            text[word.start : word.end],
            text[word.end : word.next[0]],
            text[word.next[0] : word.next[1]],
        )
        name = self.tr("Swap “{0}” and “{1}”").format(token_text(first), token_text(second))
        edit = Edit(
            segment=word.segment,
            start=word.start,
            end=word.next[1],
            text=f"{second}{between}{first}",
        )
        self._add([(name, edit)])

    def replace(self, typed: str) -> None:
        word, new = self.word, clean_text(typed.strip())
        if word is not None and new:
            self._add([self._replacement(word, new)])

    def suggest(self) -> None:
        """Add the most likely replacements of the selected word, from this model's MLM head or from
        another model that has one."""
        if self.word is None:
            return
        self.problem = ""
        if self.attribution.side.has_head("mlm") and self.attribution.side.model is not None:
            self._ask(self.attribution.side.model)
        else:
            home = self._home
            background.run(self, lambda: home_models(home), self._on_models)

    def clear(self) -> None:
        self._edits = []
        self.query.invalidate()
        self.changed.emit()

    def show_input(self, row: int) -> None:
        scored = self.rows()[row][1]
        if scored is not None:
            self.explore.input_requested.emit(TextInput(scored.text, scored.pair))

    # ── updates ──────────────────────────────────────────────────────────────────────────────

    def _input_key(self) -> object:
        return self.attribution.side.checkpoint, self.attribution.side.texts

    def _current_edits(self) -> list[tuple[str, Edit]]:
        """Edits of the current text; changing the text clears them."""
        if self._key != self._input_key():
            self._key, self._edits, self.problem = self._input_key(), [], ""
        return self._edits

    def _add(self, new: list[tuple[str, Edit]]) -> None:
        known = self._current_edits()
        self._edits = [*known, *(edit for edit in new if edit not in known)][:MAX_ROWS]
        self.query.invalidate()
        self.changed.emit()

    def _replacement(self, word: Word, new: str) -> tuple[str, Edit]:
        name = self.tr("“{0}” → “{1}”").format(token_text(self.source_text(word)), token_text(new))
        return name, Edit(segment=word.segment, start=word.start, end=word.end, text=new)

    def _question(self, side: ModelInput) -> ScoreEdits | None:
        question = self.attribution.question
        edits = self._current_edits()
        target = self._choice.target(side)
        if question is None or target is None or not edits:
            return None
        return side.question(ScoreEdits, edits=tuple(edit for _, edit in edits), **target)

    def _on_picked(self) -> None:
        self.query.invalidate()  # the position of a tag follows the selection
        self.changed.emit()

    def _on_models(self, models: list[ModelEntry]) -> None:
        for model in models:
            if model.info is not None and "mlm" in model.info.task_heads:
                self._ask(model)
                return
        self.problem = self.tr("No model with an MLM head is available; import one.")
        self.changed.emit()

    def _ask(self, model: ModelEntry) -> None:
        word, side = self.word, self.attribution.side
        if word is None:
            return
        self._suggestion_word = word
        self._suggestion_id = self._explorer.ask(
            SuggestWords(
                checkpoint=model.path,
                text=side.text,
                pair=side.pair,
                segment=word.segment,
                start=word.start,
                end=word.end,
            )
        )
        self.changed.emit()

    def _on_answer(self, answer: Answer) -> None:
        if answer.to != self._suggestion_id or not self._suggestion_id or not answer.is_final:
            return
        self._suggestion_id = 0
        if isinstance(answer, Refused):
            self.problem = answer.phrase
        elif isinstance(answer, WordsSuggested) and self._suggestion_word == self.word:
            assert self._suggestion_word is not None
            self._add([self._replacement(self._suggestion_word, word) for word in answer.words])
        self.changed.emit()


class EditsView(QWidget):
    def __init__(self, state: EditsState) -> None:
        super().__init__()
        self._state = state
        self.title = Text("", "strong", wraps=False)
        self.drop = buttons.plain(self.tr("&Drop"), state.drop)
        self.swap = buttons.plain(self.tr("&Swap with the next"), state.swap)
        self.suggest = buttons.plain(self.tr("Su&ggest"), state.suggest, "sparkles")
        self.typed = QLineEdit()
        self.typed.setPlaceholderText(self.tr("Replace with …"))
        self.typed.setAccessibleName(self.tr("Replacement for the selected word"))
        self.typed.setMinimumWidth(px(24 * SPACE))
        self.typed.returnPressed.connect(self._on_typed)
        self.clear = buttons.icon_button("trash-2", self.tr("Remove all edits"), state.clear)
        self.table = NumbersTable(self.tr("Edits"), 1)
        self.note = Text("", "small")
        head = layouts.wrap(
            self.drop, self.swap, self.suggest, (self.typed, 1), self.clear, spacing=SPACE
        )
        layouts.column(
            self.title,
            head,
            (self.table, 100),
            self.note,
            layouts.STRETCH,
            parent=self,
            spacing=SPACE,
        )
        self.table.activated.connect(self._on_activated)
        state.changed.connect(self.show_state)
        self.show_state()

    def _on_typed(self) -> None:
        self._state.replace(self.typed.text())
        self.typed.clear()

    def _on_activated(self, index: QModelIndex) -> None:
        self._state.show_input(index.row())

    def show_state(self) -> None:
        state, word = self._state, self._state.word
        title = self.tr("Counterfactual edits: select a word")
        if word is not None:
            title = self.tr("Counterfactual edits of “{0}”").format(
                token_text(state.source_text(word))[:40]
            )
        self.title.setText(title)
        for part in (self.drop, self.suggest, self.typed):
            part.setEnabled(word is not None)
        self.suggest.setEnabled(word is not None and not state.is_suggesting)
        self.swap.setEnabled(word is not None and word.next is not None)
        rows = self._rows()
        self.table.show_rows(*rows)
        self.table.setVisible(bool(rows[1]))
        self.clear.setEnabled(bool(rows[1]))
        self.note.setText(self._note(bool(rows[1])))
        self.note.setVisible(bool(self.note.text()))

    def _rows(self) -> tuple[list[str], list[list[str]]]:
        answer, rows = self._state.answer, self._state.rows()
        if not rows:
            return [], []
        has_labels = answer is not None and bool(answer.predicted)
        header = [self.tr("Edit"), self.tr("Score"), self.tr("Change")]
        header += [self.tr("Prediction")] * has_labels
        before = answer.explained.score if answer is not None else 0.0
        cells = []
        for name, scored in rows:
            if scored is None:
                cells.append([name, "…", "…"])
            elif scored.problem:
                cells.append([f"{name}: {translated(scored.problem)}", "–", "–"])
            else:
                change = scored.score - before
                cells.append(
                    [name, decimal(scored.score, 3), f"{sign(change)}{decimal(abs(change), 3)}"]
                )
            if has_labels:
                cells[-1].append(token_text(scored.predicted) if scored is not None else "…")
        return header, cells

    def _note(self, has_rows: bool) -> str:
        state = self._state
        if state.problem or state.query.problem:
            return state.problem or state.query.problem
        if state.is_suggesting:
            return self.tr("Running the model …")
        if not has_rows:
            return ""
        return self.tr("Each edit is scored separately. Press Enter on a row to show its text.")
