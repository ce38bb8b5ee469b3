"""All heads at a glance, with legend and filters."""

import numpy as np
from PySide6.QtCore import QObject, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QStackedWidget,
    QWidget,
)

from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.description import MEASURES
from app.pages.explore.panels.attention.head_grid import HeadGrid
from app.pages.explore.panels.attention.state import AttentionState, Block
from app.theme import SPACE, Role, colour
from app.translation import in_language
from app.widgets import buttons, layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text, font, tooltip
from app.widgets.text.numbers import decimal


class Overview(QWidget):
    """The head grid with its controls; a click selects heads.

    The panel lays out `measure` with its `help`, `models`, `legend` and `list`.
    """

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state, self._maps = state, state.maps
        self.grid, self.legend = HeadGrid(), Legend()
        self.said = OneLine("", "small")
        self.models = buttons.Segments(
            [self.tr("First model"), self.tr("Second model")], self.tr("Model")
        )
        self.measure, self.help = self._measures()
        self.area = scroll_area(self.grid)
        self.area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        column = layouts.column(
            (self.area, 1), parent=self, spacing=SPACE, margins=(0, 0, 2 * SPACE, 0)
        )
        self.foot = layouts.row((self.said, 1), spacing=SPACE)
        self.switch = buttons.icon_button(
            "eye-off", self.tr("Switch the current head off or on (Alt+click)"), self._on_switch
        )
        self.list = buttons.icon_button(
            "layers", self.tr("List all heads with what they do"), checkable=True
        )
        self.foot.addWidget(self.list)
        self.foot.addWidget(self.switch)
        column.addLayout(self.foot)
        self.grid.setToolTip(
            tooltip(
                self.tr(
                    "Click: add or remove a head. Double-click: show this head only. "
                    "Alt+click: switch it off. Ctrl+wheel: zoom."
                )
            )
        )
        self.setMinimumWidth(50 * SPACE)
        self.models.chosen.connect(lambda number: state.show_side(bool(number)))
        self.grid.toggled.connect(state.selection.toggle)
        self.grid.switched.connect(state.switch_head)
        state.explore.heads_off_changed.connect(self._on_off)
        self.grid.picked.connect(state.selection.pick)
        self.grid.pointed.connect(self._say)
        self._maps.thumbnails_changed.connect(self._on_wall)
        self._maps.query_changed.connect(self._say)
        state.head_changed.connect(self._on_head)
        state.explore.sides_changed.connect(self._on_sides)
        self._on_sides()
        self._on_head()

    def _measures(self) -> tuple[QComboBox, QStackedWidget]:
        """Choice of the measure, and its help buttons."""
        measure, pages = ComboBox(), QStackedWidget()
        measure.setAccessibleName(self.tr("Measure"))
        measure.addItems([in_language(one.name) for one in MEASURES])
        pages.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        for one in MEASURES:
            pages.addWidget(HelpButton(one.help))
        measure.currentIndexChanged.connect(self._on_measure)
        return measure, pages

    def _on_measure(self, number: int) -> None:
        self.help.setCurrentIndex(number)
        self._maps.set_measure(MEASURES[number].measure)
        self._say()

    def _on_switch(self) -> None:
        self._state.switch_head(*self._state.selection.current)

    def _on_off(self) -> None:
        """Heads are off on the first side only."""
        self.grid.show_off(self._maps.side.heads_off)
        self._say()

    def _on_sides(self) -> None:
        self.grid.show_off(self._maps.side.heads_off)
        set_shown(self.models, self._state.explore.is_compared)
        self.models.choose(int(self._maps.side.index))

    def _on_head(self) -> None:
        self.grid.show_off(self._maps.side.heads_off)
        self.switch.setEnabled(self._maps.has_heads)
        self.grid.choose(self._state.heads)
        self._say()

    def _on_wall(self) -> None:
        self.grid.show_heads(self._maps.thumbnails)
        self.legend.show_most(self._maps.largest)
        self._say()

    def _say(self, layer: int = -1, head: int = -1) -> None:
        """Describe the head under the mouse, the progress, or the selection."""
        maps, count = self._maps, len(self._state.heads)
        if layer >= 0:
            text = self.tr("Layer {0}, head {1}") if maps.has_heads else self.tr("Layer {0}")
            self.said.setText(text.format(layer + 1, head + 1))
        elif maps.query.is_waiting and maps.layers_there < maps.size[0]:
            text = self.tr("{0} of {1} layers computed …")
            self.said.setText(text.format(maps.layers_there, maps.size[0]))
        elif maps.query.is_waiting:
            self.said.setText(self.tr("Running the model …"))
        else:
            selected = (
                self.tr("%Ln head(s) selected.", "", count)
                if maps.has_heads
                else self.tr("%Ln layer(s) selected.", "", count)
            )
            self.said.setText(selected)


def scroll_area(inner: QWidget) -> QScrollArea:
    """A vertical scroll area without frame and background."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.viewport().setAutoFillBackground(False)
    inner.setProperty("bare", True)
    area.setWidget(inner)
    return area


TICKS = (0.0, 0.1, 0.5, 1.0)
HEIGHT = 8  # px of the colour bar
EDGE = 3 * SPACE  # px on either side for the outer numbers


class Legend(QWidget):
    """Colour bar from 0 to the largest value, on a square-root scale."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._most = 1.0
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(self.tr("Colour scale"))
        self.setAccessibleDescription(self._told())

    def show_most(self, most: float) -> None:
        """Set the value of the strongest colour."""
        if most != self._most:
            self._most = most
            self.setAccessibleDescription(self._told())
            self.update()

    def _told(self) -> str:
        text = self.tr("The stronger the colour, the larger the value, from 0 to {0}.")
        return text.format(decimal(self._most, 2))

    def sizeHint(self) -> QSize:
        return QSize(50 * SPACE, HEIGHT + round(font("small").pointSizeF() * 2) + SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(36 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        ramp = QRectF(EDGE, 1, self.width() - 2 * EDGE, HEIGHT)
        levels = np.arange(pixels.TOP + 1, dtype=np.uint8)[None, :]
        painter.drawImage(ramp, pixels.themed(np.ascontiguousarray(levels)))
        painter.setPen(colour(Role.BORDER))
        painter.drawRect(ramp)
        painter.setFont(font("small"))
        painter.setPen(colour(Role.MUTED))
        for tick in TICKS:
            x = ramp.left() + ramp.width() * tick**0.5
            box = QRectF(x - 20, ramp.bottom() + 2, 40, self.height() - ramp.bottom() - 2)
            whole = tick in (0.0, 1.0) and self._most == 1
            shown = decimal(tick * self._most, 0 if whole or not tick else 1)
            painter.drawText(box, Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop, shown)


STEP = 5  # % per slider step
BLOCKS: tuple[Block | None, ...] = (None, (0, 0), (0, 1), (1, 0), (1, 1))


class LinkFilters(QObject):
    """Controls that filter links, and a sentence about what they hide."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__(state)
        self._state = state
        self.threshold = QSlider(Qt.Orientation.Horizontal)
        self.threshold.setRange(1, 100 // STEP)
        self.threshold.setValue(round(state.strongest.threshold * 100 / STEP))
        self.threshold.setFixedWidth(30 * SPACE)
        self.threshold.setAccessibleName(self.tr("Attention threshold (cumulative mass)"))
        self.said, self.left_out = Text("", wraps=False), OneLine("", "small")
        self.block = ComboBox(self.tr("Filter links by text"))
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
        """Filters that hide links, and the fraction of the current head's attention; “” if none."""
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
    return ", ".join(token_text(name) for name in names)
