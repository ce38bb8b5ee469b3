"""Replacement of heads that are off: zero, or their mean over the chosen texts."""

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox

from app.pages.explore.set_work import ChosenTexts, SetWork, StartWorker
from app.pages.explore.state import ExploreState
from app.translation import tr, translated
from app.widgets.forms.controls import ComboBox
from app.widgets.text.numbers import count
from engine.files.home import Home
from engine.messages.explore.text_set import AverageHeads, HeadsAveraged, Replacement, SetAnswer


class HeadMeans(QObject):
    """Computes head means on request and applies them.

    Signals:
        changed: the choice, or the progress.
    """

    changed = Signal()

    def __init__(
        self,
        explore: ExploreState,
        home: Home,
        start_worker: StartWorker,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self.explore, self._home = explore, home
        self.work = SetWork(start_worker, self)
        self._of: ChosenTexts | None = None
        self.work.told.connect(self._on_told)
        self.work.changed.connect(self.changed)
        explore.model_changed.connect(self.work.forget)
        explore.chosen_changed.connect(self.changed)

    @property
    def replacement(self) -> Replacement:
        """The chosen replacement."""
        has_means = self.explore.first.head_means is not None
        return "mean" if has_means or self.work.is_running else "zero"

    @property
    def can_average(self) -> bool:
        return self.explore.chosen is not None or self.explore.means_texts is not None

    def choose(self, replacement: Replacement) -> None:
        """Apply zero at once, means when they are computed."""
        chosen, checkpoint = self.explore.chosen, self.explore.first.checkpoint
        if replacement == self.replacement:
            return
        if replacement == "zero":
            self.work.forget()
            self.explore.replace_heads(None, None)
        elif chosen is not None and checkpoint is not None:
            self._of = chosen
            kept = self._home.cache / "texts"
            self.work.start(AverageHeads(checkpoint=checkpoint, texts=chosen.texts, kept=kept))
        self.changed.emit()

    def said(self) -> str:
        """Progress, or why there are no means; else “”."""
        work = self.work
        if work.is_running:
            text = tr("Computing the means of the heads: {0} of {1} texts …")
            return text.format(count(work.done), count(work.total))
        return translated(work.problem)

    def _on_told(self, answer: SetAnswer) -> None:
        if isinstance(answer, HeadsAveraged) and answer.file is not None:
            self.explore.replace_heads(answer.file, self._of)


def replacement_box() -> QComboBox:
    """Choice between zero and means."""
    box = ComboBox()
    box.setAccessibleName(tr("In place of a head that is off"))
    box.addItem(tr("zero instead"), "zero")
    box.addItem(tr("mean instead"), "mean")
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
    return box
