"""The map, its settings, and label separation by layer."""

from functools import partial

from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QPainter

from app.notices import Notices
from app.pages.explore.captions import layer_title, source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.map.points import EXPORT_SIZE, PointsView, paint_points
from app.pages.explore.panels.map.state import MapState
from app.pages.explore.set_bar import Results, SetBar
from app.theme import SPACE, Role, print_color
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.tables import NumbersTable
from app.widgets.text.labels import Text, visible
from app.widgets.text.numbers import count, percent
from engine.messages.explore.text_set import TextsPlaced

MAX_TOOLTIP = 200  # characters
AXIS = 20  # px, height of an axis title


def panel() -> PanelDescription:
    title = tr("Map")
    return PanelDescription("map", title, icon="boxes", help="map", make=_make, works_on_texts=True)


def _make(context: PanelContext) -> MakePanel:
    state = MapState(context.explore, context.home, context.one_time_worker)
    return lambda: MapView(state, context.notices)


class MapView(Panel):
    def __init__(self, state: MapState, notices: Notices) -> None:
        super().__init__()
        self._state = state
        self.bar = SetBar(state.work, state.explore, self.tr("P&lace on a map"), state.compute)
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.bar.line.addWidget(self.figure_button)
        self.layer_box = ChoiceBox(self.tr("Layer"))
        self.pooling = ChoiceBox(
            self.tr("Vectors of a text"),
            [
                ("mean", self.tr("Mean of tokens")),
                ("cls", self.tr("First token, [CLS]")),
                ("pooled", self.tr("Pooler")),
            ],
        )
        self.method = ChoiceBox(
            self.tr("Method of the map"), [("pca", self.tr("PCA")), ("tsne", self.tr("t-SNE"))]
        )
        self.colouring = ChoiceBox(
            self.tr("Coloured by"),
            [
                ("label", self.tr("By label")),
                ("prediction", self.tr("By prediction")),
                ("error", self.tr("By error")),
            ],
        )
        self.points = PointsView(self.tr("Map of texts"))
        self.points.describe = self._hover_text
        self.figure_button.offer_on(self.points)
        self.layers = NumbersTable(self.tr("Label separability by layer"), 1)
        self.note = Text("", "small")
        self._lay_out()
        self.layer_box.chosen.connect(lambda layer: state.set(layer=layer))
        self.pooling.chosen.connect(lambda pooling: state.set(pooling=pooling))
        self.method.chosen.connect(lambda method: state.set(method=method))
        self.colouring.chosen.connect(state.colour_by)
        self.layers.row_picked.connect(lambda layer: state.set(layer=layer))
        self.points.selected.connect(state.select)
        self.points.opened.connect(state.show_input)
        state.changed.connect(self.show_state)
        state.explore.model_changed.connect(self.show_state)
        self.show_state()

    def _lay_out(self) -> None:
        boxes = layouts.row(
            self.layer_box,
            self.pooling,
            self.method,
            self.colouring,
            layouts.STRETCH,
            spacing=2 * SPACE,
        )
        right = layouts.column(
            Text(self.tr("Label separability by layer"), "strong", wraps=False),
            (self.layers, 1),
            spacing=SPACE,
        )
        self.results = Results(
            layouts.page(layouts.row((self.points, 5), (right, 4), spacing=4 * SPACE)),
            "boxes",
            self.tr("Texts as points: similar vectors are close"),
            self.tr("Coloured by label, with label separability by layer."),
        )
        layouts.column(
            self.bar,
            boxes,
            (self.results, 1),
            self.note,
            parent=self,
            spacing=SPACE,
            margins=(0, SPACE, 0, 0),
        )

    def show_state(self) -> None:
        state = self._state
        self.layer_box.show_entries((n, layer_title(n)) for n in range(state.layers))
        self.layer_box.choose(state.shown_layer)
        self.layer_box.setEnabled(state.pooling != "pooled")
        self.pooling.choose(state.pooling)
        self.method.choose(state.method)
        self.colouring.choose(state.colouring)
        self.results.show_results(state.answer is not None)
        self.points.show_points(state.points, state.categories(), state.legend(), state.selected)
        self.layers.blockSignals(True)
        self.layers.show_rows(*self._layer_rows())
        self.layers.blockSignals(False)
        self.note.setText(self._note())
        self.figure_button.refresh()

    def _layer_rows(self) -> tuple[list[str], list[list[str]]]:
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
                layer_title(layer),
                *(f"{value:.3f}" for value in (silhouette, by_chance)),
                *(percent(value) for value in (near, near_by_chance)),
            ]
            for layer, (silhouette, by_chance, near, near_by_chance) in enumerate(columns)
        ]

    def _hover_text(self, point: int) -> str:
        state, answer = self._state, self._state.answer
        if answer is None or point >= len(answer.labels):
            return ""
        text = state.rows[point][0][:MAX_TOOLTIP] if point < len(state.rows) else str(point + 1)
        lines = [visible(text)]
        if answer.labels[point]:
            lines.append(self.tr("Label: {0}").format(visible(answer.labels[point])))
        if answer.predictions[point]:
            lines.append(self.tr("Prediction: {0}").format(visible(answer.predictions[point])))
        return "\n".join(lines)

    def _note(self) -> str:
        state = self._state
        answer = state.answer
        if answer is None:
            return ""
        parts = [f"{', '.join(axis_names(answer))}."]
        if answer.placed is not None and len(answer.placed) < len(state.points):
            parts.append(
                self.tr(
                    "t-SNE placed {0} texts; the others are placed between their nearest "
                    "neighbours."
                ).format(count(len(answer.placed)))
            )
        if state.selected:
            parts.append(
                self.tr("Other panels use the %Ln text(s) in the lasso.", "", len(state.selected))
            )
        else:
            parts.append(self.tr("Draw around points to use only these texts."))
        return " ".join(parts)


