"""Ordinal classification in the window."""

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.text_classification import ClassesView
from app.translation import marked, tr
from app.widgets.results.confusion import DistancePicture
from app.widgets.results.coverage import CoveragePicture
from app.widgets.results.group_table import LengthPicture
from app.widgets.results.label_table import LabelTablePicture
from app.widgets.results.prediction_sets import PredictionSetsPicture
from app.widgets.results.reliability import ReliabilityPicture


class OrdinalClassificationPart(TaskPart):
    kind = "ordinal_classification"
    view = ClassesView
    pictures = (
        DistancePicture,
        LabelTablePicture,
        ReliabilityPicture,
        CoveragePicture,
        PredictionSetsPicture,
        LengthPicture,
    )
    purpose = marked("One of several ordered labels: stars, agreement, severity.")
    scene = Scene("[CLS] better than expected [SEP]", 5, 0, marked("label"), "4 of 5")

    def outputs(self, count: int) -> str:
        return tr("%n ordered label(s)", count)
