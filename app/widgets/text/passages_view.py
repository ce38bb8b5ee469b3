"""The passages of a long text with their effects on its prediction, and the text around one."""

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from app.theme import SPACE
from app.widgets import layouts
from app.widgets.text import numbers
from app.widgets.text.labels import Text, height_of_lines, visible
from app.widgets.text.marked_spans import mark_spans, utf16_length
from app.widgets.text.word_effects import WordRow, tint_effects
from engine.messages.explore.attribution import WordEffect
from engine.messages.explore.prediction import Passage

MAX_SHOWN = 48  # passages, those with the largest effects
LINES = 9  # of the text; the rest scrolls


class PassagesView(QWidget):
    """Passages in the order of the text; the chosen one is marked in it.

    Signals:
        chosen: index of a passage that was picked.
    """

    chosen = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.title = Text(self.tr("Passages and their effects"), "strong")
        self.row = WordRow(self.tr("Passages and their effects"), selectable=True)
        self.row.word_picked.connect(lambda place: self.chosen.emit(self._shown[place]))
        self.note = Text("", "muted")
        self.text = QPlainTextEdit()
        self.text.setAccessibleName(self.tr("Text with the chosen passage"))
        self.text.setReadOnly(True)
        self.text.setFrameShape(QFrame.Shape.NoFrame)
        self.text.setTabChangesFocus(True)
        self.text.setFixedHeight(height_of_lines(self.text, LINES))
        self._shown: list[int] = []
        self._text = ""
        layouts.column(self.title, self.row, self.note, self.text, parent=self, spacing=2 * SPACE)

    def show_passages(
        self, texts: tuple[str, str], passages: Sequence[Passage], chosen: int
    ) -> None:
        """Show the passages of the first and the second text, of which one is chosen."""
        order = sorted(range(len(passages)), key=lambda index: -abs(passages[index].effect))
        self._shown = sorted({*order[: MAX_SHOWN - 1], chosen})
        words = tint_effects([_as_word(index, passages[index]) for index in self._shown])
        self.row.show_words(words, self._shown.index(chosen))
        one = passages[chosen]
        self.note.setText(self._describe(passages, chosen))
        self._show_text(texts[one.segment], one)

    def _show_text(self, text: str, passage: Passage) -> None:
        if text != self._text:
            self._text = text
            self.text.setPlainText(text)
        mark_spans(self.text, text, [(passage.start, passage.end)])
        cursor = QTextCursor(self.text.document())
        for end in (passage.end, passage.start):  # the whole passage, at least its beginning
            cursor.setPosition(utf16_length(text[:end]))
            self.text.setTextCursor(cursor)
            self.text.ensureCursorVisible()

    def _describe(self, passages: Sequence[Passage], index: int) -> str:
        passage, count = passages[index], len(passages)
        place = self.tr("Passage {0} of {1}").format(index + 1, count)
        if passage.label:
            alone = self.tr("alone “{0}” with {1}").format(
                visible(passage.label), numbers.percent(passage.value)
            )
        else:
            alone = self.tr("alone {0}").format(numbers.decimal(passage.value))
        deciding = next((i for i, other in enumerate(passages) if other.weight == 1), None)
        if deciding is None:
            weight = self.tr("weight {0}").format(numbers.percent(passage.weight))
        elif deciding == index:
            weight = self.tr("only this one counts")
        else:
            weight = self.tr("only passage {0} counts").format(deciding + 1)
        template = (
            self.tr("masked, the score falls by {0}")
            if passage.effect >= 0
            else self.tr("masked, the score rises by {0}")
        )
        effect = template.format(numbers.decimal(abs(passage.effect), 2))
        return f"{place}: {alone} · {weight} · {effect}."


def _as_word(index: int, passage: Passage) -> WordEffect:
    return WordEffect(
        text=f"{index + 1}",
        segment=passage.segment,
        start=passage.start,
        end=passage.end,
        effect=passage.effect,
    )
