"""Span classification in the window."""

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import WIDE, PredictionInput, PredictionView
from app.tasks.token_classification import MAX_BARS, TaggedText, span_bars
from app.translation import marked, tr
from app.widgets.charts.bars import ProbabilityBars
from app.widgets.results.confusion import TypeConfusionPicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture, SpanErrorsPicture
from app.widgets.results.label_table import TypeTablePicture
from engine.messages.explore.prediction import Predicted


class SpansView(PredictionView):
    """The text with its spans in brackets, and a list of them."""

    def __init__(self) -> None:
        super().__init__()
        self.text = TaggedText(self.tr("Text with its spans"))
        self.bars = ProbabilityBars(self.tr("Spans"))
        self.lay_out(self.text, self.bars, width=WIDE)

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        spans = prediction.spans
        self.verdict.setText(
            self.tr("%Ln span(s)", "", len(spans)) if spans else self.tr("No spans in this text")
        )
        self.text.show_text(inputs.text, spans, list(inputs.labels))
        self.bars.show_bars(span_bars(spans))
        self.note.setText(self._note(prediction))

    def _note(self, prediction: Predicted) -> str:
        texts = [
            self.tr("Every span with a probability above 50 % is shown; spans may overlap."),
        ]
        if prediction.truncated:
            texts.append(self.tr("The end of the text is truncated and has no spans."))
        if len(prediction.spans) > MAX_BARS:
            texts.append(self.tr("Showing the first {0}.").format(MAX_BARS))
        return " ".join(texts)


class SpanClassificationPart(TaskPart):
    kind = "span_classification"
    view = SpansView
    pictures = (
        SpanErrorsPicture,
        TypeConfusionPicture,
        TypeTablePicture,
        CoveragePicture,
        LengthPicture,
    )
    purpose = marked(
        "Spans with labels, also one in another: the place in the name of a university."
    )
    scene = Scene("[CLS] University of Rome [SEP]", 5, 1, marked("span"), "organisation")

    def outputs(self, count: int) -> str:
        return tr("%n label(s) of spans", count)
