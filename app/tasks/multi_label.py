"""Multi-label classification in the window."""

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.translation import marked, tr
from app.widgets.charts.bars import Bar, ProbabilityBars
from app.widgets.results.confusion import CoOccurrencePicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture
from app.widgets.results.label_table import LabelTablePicture
from app.widgets.results.reliability import ReliabilityPicture
from app.widgets.results.threshold import ThresholdPicture
from engine.messages.explore.prediction import Predicted

MAX_BARS = 100  # labels shown


class LabelsView(PredictionView):
    """Each label with its own probability, predicted ones first."""

    def __init__(self) -> None:
        super().__init__()
        self.bars = ProbabilityBars(self.tr("Labels"))
        self.lay_out(self.bars)

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        ranked = prediction.predictions[0].ranked
        chosen = prediction.predicted
        self.verdict.setText(", ".join(chosen) or self.tr("No label reaches its threshold"))
        bars = [
            Bar(prediction.label, prediction.probability, n < len(chosen), apart=n == len(chosen))
            for n, prediction in enumerate(ranked[:MAX_BARS])
        ]
        self.bars.show_bars(bars)
        text = self.tr(
            "Each label has its own probability, and is predicted if that reaches its threshold: "
            "50 %, or the one chosen on the Results page."
        )
        if len(ranked) > MAX_BARS:
            template = self.tr("Showing the top {0} of {1} labels.")
            text += " " + template.format(MAX_BARS, len(ranked))
        self.note.setText(text)


class MultiLabelPart(TaskPart):
    kind = "multi_label"
    view = LabelsView
    pictures = (
        LabelTablePicture,
        ThresholdPicture,
        CoOccurrencePicture,
        ReliabilityPicture,
        CoveragePicture,
        LengthPicture,
    )
    purpose = marked("Any number of labels per text or pair: topics, tones, what a text mentions.")
    scene = Scene("[CLS] cheap but slow [SEP]", 5, 0, marked("labels"), "price, speed")

    def outputs(self, count: int) -> str:
        return tr("%n label(s)", count)
