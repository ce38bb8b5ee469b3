"""Text classification in the window."""

from dataclasses import replace

from PySide6.QtWidgets import QWidget

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.translation import marked, tr
from app.widgets.charts.bars import Bar, ProbabilityBars, percentage
from app.widgets.results.confusion import ConfusionPicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture
from app.widgets.results.label_table import LabelTablePicture
from app.widgets.results.prediction_sets import PredictionSetsPicture
from app.widgets.results.reliability import ReliabilityPicture
from app.widgets.results.threshold import ThresholdPicture
from app.widgets.text.labels import Text
from engine.messages.explore.prediction import Predicted

MAX_BARS = 100  # classes shown


class ClassesView(PredictionView):
    """Classes as bars, the most likely first."""

    def __init__(self, *parts: QWidget) -> None:
        super().__init__()
        self.bars = ProbabilityBars(self.tr("Classes"))
        self.labels_in_set = Text("", "strong", selectable=True)
        self.lay_out(*parts, self.labels_in_set, self.bars)

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        ranked = prediction.predictions[0].ranked
        bars = [Bar(prediction.label, prediction.probability) for prediction in ranked[:MAX_BARS]]
        has_set, chosen = prediction.coverage is not None, prediction.prediction_set
        marked_labels = chosen if has_set else (ranked[0].label,)
        self.bars.show_bars([replace(bar, emphasised=bar.label in marked_labels) for bar in bars])
        self.labels_in_set.setText(self._set_text(prediction))
        self.labels_in_set.setVisible(has_set)
        self.verdict.setText(f"{ranked[0].label} · {percentage(ranked[0].probability)}")
        self.note.setText(self._note(len(ranked)))

    def _set_text(self, prediction: Predicted) -> str:
        if prediction.coverage is None:
            return ""
        names = ", ".join(prediction.prediction_set) or self.tr(
            "none, as no label is likely enough"
        )
        return self.tr("Prediction set ({0}): {1}").format(percentage(prediction.coverage), names)

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
        PredictionSetsPicture,
        LengthPicture,
    )
    purpose = marked("One label per text: sentiment, topic, intent.")
    scene = Scene("[CLS] a quiet wonder [SEP]", 5, 0, marked("label"), "positive")

    def outputs(self, count: int) -> str:
        return tr("%n label(s)", count)
