"""The graph of a lineage: boxes in columns, from sources on the left to results on the right."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPainterPath,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QWidget

from app import theme
from app.pages.runs.lineage.state import kind_text
from app.theme import SPACE, Role, print_color
from app.translation import tr, translated
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.text.labels import font, visible
from engine.runs.lineage import Edge, Lineage, Node

BOX = QSizeF(170, 46)  # px
GAP = QSizeF(40, 12)  # px between columns, and between boxes
MARGIN = 12  # px around the graph
STRIPE = 5  # px, width of the stripe in the colour of the kind
INSET = 12  # px from the left of a box to its text
SWEEPS = 4  # passes of the barycentre heuristic


@dataclass(frozen=True)
class Graph:
    """Layout of the graph; `texts` are title and kind of each box."""

    boxes: dict[str, QRectF]
    nodes: dict[str, Node]
    texts: dict[str, tuple[str, str]]
    edges: tuple[Edge, ...]
    columns: tuple[tuple[str, ...], ...]
    size: QSize


def layout_graph(lineage: Lineage, keys: Sequence[str]) -> Graph:
    """Lay out boxes by layer, each near its sources and results."""
    edges = tuple(lineage.edges_among(keys))
    layers = _move_before_targets(lineage.layers(keys), edges)
    columns = _columns(keys, layers, edges)
    max_rows = max((len(column) for column in columns), default=1)
    row_height = BOX.height() + GAP.height()
    boxes = {}
    for index, column in enumerate(columns):
        top = MARGIN + (max_rows - len(column)) * row_height / 2
        left = MARGIN + index * (BOX.width() + GAP.width())
        for row, key in enumerate(column):
            boxes[key] = QRectF(QPointF(left, top + row * row_height), BOX)
    width = 2 * MARGIN + len(columns) * (BOX.width() + GAP.width()) - GAP.width()
    height = 2 * MARGIN + max_rows * row_height - GAP.height()
    nodes = {key: lineage.nodes[key] for key in keys}
    texts = {key: (visible(node.title), kind_text(node)) for key, node in nodes.items()}
    size = QSize(round(width), round(height))
    return Graph(boxes, nodes, texts, edges, columns, size)


def _move_before_targets(layers: dict[str, int], edges: Sequence[Edge]) -> dict[str, int]:
    """Move sources directly before their results, to keep lines short."""
    roots = layers.keys() - {edge.target for edge in edges}
    first: dict[str, int] = {}
    for edge in edges:
        if edge.source in roots:
            first[edge.source] = min(
                first.get(edge.source, layers[edge.target]), layers[edge.target]
            )
    return layers | {key: layer - 1 for key, layer in first.items()}


def _columns(
    keys: Sequence[str], layers: dict[str, int], edges: Sequence[Edge]
) -> tuple[tuple[str, ...], ...]:
    """Order each layer by the barycentre heuristic of Sugiyama, Tagawa and Toda (1981)."""
    used_layers = sorted(set(layers.values()))
    columns = [[key for key in keys if layers[key] == number] for number in used_layers]
    neighbours: dict[str, list[str]] = {key: [] for key in keys}
    for edge in edges:
        neighbours[edge.source].append(edge.target)
        neighbours[edge.target].append(edge.source)
    for _ in range(SWEEPS):
        ranks = {
            key: rank - len(column) / 2 for column in columns for rank, key in enumerate(column)
        }
        for column in columns:
            centre = {key: _mean([ranks[o] for o in neighbours[key]], ranks[key]) for key in column}
            column.sort(key=lambda key: centre[key])
    return tuple(map(tuple, columns))


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


class LineagePicture(QWidget):
    """The graph. Arrow keys follow lines and columns; Enter or a double click opens.

    Signals:
        selected: the key of the node that was clicked or reached by keys.
        opened: the key of a node.
    """

    selected = Signal(str)
    opened = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.graph: Graph | None = None
        self.focus_key = self.current = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Lineage"))

    def show_graph(self, graph: Graph, focus: str, current: str) -> None:
        self.graph, self.focus_key = graph, focus
        self.setFixedSize(graph.size)
        self.set_current(current)

    def set_current(self, key: str) -> None:
        self.current = key
        if self.graph is not None and key in self.graph.texts:
            self.setAccessibleDescription(", ".join(self.graph.texts[key]))
        self.update()

    def figure(self) -> Figure | None:
        """The graph for export; its table has a row for each arrow."""
        graph, focus = self.graph, self.focus_key
        if graph is None or focus not in graph.nodes:
            return None

        def draw(painter: QPainter, size: QSizeF) -> None:
            painter.scale(size.width() / graph.size.width(), size.height() / graph.size.height())
            paint(painter, graph, focus, "", print_color, print_font)

        title = tr("Lineage of {0}").format(graph.texts[focus][0])
        caption = tr("%Ln item(s)", len(graph.nodes)) + "."
        return Figure("lineage", title, caption, graph.size, draw, table=lambda: _table(graph))

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self.graph is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        current = self.current
        paint(painter, self.graph, self.focus_key, current, theme.colour, _screen_font)
        if self.hasFocus() and current in self.graph.boxes:
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1, Qt.PenStyle.DotLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.graph.boxes[current].adjusted(-4, -4, 4, 4), 8, 8)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if key := self._node_at(event.position()):
            self.selected.emit(key)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if key := self._node_at(event.position()):
            self.opened.emit(key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(self.current)
        elif (target := self._neighbour(key)) is not None:
            self.selected.emit(target)
        else:
            super().keyPressEvent(event)

    def _node_at(self, point: QPointF) -> str:
        if self.graph is None:
            return ""
        return next((k for k, box in self.graph.boxes.items() if box.contains(point)), "")

    def _neighbour(self, key: Qt.Key) -> str | None:
        """The node in the direction of an arrow key; None if there is none."""
        graph, current = self.graph, self.current
        if graph is None or current not in graph.boxes:
            return None
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            is_back = key == Qt.Key.Key_Left
            ends = [(e.target, e.source) if is_back else (e.source, e.target) for e in graph.edges]
            others = [other for end, other in ends if end == current]
            middle = graph.boxes[current].center().y()
            return min(
                others, key=lambda k: abs(graph.boxes[k].center().y() - middle), default=None
            )
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(key)
        if step is None:
            return None
        column = next(column for column in graph.columns if current in column)
        index = column.index(current) + step
        return column[index] if 0 <= index < len(column) else None


def _screen_font(_pixels: float, bold: bool = False) -> QFont:
    return font("strong" if bold else "small")


def paint(
    painter: QPainter,
    graph: Graph,
    focus: str,
    current: str,
    colour: Callable[..., QColor],
    get_font: Callable[[float, bool], QFont],
) -> None:
    """Paint lines, then boxes; the current node and its lines are highlighted."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for edge in graph.edges:
        is_current = current in (edge.source, edge.target)
        pen = QPen(colour(Role.ACCENT if is_current else Role.EDGE), 2 if is_current else 1.2)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(_line(graph.boxes[edge.source], graph.boxes[edge.target]))
    for key, box in graph.boxes.items():
        _paint_box(painter, graph, key, box, (key == focus, key == current), colour, get_font)


