"""Which class a fine-tuned model gives the text."""

from PySide6.QtCore import QObject, Signal

from app.explorer import Explorer
from app.pages.explore.asking import Asking
from app.pages.explore.study import Study
from engine.messages import Classified, Classify, Likely

MOST = 100  # classes that are shown


class ClassesState(QObject):
    """Signals:
    changed: the classes, the reason why there are none, or whether an answer is awaited.
    """

    changed = Signal()

    def __init__(self, study: Study, explorer: Explorer) -> None:
        super().__init__(study)
        self.study = study
        self.asking = Asking(study, explorer, _question)
        self.asking.changed.connect(self.changed)

    @property
    def ranked(self) -> tuple[Likely, ...]:
        """The classes, most likely first."""
        answer = self.asking.answer
        return answer.guess.ranked if isinstance(answer, Classified) else ()

    @property
    def has_classes(self) -> bool:
        return self.study.has_head("classes")


def _question(study: Study) -> Classify | None:
    if study.checkpoint is None or not study.has_head("classes"):
        return None
    return Classify(
        checkpoint=study.checkpoint, text=study.text, pair=study.pair, masked=study.masked
    )
