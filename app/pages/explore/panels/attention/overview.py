"""All heads at a glance: the wall; and, for whoever lays them out, the controls that go with it."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from app.pages.explore.panels.attention.description import MEASURES
from app.pages.explore.panels.attention.legend import Legend
from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.wall import Wall
from app.theme import SPACE
from app.translation import in_language
from app.widgets import buttons, layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton
from app.widgets.screen import set_shown
from app.widgets.text.labels import OneLine, tooltip


class Overview(QWidget):
    """Shows the AttentionMaps of a state; a click on the wall selects heads.

    `measure` with its `help`, `models` and `legend` are to be put where there is room for them.
    What `list` opens is the panel's.
    """

    def __init__(self, state: AttentionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state, self._maps = state, state.maps
        self.wall, self.legend = Wall(), Legend()
        self.said = OneLine("", "small")
        self.models = buttons.Segments(
            [self.tr("First model"), self.tr("Second model")], self.tr("Model")
        )
        self.measure, self.help = self._measures()
        self.area = scroll_area(self.wall)
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
        self.wall.setToolTip(
            tooltip(
                self.tr(
                    "Click: add or remove a head. Double-click: show this head only. "
                    "Alt+click: switch it off. Ctrl+wheel: zoom."
                )
            )
        )
        self.setMinimumWidth(50 * SPACE)
        self.models.chosen.connect(lambda number: state.show_side(bool(number)))
        self.wall.toggled.connect(state.selection.toggle)
        self.wall.switched.connect(state.switch_head)
        state.explore.heads_off_changed.connect(self._on_off)
        self.wall.picked.connect(state.selection.pick)
        self.wall.pointed.connect(self._say)
        self._maps.wall_changed.connect(self._on_wall)
        self._maps.told.connect(self._say)
        state.head_changed.connect(self._on_head)
        state.explore.sides_changed.connect(self._on_sides)
        self._on_sides()
        self._on_head()

    def _measures(self) -> tuple[QComboBox, QStackedWidget]:
        """Which numbers, and the help about them."""
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
        """The second side has all heads."""
        self.wall.show_off(self._maps.side.heads_off)
        self._say()

    def _on_sides(self) -> None:
        self.wall.show_off(self._maps.side.heads_off)
        set_shown(self.models, self._state.explore.is_compared)
        self.models.choose(int(self._maps.side.index))

    def _on_head(self) -> None:
        self.wall.show_off(self._maps.side.heads_off)
        self.switch.setEnabled(self._maps.has_heads)
        self.wall.choose(self._state.heads)
        self._say()

    def _on_wall(self) -> None:
        self.wall.show_heads(self._maps.wall)
        self.legend.show_most(self._maps.largest)
        self._say()

    def _say(self, layer: int = -1, head: int = -1) -> None:
        """The head under the mouse, or how far the computation is, or how many are selected."""
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
    """Scrolls up and down, without a frame or a background of its own."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.viewport().setAutoFillBackground(False)
    inner.setProperty("bare", True)
    area.setWidget(inner)
    return area
