"""What a fine-tuned model says of the text."""

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.asking import Asking
from app.pages.explore.study import Study
from engine.messages import Predict, Predicted


class AnswersState(QObject):
    """Signals:
    changed: the answer, the reason why there is none, or whether one is awaited.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer) -> None:
        super().__init__(study)
        self.study = study
        self.asking = Asking(study, explorer, _question)
        self.asking.changed.connect(self.changed)

    @property
    def answer(self) -> Predicted | None:
        answer = self.asking.answer
        return answer if isinstance(answer, Predicted) else None


def _question(study: Study) -> Predict | None:
    if study.checkpoint is None or study.head is None:
        return None
    return Predict(
        checkpoint=study.checkpoint, text=study.text, pair=study.pair, masked=study.masked
    )
