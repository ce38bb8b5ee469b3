"""Text classification in the window."""

from dataclasses import replace

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.translation import marked, tr
from app.widgets.charts.bars import Bar, ProbabilityBars, percentage
from app.widgets.results.confusion import ConfusionPicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture
from app.widgets.results.label_table import LabelTablePicture
from app.widgets.results.reliability import ReliabilityPicture
from app.widgets.results.threshold import ThresholdPicture
from engine.messages.explore.prediction import Predicted

MAX_BARS = 100  # classes shown


class ClassesView(PredictionView):
    """Classes as bars, the most likely first."""

    def __init__(self) -> None:
        super().__init__()
        self.bars = ProbabilityBars(self.tr("Classes"))
        self.lay_out(self.bars)

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        ranked = prediction.predictions[0].ranked
        bars = [Bar(prediction.label, prediction.probability) for prediction in ranked[:MAX_BARS]]
        self.bars.show_bars([replace(bar, emphasised=not n) for n, bar in enumerate(bars)])
        self.verdict.setText(f"{ranked[0].label} · {percentage(ranked[0].probability)}")
        self.note.setText(self._note(len(ranked)))

    def _note(self, count: int) -> str:
        text = self.tr("Prediction for the text above; masked tokens stay masked.")
        if count > MAX_BARS:
            text += " " + self.tr("Showing the top {0} of {1} classes.").format(MAX_BARS, count)
        return text


class TextClassificationPart(TaskPart):
    kind = "text_classification"
    view = ClassesView
    pictures = (
        ConfusionPicture,
        LabelTablePicture,
        ThresholdPicture,
        ReliabilityPicture,
        CoveragePicture,
        LengthPicture,
    )
    purpose = marked("One label per text: sentiment, topic, intent.")
    scene = Scene("[CLS] a quiet wonder [SEP]", 5, 0, marked("label"), "positive")

    def outputs(self, count: int) -> str:
        return tr("%n label(s)", count)
