"""Extractive question answering in the window."""

from PySide6.QtCore import QEvent

from app import theme
from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import WIDE, PredictionInput, PredictionView, ReadOnlyText
from app.translation import marked, tr
from app.widgets.charts.bars import Bar, ProbabilityBars, percentage
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import FirstWordPicture, LengthPicture
from app.widgets.results.no_answer import NoAnswerPicture
from app.widgets.text.marked_spans import mark_spans, utf16_length
from engine.messages.explore.prediction import Predicted


class AnswerView(PredictionView):
    """The best answer, the passage with the answer marked, and alternatives."""

    def __init__(self) -> None:
        super().__init__()
        self.passage = Passage(self.tr("Passage with the answer"))
        self.bars = ProbabilityBars(self.tr("Answers"))
        self.lay_out(self.passage, self.bars, width=WIDE)

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        no_answer = prediction.value or 0.0
        best = prediction.spans[0] if prediction.spans and prediction.answered else None
        text = inputs.pair or ""
        if best is None:
            self.verdict.setText(
                self.tr("No answer in the passage · {0}").format(percentage(no_answer))
            )
            self.passage.show_text(text)
        else:
            self.verdict.setText(f"{best.text} · {percentage(best.probability)}")
            self.passage.show_text(text, best.start, best.end)
        bars = [
            Bar(span.text, span.probability, emphasised=span is best)
            for span in prediction.spans
            if span.text
        ]
        if no_answer:
            bars.append(Bar(self.tr("no answer"), no_answer, best is None, apart=True))
        self.bars.show_bars(bars)
        self.note.setText(
            self.tr(
                "The first text is the question, the second the passage; a long passage is read in "
                "overlapping windows."
            )
        )


class Passage(ReadOnlyText):
    """A text with one span marked by colour and underline."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._text = ""
        self._span: tuple[int, int] | None = None

    def show_text(self, text: str, start: int = 0, end: int = 0) -> None:
        """Show `text` with the characters [start, end) marked."""
        if self.toPlainText() != text:
            self.setPlainText(text)
        self._text, self._span = text, (start, end) if start < end else None
        self._mark()
        if self._span is not None:
            cursor = self.textCursor()
            cursor.setPosition(utf16_length(text[:start]))
            self.setTextCursor(cursor)
            self.ensureCursorVisible()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.is_theme_change(event):
            self._mark()

    def _mark(self) -> None:
        mark_spans(self, self._text, [self._span] if self._span is not None else [])


class QuestionAnsweringPart(TaskPart):
    kind = "question_answering"
    view = AnswerView
    pictures = (FirstWordPicture, NoAnswerPicture, CoveragePicture, LengthPicture)
    purpose = marked(
        "A question and a passage: find the answer in the passage, or that there is none."
    )
    scene = Scene("[CLS] who ? [SEP] it was Ada [SEP]", 4, 6, marked("start, end"), "Ada")

    def outputs(self, count: int) -> str:
        return tr("question-answering head")