def make_figure(state: MapState) -> Figure | None:
    """Figure of the map; None without one."""
    answer, chosen = state.answer, state.source
    if answer is None or chosen is None:
        return None
    points, categories, legend = state.points.copy(), state.categories(), state.legend()
    x_name, y_name = axis_names(answer)
    rows = list(state.rows)

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setFont(print_font(11))
        area = QRectF(AXIS + 8, 8, size.width() - AXIS - 16, size.height() - AXIS - 16)
        painter.setPen(print_color(Role.BORDER))
        painter.drawRect(area.adjusted(-8, -8, 8, 8))
        paint_points(painter, area, points, categories, legend, print_color)
        painter.setPen(print_color(Role.MUTED))
        middle = Qt.AlignmentFlag.AlignCenter
        painter.drawText(QRectF(AXIS, size.height() - 18, size.width() - AXIS, 16), middle, x_name)
        painter.translate(8, size.height() / 2)
        painter.rotate(-90)
        painter.drawText(QRectF(-150, -8, 300, 16), middle, y_name)

    def table() -> Table:
        return Table(
            ("number", "x", "y", "label", "prediction", "text"),
            [
                (
                    n + 1,
                    *(float(v) for v in points[n]),
                    answer.labels[n],
                    answer.predictions[n],
                    rows[n][0] if n < len(rows) else "",
                )
                for n in range(len(points))
            ],
        )

    text = tr("{0} of {1} texts of {2}, {3}.").format(
        vectors_name(state), count(len(points)), chosen.name, x_name
    )
    return Figure(
        name=f"map-layer-{state.shown_layer}",
        title=tr("Texts of {0} at layer {1}").format(chosen.name, state.shown_layer),
        caption=f"{text} {source(state.explore)}",
        size=QSize(EXPORT_SIZE + AXIS, EXPORT_SIZE),
        paint=paint,
        array=points,
        table=table,
    )


def vectors_name(state: MapState) -> str:
    """The kind of vector behind the points."""
    if state.pooling == "cls":
        return tr("Vectors of the first token")
    if state.pooling == "pooled":
        return tr("Vectors of the pooler")
    return tr("Means of the vectors of all tokens")


def axis_names(answer: TextsPlaced) -> tuple[str, str]:
    """Axis titles, with the explained variance of a PCA."""
    if answer.explained is None:
        return tr("t-SNE, axis 1"), tr("t-SNE, axis 2")
    first, second = (percent(fraction) for fraction in answer.explained)
    return (
        tr("First component ({0} of the variance)").format(first),
        tr("Second component ({0})").format(second),
    )
