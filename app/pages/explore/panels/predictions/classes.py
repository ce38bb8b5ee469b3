"""The classes as bars, the most likely first."""

from dataclasses import replace

from app.pages.explore.panels.predictions.face import Face
from app.pages.explore.panels.predictions.state import PredictionsState
from app.widgets.bars import Bar, Bars, chance
from engine.messages.explore.prediction import Predicted

MOST = 100  # classes that are shown


class Classes(Face):
    """One class of several."""

    def __init__(self, state: PredictionsState) -> None:
        super().__init__(state)
        self.bars = Bars(self.tr("Classes"))
        self.lay_out(self.bars)

    def show_answer(self, answer: Predicted) -> None:
        ranked = answer.predictions[0].ranked
        bars = [Bar(one.label, one.probability) for one in ranked[:MOST]]
        self.bars.show_bars([replace(bar, emphasised=not n) for n, bar in enumerate(bars)])
        self.verdict.setText(f"{ranked[0].label} · {chance(ranked[0].probability)}")
        self.note.setText(self._said(len(ranked)))

    def _said(self, count: int) -> str:
        said = self.tr("Of the text as it stands above; hidden words stay hidden.")
        if count > MOST:
            said += " " + self.tr("The first {0} of {1} classes are shown.").format(MOST, count)
        return said
