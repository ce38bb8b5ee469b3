"""Controls of a comparison: the second model, its status line, and its tokens."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.library import ModelEntry
from app.pages.explore.captions import head_list, head_means_caption, quoted
from app.pages.explore.head_means import HeadMeans, replacement_box
from app.pages.explore.state import ExploreState
from app.pages.explore.strip import StripArea
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, tooltip


class Comparison(QWidget):
    """Picker of the second model; `said` and `strip_area` go below the first strip.

    Hidden without a comparison; the strip also if both models have the same tokens.
    """

    def __init__(self, explore: ExploreState, means: HeadMeans) -> None:
        super().__init__()
        self._explore, self._means = explore, means
        self.instead = replacement_box()
        self._models: list[ModelEntry] = []
        self.picker = CheckpointBox()
        self.picker.setAccessibleName(self.tr("Second model"))
        self.picker.setMinimumWidth(45 * SPACE)
        self.end = buttons.icon_button(
            "x", self.tr("Stop comparing"), lambda: explore.compare(None)
        )
        self.said = OneLine("", "small")
        self.strip_area = StripArea(explore, 1)
        row = layouts.row(parent=self, spacing=2 * SPACE)
        label = Text(self.tr("&with"), "muted", wraps=False)
        label.setBuddy(self.picker)
        for part in (self.instead, label, self.picker, self.end):
            row.addWidget(part)
        self.picker.picked.connect(lambda model: explore.compare(model, explore.pinned))
        explore.sides_changed.connect(self._show)
        explore.tokens_changed.connect(self._show)
        explore.heads_off_changed.connect(self._show)
        means.changed.connect(self._show)
        self.instead.activated.connect(lambda _: self._on_instead())
        self._show()

    def set_models(self, models: Sequence[ModelEntry]) -> None:
        self._models = list(models)
        self.picker.set_models(models)
        self._show()

    def other(self) -> ModelEntry | None:
        """The first usable model other than the first side's."""
        first = self._explore.first.checkpoint
        return next((m for m in self._models if m.info is not None and m.path != first), None)

    def begin(self) -> None:
        """Compare with another model, which can then be changed."""
        self._explore.compare(self.other())
        self.picker.setFocus()

    def _on_instead(self) -> None:
        self._means.choose(self.instead.currentData())
        self._show()

    def _stop(self) -> None:
        self._explore.compare(None)

    def _show_means(self) -> None:
        can = self._means.can_average
        self.instead.setVisible(bool(self._explore.first.heads_off))
        self.instead.setCurrentIndex(self.instead.findData(self._means.replacement))
        self.instead.setEnabled(can)
        why = self.tr("The mean is over texts: choose some in the panel Texts.")
        self.instead.setToolTip("" if can else tooltip(why))

    def _show(self) -> None:
        first, second = self._explore.both
        compared = self._explore.is_compared
        set_shown(self, compared)
        self._show_means()
        differs = [t.text for t in first.tokens] != [t.text for t in second.tokens]
        set_shown(self.strip_area, compared and second.is_tokenized and differs)
        set_shown(self.said, compared)
        if not compared or second.model is None:
            return
        if not self.picker.choose(second.model.path):  # a checkpoint that its run has deleted
            self.picker.set_models([*self._models, second.model])
            self.picker.choose(second.model.path)
        if first.heads_off and (told := self._means.said()):
            said = told
        elif first.heads_off:
            text = self.tr("Without heads {0}, compared with {1}.")
            said = text.format(head_list(first.heads_off), second.model.name)
            if self._explore.means_texts is not None:
                said = f"{said} {head_means_caption(self._explore.means_texts)}"
        elif self._explore.pinned is not None:
            text = self.tr("Compared with the pinned text “{0}”.")
            said = text.format(quoted(self._explore.pinned.text))
        elif not second.is_tokenized:
            said = second.problem
        elif differs:
            text = self.tr("{0} splits the text into {1} tokens:")
            said = text.format(second.model.name, numbers.count(len(second.tokens)))
        else:
            said = self.tr("{0} splits the text into the same tokens.").format(second.model.name)
        self.said.setText(said)
