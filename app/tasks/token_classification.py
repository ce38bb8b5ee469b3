"""Token classification in the window."""

from itertools import chain, pairwise

from PySide6.QtCore import QEvent
from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor

from app import theme
from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import WIDE, PredictionInput, PredictionView, ReadOnlyText
from app.theme import CHART, Role
from app.translation import marked, tr
from app.widgets.charts.bars import Bar, ProbabilityBars, percentage
from app.widgets.results.confusion import TypeConfusionPicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture, SpanErrorsPicture
from app.widgets.results.label_table import TypeTablePicture
from app.widgets.text.labels import font
from app.widgets.text.tagged import tag_types
from engine.data.columns.tags import are_spans
from engine.messages.explore.prediction import Predicted, SpanPrediction

MAX_BARS = 100  # spans listed
THIN = "\u202f"  # a narrow no-break space


class TagsView(PredictionView):
    """The text with its spans marked, and a list of them."""

    def __init__(self) -> None:
        super().__init__()
        self.text = TaggedText(self.tr("Text with its tags"))
        self.bars = ProbabilityBars(self.tr("Tags"))
        self.lay_out(self.text, self.bars, width=WIDE)

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        has_spans = are_spans(inputs.labels) if inputs.labels else True
        types = tag_types(inputs.labels)
        self.verdict.setText(self._verdict(prediction, has_spans))
        self.text.show_text(inputs.text, prediction.spans, types)
        self.bars.show_bars(span_bars(prediction.spans))
        self.note.setText(self._note(prediction, has_spans))

    def _verdict(self, prediction: Predicted, has_spans: bool) -> str:
        if not has_spans:
            return self.tr("%Ln word(s)", "", len(prediction.spans))
        if not prediction.spans:
            return self.tr("No spans in this text")
        return self.tr("%Ln span(s)", "", len(prediction.spans))

    def _note(self, prediction: Predicted, has_spans: bool) -> str:
        texts = [self.tr("A word gets the tag of its first token; masked tokens stay masked.")]
        if has_spans:
            texts.append(self.tr("The probability of a span is the mean over its words."))
        if prediction.truncated:
            texts.append(self.tr("The end of the text is truncated and has no tags."))
        if len(prediction.spans) > MAX_BARS:
            texts.append(self.tr("Showing the first {0}.").format(MAX_BARS))
        return " ".join(texts)


def span_bars(spans: tuple[SpanPrediction, ...]) -> list[Bar]:
    """The first spans with their labels and probabilities."""
    return [
        Bar(f"{span.text} · {span.label}" if span.label else span.text, span.probability)
        for span in spans[:MAX_BARS]
    ]


class TaggedText(ReadOnlyText):
    """A text with spans marked by underline, colour and name; by brackets too if some overlap."""

    _shown: tuple[str, tuple[SpanPrediction, ...], list[str]] = ("", (), [])

    def show_text(self, text: str, spans: tuple[SpanPrediction, ...], types: list[str]) -> None:
        """Show `text` with spans marked; the index in `types` gives the colour."""
        if (text, spans, types) != self._shown:
            self._shown = text, spans, types
            self._write()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.is_theme_change(event) or event.type() == QEvent.Type.FontChange:
            self._write()

    def _write(self) -> None:
        text, spans, types = self._shown
        self.clear()
        cursor, ordered = QTextCursor(self.document()), [*map(_extent, spans)]
        overlap = any(second.start < first.end for first, second in pairwise(spans))
        roles = {
            span.label: CHART[types.index(span.label) % len(CHART)]
            if span.label in types
            else CHART[0]
            for span in spans
        }
        places = sorted({0, len(text), *(place for extent in ordered for place in extent)})
        for start, end in pairwise(places):
            for span in spans:  # outer ones first
                if overlap and span.start == start:
                    cursor.insertText("[", _label_format(roles[span.label]))
            inside = [span for span in spans if span.start <= start and end <= span.end]
            inner = min(inside, key=lambda span: span.end - span.start, default=None)
            format_ = QTextCharFormat() if inner is None else _span_format(roles[inner.label])
            cursor.insertText(text[start:end], format_)
            for span in reversed(spans):
                if span.end == end:
                    name = f"{THIN}{span.label}" if span.label else ""
                    bracket = "]" if overlap else ""
                    cursor.insertText(bracket + name, _label_format(roles[span.label]))
        texts = chain.from_iterable(
            (span.text, span.label, percentage(span.probability)) for span in spans
        )
        self.setAccessibleDescription(" ".join(texts))


def _extent(span: SpanPrediction) -> tuple[int, int]:
    return span.start, span.end


def _span_format(role: Role) -> QTextCharFormat:
    format_ = QTextCharFormat()
    format_.setBackground(theme.colour(role, 0.2))
    format_.setFontWeight(QFont.Weight.DemiBold)
    format_.setUnderlineStyle(QTextCharFormat.UnderlineStyle.SingleUnderline)
    format_.setUnderlineColor(theme.colour(role))
    return format_


def _label_format(role: Role) -> QTextCharFormat:
    format_ = QTextCharFormat()
    format_.setForeground(theme.colour(role))
    format_.setFontPointSize(font("small").pointSizeF())
    format_.setFontWeight(QFont.Weight.DemiBold)
    return format_


class TokenClassificationPart(TaskPart):
    kind = "token_classification"
    view = TagsView
    pictures = (
        SpanErrorsPicture,
        TypeConfusionPicture,
        TypeTablePicture,
        CoveragePicture,
        LengthPicture,
    )
    purpose = marked(
        "A tag for each word: names of people and places (NER), parts of speech (POS)."
    )
    scene = Scene("[CLS] Ada was born in London [SEP]", 7, 5, marked("tag"), "B-place")

    def outputs(self, count: int) -> str:
        return tr("%n tag(s)", count)
