"""Controls of a comparison: the second model, its status line, and its tokens."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.library import ModelEntry
from app.pages.explore.captions import head_means_caption, quote
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.model_input import head_list
from app.pages.explore.set_work import ChosenTexts, SetWork, StartWorker
from app.pages.explore.state import ExploreState
from app.pages.explore.strip import StripArea
from app.theme import SPACE, px
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, tooltip
from engine.files.home import Home
from engine.messages.explore.text_set import AverageHeads, HeadsAveraged, Replacement, SetAnswer


class HeadMeans(QObject):
    """Computes head means on request and applies them.

    Signals:
        changed: the choice or the progress changed.
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
        self._texts: ChosenTexts | None = None
        self.work.answer_received.connect(self._on_answer_received)
        self.work.changed.connect(self.changed)
        explore.model_changed.connect(self.work.clear)
        explore.chosen_changed.connect(self.changed)

    @property
    def replacement(self) -> Replacement:
        has_means = self.explore.first.head_means is not None
        return "mean" if has_means or self.work.is_running else "zero"

    @property
    def can_average(self) -> bool:
        return self.explore.chosen is not None or self.explore.means_texts is not None

    def choose(self, replacement: Replacement) -> None:
        """Apply zeros immediately, means once they are computed."""
        chosen, checkpoint = self.explore.chosen, self.explore.first.checkpoint
        if replacement == self.replacement:
            return
        if replacement == "zero":
            self.work.clear()
            self.explore.replace_heads(None, None)
        elif chosen is not None and checkpoint is not None:
            self._texts = chosen
            folder = self._home.cache / "texts"
            self.work.start(AverageHeads(checkpoint=checkpoint, texts=chosen.texts, cache=folder))
        self.changed.emit()

    def status(self) -> str:
        """Progress, or why there are no means; else “”."""
        work = self.work
        if work.is_running:
            text = tr("Computing the means of the heads: {0} of {1} texts …")
            return text.format(numbers.count(work.done), numbers.count(work.total))
        return translated(work.problem)

    def _on_answer_received(self, answer: SetAnswer) -> None:
        if isinstance(answer, HeadsAveraged) and answer.file is not None:
            self.explore.replace_heads(answer.file, self._texts)


def replacement_box() -> ChoiceBox:
    entries = (("zero", tr("Ablation: zero")), ("mean", tr("Ablation: mean")))
    return ChoiceBox(tr("Ablation of heads"), entries)


class Comparison(QWidget):
    """Picker of the second model; `status` and `strip_area` go below the first strip.

    Hidden without a comparison; the strip also if both models have the same tokens.
    """

    def __init__(self, explore: ExploreState, means: HeadMeans) -> None:
        super().__init__()
        self._explore, self._means = explore, means
        self.replacement = replacement_box()
        self._models: list[ModelEntry] = []
        self.picker = CheckpointBox()
        self.picker.setAccessibleName(self.tr("Second model"))
        self.picker.setMinimumWidth(px(45 * SPACE))
        self.end = buttons.icon_button(
            "x", self.tr("Stop comparing"), lambda: explore.compare(None)
        )
        self.status = OneLine("", "small")
        self.strip_area = StripArea(explore, 1)
        label = Text(self.tr("&with"), "muted", wraps=False)
        label.setBuddy(self.picker)
        layouts.row(self.replacement, label, self.picker, self.end, parent=self, spacing=2 * SPACE)
        self.picker.picked.connect(lambda model: explore.compare(model, explore.pinned))
        explore.sides_changed.connect(self._show)
        explore.tokens_changed.connect(self._show)
        explore.heads_off_changed.connect(self._show)
        means.changed.connect(self._show)
        self.replacement.chosen.connect(means.choose)
        self._show()

    def set_models(self, models: Sequence[ModelEntry]) -> None:
        self._models = list(models)
        self.picker.set_models(models)
        self._show()

    def other_model(self) -> ModelEntry | None:
        """The model that the first one was trained from, else one that was trained from it, else
        the first other one that is usable."""
        first = self._explore.first.model
        path, base = (first.path, first.base) if first is not None else (None, None)
        others = [m for m in self._models if m.info is not None and m.path != path]
        others.sort(key=lambda model: (model.path != base, path is None or model.base != path))
        return next(iter(others), None)

    def begin(self) -> None:
        """Compare with another model, which can then be changed."""
        self._explore.compare(self.other_model())
        self.picker.setFocus()

    def _show_means(self) -> None:
        is_possible = self._means.can_average
        self.replacement.setVisible(bool(self._explore.first.heads_off))
        self.replacement.choose(self._means.replacement)
        self.replacement.setEnabled(is_possible)
        reason = self.tr("Mean ablation needs texts: choose some in the Texts panel.")
        self.replacement.setToolTip("" if is_possible else tooltip(reason))

    def _show(self) -> None:
        first, second = self._explore.both
        compared = self._explore.is_compared
        set_shown(self, compared)
        self._show_means()
        differs = [t.text for t in first.tokens] != [t.text for t in second.tokens]
        set_shown(self.strip_area, compared and second.is_tokenized and differs)
        set_shown(self.status, compared)
        if not compared or second.model is None:
            return
        if not self.picker.choose(second.model.path):  # the run has deleted this checkpoint
            self.picker.set_models([*self._models, second.model])
            self.picker.choose(second.model.path)
        if first.heads_off and (means_text := self._means.status()):
            message = means_text
        elif first.heads_off:
            text = self.tr("Heads {0} ablated; compared with {1}.")
            message = text.format(head_list(first.heads_off), second.model.name)
            if self._explore.means_texts is not None:
                message = f"{message} {head_means_caption(self._explore.means_texts)}"
        elif self._explore.pinned is not None:
            text = self.tr("Compared with the pinned text “{0}”.")
            message = text.format(quote(self._explore.pinned.text))
        elif not second.is_tokenized:
            message = second.problem
        elif differs:
            text = self.tr("{0} splits the text into {1} tokens:")
            message = text.format(second.model.name, numbers.count(len(second.tokens)))
        else:
            message = self.tr("{0} splits the text into the same tokens.").format(second.model.name)
        self.status.setText(message)
