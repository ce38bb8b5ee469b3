"""Which links are shown: the threshold, between which texts, with or without special tokens."""

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QCheckBox, QSlider

from app.pages.explore.panels.attention.state import AttentionState, Block
from app.theme import SPACE
from app.widgets.forms.controls import ComboBox
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.chips import painted
from app.widgets.text.labels import OneLine, Text

STEP = 5  # % of the attention, between two places of the slider
BLOCKS: tuple[Block | None, ...] = (None, (0, 0), (0, 1), (1, 0), (1, 1))


class LinkFilters(QObject):
    """Controls, and in words what they leave out; the panel lays them out."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__(state)
        self._state = state
        self.threshold = QSlider(Qt.Orientation.Horizontal)
        self.threshold.setRange(1, 100 // STEP)
        self.threshold.setValue(round(state.strongest.threshold * 100 / STEP))
        self.threshold.setFixedWidth(30 * SPACE)
        self.threshold.setAccessibleName(self.tr("Attention threshold (cumulative mass)"))
        self.said, self.left_out = Text("", wraps=False), OneLine("", "small")
        self.block = ComboBox()
        self.block.setAccessibleName(self.tr("Filter links by text"))
        self.block.addItems(
            [
                self.tr("All links"),
                self.tr("Within the first text"),
                self.tr("First to second text"),
                self.tr("Second to first text"),
                self.tr("Within the second text"),
            ]
        )
        self.special = QCheckBox()
        self.threshold.valueChanged.connect(self._on_threshold)
        self.block.currentIndexChanged.connect(lambda n: state.show_block(BLOCKS[n]))
        self.special.toggled.connect(state.exclude_special)
        state.head_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        state = self._state
        is_pair = any(token.segment for token in state.tokens)
        set_shown(self.block, is_pair or state.block is not None)
        self.block.blockSignals(True)
        self.block.setCurrentIndex(BLOCKS.index(state.block))
        self.block.blockSignals(False)
        names = _listed(state.special_names) or "[CLS], [SEP]"
        self.special.setText(self.tr("Exclude {0}").format(names))
        self.special.setAccessibleName(self.special.text())
        for control in (self.special, self.threshold):
            control.blockSignals(True)
        self.special.setChecked(state.excludes_special)
        self.threshold.setValue(round(state.strongest.threshold * 100 / STEP))
        for control in (self.special, self.threshold):
            control.blockSignals(False)
        share = numbers.percent(state.strongest.threshold, 0)
        self.said.setText(self.tr("Threshold {0}").format(share))
        self.left_out.setText(self.sentence())

    def sentence(self) -> str:
        """What is not shown, and how much of the current head goes there; empty where all is."""
        state = self._state
        if state.maps.weights is None:
            return ""
        if not state.excludes_special and state.block is None:
            return ""
        text = self.tr("{0} of this head’s attention is not shown; the rest is not rescaled.")
        said = text.format(numbers.percent(state.hidden_mass, 0))
        if state.block is None:
            return said
        return f"{said} {self.tr('Only links between the selected texts are shown.')}"

    def _on_threshold(self, value: int) -> None:
        self._state.strongest.set_threshold(value * STEP / 100)
        self.show_state()


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(painted(name) for name in names)
