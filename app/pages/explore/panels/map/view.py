"""The map, its settings, and label separation by layer."""

from functools import partial

from PySide6.QtWidgets import QComboBox, QWidget

from app.notices import Notices
from app.pages.explore.captions import layer_title
from app.pages.explore.panel import Panel
from app.pages.explore.panels.map.figure import figure_of
from app.pages.explore.panels.map.points import PointsView
from app.pages.explore.panels.map.state import MapState
from app.pages.explore.panels.map.texts import axis_names
from app.pages.explore.set_bar import SetBar
from app.theme import SPACE
from app.widgets import layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.forms.controls import ComboBox
from app.widgets.numbers_table import NumbersTable
from app.widgets.text.labels import Text, visible
from app.widgets.text.numbers import count, percent

MAX_TOLD = 200  # characters of a hover text


class MapView(Panel):
    def __init__(self, state: MapState, notices: Notices, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self._state = state
        self.bar = SetBar(state.work, state.study, self.tr("P&lace on a map"), state.place)
        self.keep = FigureButton(partial(figure_of, state), notices)
        self.bar.line.addWidget(self.keep)
        self.height_box = self._box(self.tr("Layer"))
        self.pooling = self._box(self.tr("Vectors of a text"))
        self.method = self._box(self.tr("Method of the map"))
        self.colouring = self._box(self.tr("Coloured by"))
        for key, text in (
            ("mean", self.tr("Mean of tokens")),
            ("cls", self.tr("First token, [CLS]")),
            ("pooled", self.tr("Pooled")),
        ):
            self.pooling.addItem(text, key)
        self.method.addItem(self.tr("PCA"), "pca")
        self.method.addItem(self.tr("t-SNE"), "tsne")
        for key, text in (
            ("label", self.tr("By label")),
            ("prediction", self.tr("By prediction")),
            ("error", self.tr("By error")),
        ):
            self.colouring.addItem(text, key)
        self.points = PointsView(self.tr("Map of texts"))
        self.points.tells = self._told
        self.heights = NumbersTable(self.tr("Labels apart, by layer"), 1)
        self.note = Text("", "small")
        self._lay_out()
        self.height_box.activated.connect(lambda height: state.set(height=height))
        self.pooling.activated.connect(lambda _: state.set(pooling=self.pooling.currentData()))
        self.method.activated.connect(lambda _: state.set(method=self.method.currentData()))
        self.colouring.activated.connect(lambda _: state.colour_by(self.colouring.currentData()))
        self.heights.row_picked.connect(lambda height: state.set(height=height))
        self.points.selected.connect(state.select)
        self.points.opened.connect(state.show_input)
        state.changed.connect(self.show_state)
        state.study.model_changed.connect(self.show_state)
        self.show_state()

    def _box(self, name: str) -> QComboBox:
        box = ComboBox()
        box.setAccessibleName(name)
        box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        return box

    def _lay_out(self) -> None:
        boxes = layouts.row(spacing=2 * SPACE)
        for box in (self.height_box, self.pooling, self.method, self.colouring):
            boxes.addWidget(box)
        boxes.addStretch()
        right = layouts.column(
            Text(self.tr("Are the labels apart?"), "strong", wraps=False),
            (self.heights, 1),
            spacing=SPACE,
        )
        below = layouts.row((self.points, 5), (right, 4), spacing=4 * SPACE)
        layouts.column(
            self.bar,
            boxes,
            (below, 1),
            self.note,
            parent=self,
            spacing=SPACE,
            margins=(0, SPACE, 0, 0),
        )

    def show_state(self) -> None:
        state = self._state
        if self.height_box.count() != state.heights:
            self.height_box.clear()
            for height in range(state.heights):
                self.height_box.addItem(layer_title(height))
        self.height_box.setCurrentIndex(state.shown_height)
        self.height_box.setEnabled(state.pooling != "pooled")
        for box, value in (
            (self.pooling, state.pooling),
            (self.method, state.method),
            (self.colouring, state.colouring),
        ):
            box.setCurrentIndex(box.findData(value))
        self.points.show_points(state.points, state.names(), state.legend(), state.inside)
        self.heights.blockSignals(True)
        self.heights.show_rows(*self._height_rows())
        self.heights.blockSignals(False)
        self.note.setText(self._note())
        self.keep.refresh()

    def _height_rows(self) -> tuple[list[str], list[list[str]]]:
        answer = self._state.answer
        if answer is None or not answer.silhouettes:
            return [], []
        header = [
            self.tr("Layer"),
            self.tr("Silhouette"),
            self.tr("shuffled"),
            self.tr("10-NN"),
            self.tr("shuffled"),
        ]
        columns = zip(
            answer.silhouettes,
            answer.silhouettes_shuffled,
            answer.neighbours,
            answer.neighbours_shuffled,
            strict=True,
        )
        return header, [
            [
                layer_title(height),
                *(f"{one:.3f}" for one in (silhouette, by_chance)),
                *(percent(one) for one in (near, near_by_chance)),
            ]
            for height, (silhouette, by_chance, near, near_by_chance) in enumerate(columns)
        ]

    def _told(self, point: int) -> str:
        state, answer = self._state, self._state.answer
        if answer is None or point >= len(answer.labels):
            return ""
        text = state.rows[point][0][:MAX_TOLD] if point < len(state.rows) else str(point + 1)
        said = [visible(text)]
        if answer.labels[point]:
            said.append(self.tr("Label: {0}").format(visible(answer.labels[point])))
        if answer.predictions[point]:
            said.append(self.tr("Prediction: {0}").format(visible(answer.predictions[point])))
        return "\n".join(said)

    def _note(self) -> str:
        state = self._state
        answer = state.answer
        if answer is None:
            return self.tr(
                "Place the texts on a map to see which are alike for the model, and whether labels "
                "are apart."
            )
        parts = [f"{', '.join(axis_names(answer))}."]
        if answer.placed is not None and len(answer.placed) < len(state.points):
            parts.append(
                self.tr(
                    "t-SNE placed {0} texts; the others stand between their nearest neighbours."
                ).format(count(len(answer.placed)))
            )
        if state.inside:
            parts.append(
                self.tr("Other panels use the %Ln text(s) in the lasso.", "", len(state.inside))
            )
        else:
            parts.append(self.tr("Draw around points to work on these texts alone."))
        return " ".join(parts)
