"""The answer to a question, shown where it stands in the passage."""

from PySide6.QtCore import QEvent
from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit

from app import theme
from app.pages.explore.panels.predictions.face import WIDE, Face, ReadOnlyText
from app.pages.explore.panels.predictions.state import PredictionsState
from app.theme import Role
from app.widgets.bars import Bar, Bars, chance
from engine.messages.explore.prediction import Predicted


class AnswerInPassage(Face):
    """The best answer, the passage with it marked, and what else was likely."""

    def __init__(self, state: PredictionsState) -> None:
        super().__init__(state)
        self.passage = Passage(self.tr("Passage with the answer"))
        self.bars = Bars(self.tr("Answers"))
        self.lay_out(self.passage, self.bars, width=WIDE)

    def show_answer(self, answer: Predicted) -> None:
        nothing = answer.value or 0.0
        best = answer.spans[0] if answer.spans and answer.answered else None
        text = self.state.side.pair or ""
        if best is None:
            self.verdict.setText(self.tr("No answer in the passage · {0}").format(chance(nothing)))
            self.passage.show_text(text)
        else:
            self.verdict.setText(f"{best.text} · {chance(best.probability)}")
            self.passage.show_text(text, best.start, best.end)
        bars = [
            Bar(one.text, one.probability, emphasised=one is best)
            for one in answer.spans
            if one.text
        ]
        if nothing:
            bars.append(Bar(self.tr("no answer"), nothing, best is None, apart=True))
        self.bars.show_bars(bars)
        self.note.setText(
            self.tr(
                "The first text is the question, the second the passage; a long passage is "
                "read in windows that overlap."
            )
        )


class Passage(ReadOnlyText):
    """A text with one stretch marked by colour and a line."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._marked: tuple[int, int] | None = None

    def show_text(self, text: str, start: int = 0, end: int = 0) -> None:
        """Show `text` with the characters from `start` up to, but not with, `end` marked."""
        if self.toPlainText() != text:
            self.setPlainText(text)
        self._marked = (units(text[:start]), units(text[:end])) if start < end else None
        self._mark()
        if self._marked is not None:
            cursor = self.textCursor()
            cursor.setPosition(self._marked[0])
            self.setTextCursor(cursor)
            self.ensureCursorVisible()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints(event):
            self._mark()

    def _mark(self) -> None:
        if self._marked is None:
            self.setExtraSelections([])
            return
        stretch = QTextEdit.ExtraSelection()
        cursor = QTextCursor(self.document())
        cursor.setPosition(self._marked[0])
        cursor.setPosition(self._marked[1], QTextCursor.MoveMode.KeepAnchor)
        look = QTextCharFormat()
        look.setBackground(theme.colour(Role.ACCENT, 0.25))
        look.setFontWeight(QFont.Weight.DemiBold)
        look.setFontUnderline(True)
        stretch.cursor, stretch.format = cursor, look
        self.setExtraSelections([stretch])


def units(text: str) -> int:
    """How many UTF-16 units Qt counts in a text."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