def _line(source: QRectF, target: QRectF) -> QPainterPath:
    start = QPointF(source.right(), source.center().y())
    end = QPointF(target.left(), target.center().y())
    bend = max(GAP.width() / 2, (end.x() - start.x()) / 2)
    path = QPainterPath(start)
    path.cubicTo(start + QPointF(bend, 0), end - QPointF(bend, 0), end)
    for side in (-4, 4):
        path.moveTo(end)
        path.lineTo(end + QPointF(-6, side))
    return path


def _paint_box(
    painter: QPainter,
    graph: Graph,
    key: str,
    box: QRectF,
    marks: tuple[bool, bool],
    colour: Callable[..., QColor],
    get_font: Callable[[float, bool], QFont],
) -> None:
    is_focus, is_current = marks
    node = graph.nodes[key]
    frame = QPen(
        colour(Role.ACCENT if is_current or is_focus else Role.EDGE), 2 if is_current else 1
    )
    if not node.exists:
        frame.setStyle(Qt.PenStyle.DashLine)
    shape = QPainterPath()
    shape.addRoundedRect(box, 6, 6)
    painter.fillPath(shape, colour(Role.ACCENT_SOFT if is_focus else Role.SURFACE))
    painter.save()
    painter.setClipPath(shape, Qt.ClipOperation.IntersectClip)
    painter.fillRect(
        QRectF(box.topLeft(), QSizeF(STRIPE, box.height())), colour(theme.NODES[node.kind])
    )
    painter.restore()
    painter.setPen(frame)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawPath(shape)
    title, kind = graph.texts[key]
    for text, role, bold, top in (
        (title, Role.TEXT if node.exists else Role.MUTED, True, box.top() + 3),
        (kind, Role.MUTED, False, box.center().y() + 1),
    ):
        text_font = get_font(12 if bold else 11, bold)
        painter.setFont(text_font)
        painter.setPen(colour(role))
        area = QRectF(box.left() + INSET, top, box.width() - INSET - SPACE, box.height() / 2 - 2)
        elided = QFontMetricsF(text_font).elidedText(
            text, Qt.TextElideMode.ElideMiddle, area.width()
        )
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, elided)


def _table(graph: Graph) -> Table:
    header = (tr("Source"), tr("Source kind"), tr("Result"), tr("Result kind"), tr("How"))
    rows = [
        (*graph.texts[edge.source], *graph.texts[edge.target], translated(edge.label))
        for edge in graph.edges
    ]
    return Table(header, rows)
