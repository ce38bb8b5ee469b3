"""Tokenizer of a model: a text and its three steps."""

from PySide6.QtWidgets import QLineEdit, QWidget

from app.pages.models.model.state import LONGEST_LINE, ModelState
from app.theme import SPACE
from app.timers import debounced
from app.widgets import layouts
from app.widgets.page import Card, scrolling
from app.widgets.text.labels import ReadText, Text
from app.widgets.text.token_row import TokenRow
from app.widgets.text.tokenizer_texts import step_helps
from engine.tokenizers.steps import Steps
from engine.tokenizers.tokenizer import Tokenizer

TYPING_DELAY_MS = 150  # ms after the last key


class TokenizerTab(QWidget):
    """A text and its three steps."""

    def __init__(self, state: ModelState, parent: QWidget) -> None:
        super().__init__(parent)
        self._unknown = -1
        self._ends = ""
        self._normalise, self._split, self._find = (Text("", "small") for _ in range(3))
        self.text = QLineEdit()
        self.text.setAccessibleName(self.tr("Text to tokenise"))
        self.text.setPlaceholderText(self.tr("Type a sentence"))
        self.text.setMaxLength(10_000)
        self.problem = Text("", "bad")
        self.normalised = ReadText(self.tr("Normalised text"), height=15 * SPACE)
        self.words = ReadText(self.tr("Words"), height=15 * SPACE)
        self.tokens = TokenRow(most=600, with_ids=True)
        self.count = Text("", "muted")
        inner = QWidget()
        layouts.column(
            _step(self.tr("1. Normalise"), self._normalise, self.normalised),
            _step(self.tr("2. Split"), self._split, self.words),
            _step(self.tr("3. Tokenise"), self._find, self.tokens, self.count),
            layouts.STRETCH,
            parent=inner,
            spacing=3 * SPACE,
        )
        layouts.column(
            self.text,
            self.problem,
            (scrolling(inner), 1),
            parent=self,
            spacing=3 * SPACE,
            margins=(0, 4 * SPACE, 0, 0),
        )
        pause = debounced(self, TYPING_DELAY_MS, lambda: state.try_out(self.text.text()))
        self.text.textChanged.connect(pause.start)
        state.tried.connect(self._on_tried)

    def show_problem(self, problem: str) -> None:
        self.problem.setVisible(bool(problem))
        self.problem.setText(problem)
        self.text.setEnabled(not problem)

    def begin(self, tokenizer: Tokenizer) -> None:
        """Describe this kind of tokenizer and show the first example."""
        self._unknown = tokenizer.unknown
        _, _, cls, sep, _ = tokenizer.vocabulary.special
        self._ends = f"{cls}, {sep}"
        helps = list(step_helps(tokenizer.vocabulary.kind))
        helps[2] += " " + self.tr("The number below a token is its ID.")
        for label, text in zip((self._normalise, self._split, self._find), helps, strict=True):
            label.setText(text)
        self.text.setText(self.tr("Transformers are unbelievably good at understanding words."))

    def _on_tried(self, steps: Steps) -> None:
        self.normalised.setPlainText(steps.normalised[:LONGEST_LINE])
        self.words.setPlainText("  |  ".join(steps.words)[:LONGEST_LINE])
        self.tokens.show_tokens(steps.tokens, self._unknown)
        unknown = sum(token.id == self._unknown for token in steps.tokens)
        parts = [
            self.tr("%Ln token(s), {0}", "", len(steps.tokens)).format(self._ends),
            self.tr("%Ln word(s)", "", len(steps.words)),
        ]
        if unknown:
            parts.append(self.tr("%Ln unknown", "", unknown))
        if steps.truncated:
            parts.append(self.tr("only the beginning of the text is shown"))
        self.count.setText(" · ".join(parts))


def _step(title: str, help_text: Text, *shown: QWidget) -> Card:
    """Card of one step with its explanation and result."""
    card = Card(title)
    card.body.setSpacing(2 * SPACE)
    layouts.extend(card.body, help_text, *shown)
    return card
