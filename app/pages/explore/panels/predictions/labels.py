"""Any number of labels as bars, those that are given in front."""

from app.pages.explore.panels.predictions.face import Face
from app.pages.explore.panels.predictions.state import PredictionsState
from app.widgets.bars import Bar, Bars
from engine.messages.explore.prediction import Predicted

MOST = 100  # labels that are shown
THRESHOLD = 0.5  # as in evaluation and prediction


class Labels(Face):
    """Each label with a probability of its own."""

    def __init__(self, state: PredictionsState) -> None:
        super().__init__(state)
        self.bars = Bars(self.tr("Labels"))
        self.lay_out(self.bars)

    def show_answer(self, answer: Predicted) -> None:
        ranked = answer.predictions[0].ranked
        given = [one.label for one in ranked if one.probability >= THRESHOLD]
        self.verdict.setText(", ".join(given) or self.tr("No label is likely enough"))
        self.bars.show_bars(
            [
                Bar(one.label, one.probability, one.probability >= THRESHOLD, apart=n == len(given))
                for n, one in enumerate(ranked[:MOST])
            ]
        )
        said = self.tr("Each label is judged by itself and given from 50 % on.")
        if len(ranked) > MOST:
            template = self.tr("The first {0} of {1} labels are shown.")
            said += " " + template.format(MOST, len(ranked))
        self.note.setText(said)
