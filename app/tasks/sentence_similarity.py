"""Sentence similarity in the window."""

from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionInput
from app.tasks.regression import NumberView
from app.translation import marked, tr
from app.widgets.results.group_table import LengthPicture
from app.widgets.results.regression import ResidualPicture, ScatterPicture
from engine.messages.explore.prediction import Predicted


class SimilarityView(NumberView):
    """The cosine of two texts on a gauge."""

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        assert prediction.value is not None
        low, high = prediction.range or (0.0, 1.0)
        self.verdict.setText(f"{prediction.value:.3f}")
        self.gauge.show_number(prediction.value, low, high)
        self.note.setText(
            self.tr(
                "Cosine similarity of the two vectors: 1 means the same direction, around 0 "
                "unrelated. Compare it with the values of other pairs; the scale differs from "
                "model to model."
            )
        )


class SentenceSimilarityPart(TaskPart):
    kind = "sentence_similarity"
    view = SimilarityView
    pictures = (ScatterPicture, ResidualPicture, LengthPicture)
    purpose = marked(
        "One vector for each text, for semantic search, clustering and finding duplicates."
    )
    scene = Scene("[CLS] a dog runs [SEP]", 2, 0, marked("vector"), "0.1 …")

    def outputs(self, count: int) -> str:
        return tr("sentence vectors")
