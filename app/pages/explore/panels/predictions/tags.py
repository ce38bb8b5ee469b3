"""The tags of a text: its spans marked where they stand, each with its type."""

from itertools import chain

from PySide6.QtCore import QEvent
from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor

from app import theme
from app.pages.explore.panels.predictions.face import WIDE, Face, ReadOnlyText
from app.pages.explore.panels.predictions.state import PredictionsState
from app.theme import CHART, Role
from app.widgets.bars import Bar, Bars, chance
from app.widgets.text import font
from engine.data.columns.tags import are_spans
from engine.messages.explore.prediction import Predicted, SpanPrediction

MOST = 100  # spans that are listed
THIN = "\u202f"  # a narrow space that no line is broken at


class TagsInText(Face):
    """The text with its spans marked, and a list of them."""

    def __init__(self, state: PredictionsState) -> None:
        super().__init__(state)
        self.text = TaggedText(self.tr("Text with its tags"))
        self.bars = Bars(self.tr("Tags"))
        self.lay_out(self.text, self.bars, width=WIDE)

    def show_answer(self, answer: Predicted) -> None:
        model = self.state.side.model
        labels = model.info.labels if model and model.info else ()
        of_spans = are_spans(labels) if labels else True
        names = (label[2:] if of_spans else label for label in labels)
        types = [t for t in dict.fromkeys(names) if t]
        self.verdict.setText(self._verdict(answer, of_spans))
        self.text.show_text(self.state.side.text, answer.spans, types)
        self.bars.show_bars(
            [
                Bar(f"{one.text} · {one.label}" if one.label else one.text, one.probability)
                for one in answer.spans[:MOST]
            ]
        )
        self.note.setText(self._note(answer, of_spans))

    def _verdict(self, answer: Predicted, of_spans: bool) -> str:
        if not of_spans:
            return self.tr("%Ln word(s)", "", len(answer.spans))
        if not answer.spans:
            return self.tr("No spans in this text")
        return self.tr("%Ln span(s)", "", len(answer.spans))

    def _note(self, answer: Predicted, of_spans: bool) -> str:
        said = [self.tr("A word is tagged by its first piece; hidden words stay hidden.")]
        if of_spans:
            said.append(self.tr("A span is as likely as its words are in the mean."))
        if answer.cut:
            said.append(self.tr("The end of the text is cut off, and has no tags."))
        if len(answer.spans) > MOST:
            said.append(self.tr("The first {0} are listed.").format(MOST))
        return " ".join(said)


class TaggedText(ReadOnlyText):
    """A text with stretches marked by a line, a colour and a name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._shown: tuple[str, tuple[SpanPrediction, ...], list[str]] = ("", (), [])

    def show_text(self, text: str, found: tuple[SpanPrediction, ...], types: list[str]) -> None:
        """Show `text` with the stretches `found` marked; the place in `types` tells the colour."""
        if (text, found, types) != self._shown:
            self._shown = text, found, types
            self._write()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints(event):
            self._write()

    def _write(self) -> None:
        text, found, types = self._shown
        self.clear()
        cursor = QTextCursor(self.document())
        place = 0
        for one in found:
            role = CHART[types.index(one.label) % len(CHART)] if one.label in types else CHART[0]
            cursor.insertText(text[place : one.start], QTextCharFormat())
            cursor.insertText(text[one.start : one.end], _marked(role))
            cursor.insertText(f"{THIN}{one.label}" if one.label else "", _named(role))
            place = one.end
        cursor.insertText(text[place:], QTextCharFormat())
        said = chain.from_iterable((one.text, one.label, chance(one.probability)) for one in found)
        self.setAccessibleDescription(" ".join(said))


def _marked(role: Role) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setBackground(theme.colour(role, 0.2))
    look.setFontWeight(QFont.Weight.DemiBold)
    look.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
    look.setUnderlineColor(theme.colour(role))
    return look


def _named(role: Role) -> QTextCharFormat:
    look = QTextCharFormat()
    look.setForeground(theme.colour(role))
    look.setFontPointSize(font("small").pointSizeF())
    look.setFontWeight(QFont.Weight.DemiBold)
    return look
