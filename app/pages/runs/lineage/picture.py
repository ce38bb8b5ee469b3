"""The graph of a lineage: boxes in columns, from sources at the left to results at the right."""

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
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.text.labels import font, visible
from engine.runs.lineage import Edge, Lineage, Node

BOX = QSizeF(170, 46)  # px
GAP = QSizeF(40, 12)  # px between columns, and between boxes
EDGE_ROOM = 12  # px around the graph
STRIPE = 5  # px, in the colour of the kind
INSET = 12  # px from the left of a box to its text
SWEEPS = 4  # passes of the barycentre heuristic


@dataclass(frozen=True)
class Drawn:
    """The laid out graph; `texts` are title and kind of each box."""

    boxes: dict[str, QRectF]
    nodes: dict[str, Node]
    texts: dict[str, tuple[str, str]]
    edges: tuple[Edge, ...]
    columns: tuple[tuple[str, ...], ...]
    size: QSize


def layout_graph(lineage: Lineage, keys: Sequence[str]) -> Drawn:
    """Lay out boxes by layer, each near its sources and results."""
    edges = tuple(lineage.edges_among(keys))
    layers = _beside_their_targets(lineage.layers(keys), edges)
    columns = _columns(keys, layers, edges)
    tall = max((len(column) for column in columns), default=1)
    row_height = BOX.height() + GAP.height()
    boxes = {}
    for number, column in enumerate(columns):
        top = EDGE_ROOM + (tall - len(column)) * row_height / 2
        left = EDGE_ROOM + number * (BOX.width() + GAP.width())
        for row, key in enumerate(column):
            boxes[key] = QRectF(QPointF(left, top + row * row_height), BOX)
    width = 2 * EDGE_ROOM + len(columns) * (BOX.width() + GAP.width()) - GAP.width()
    height = 2 * EDGE_ROOM + tall * row_height - GAP.height()
    nodes = {key: lineage.nodes[key] for key in keys}
    texts = {key: (visible(node.title), kind_text(node)) for key, node in nodes.items()}
    size = QSize(round(width), round(height))
    return Drawn(boxes, nodes, texts, edges, columns, size)


def _beside_their_targets(layers: dict[str, int], edges: Sequence[Edge]) -> dict[str, int]:
    """Move sources right before their results, to keep lines short."""
    begun = layers.keys() - {edge.target for edge in edges}
    first: dict[str, int] = {}
    for edge in edges:
        if edge.source in begun:
            first[edge.source] = min(
                first.get(edge.source, layers[edge.target]), layers[edge.target]
            )
    return layers | {key: layer - 1 for key, layer in first.items()}


def _columns(
    keys: Sequence[str], layers: dict[str, int], edges: Sequence[Edge]
) -> tuple[tuple[str, ...], ...]:
    """Barycentre heuristic of Sugiyama, Tagawa and Toda (1981)."""
    numbers = sorted(set(layers.values()))
    columns = [[key for key in keys if layers[key] == number] for number in numbers]
    beside: dict[str, list[str]] = {key: [] for key in keys}
    for edge in edges:
        beside[edge.source].append(edge.target)
        beside[edge.target].append(edge.source)
    for _ in range(SWEEPS):
        ranks = {
            key: rank - len(column) / 2 for column in columns for rank, key in enumerate(column)
        }
        for column in columns:
            centre = {key: _mean([ranks[o] for o in beside[key]], ranks[key]) for key in column}
            column.sort(key=lambda key: centre[key])
    return tuple(map(tuple, columns))


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


class LineagePicture(QWidget):
    """The graph. Arrow keys follow lines and columns; Enter or a double click opens.

    Signals:
        selected: the key of the node that was clicked or walked to.
        opened: the key of a node.
    """

    selected = Signal(str)
    opened = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.drawn: Drawn | None = None
        self.focus_key = self.current = ""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(tr("Lineage"))

    def show_drawn(self, drawn: Drawn, focus: str, current: str) -> None:
        self.drawn, self.focus_key = drawn, focus
        self.setFixedSize(drawn.size)
        self.set_current(current)

    def set_current(self, key: str) -> None:
        self.current = key
        if self.drawn is not None and key in self.drawn.texts:
            self.setAccessibleDescription(", ".join(self.drawn.texts[key]))
        self.update()

    def figure(self) -> Figure | None:
        """The graph for export; its table has a row for each arrow."""
        drawn, focus = self.drawn, self.focus_key
        if drawn is None or focus not in drawn.nodes:
            return None

        def draw(painter: QPainter, size: QSizeF) -> None:
            painter.scale(size.width() / drawn.size.width(), size.height() / drawn.size.height())
            paint(painter, drawn, focus, "", print_color, paper_font)

        title = tr("Lineage of {0}").format(drawn.texts[focus][0])
        caption = tr("%Ln item(s)", len(drawn.nodes)) + "."
        return Figure("lineage", title, caption, drawn.size, draw, table=lambda: _table(drawn))

    def paintEvent(self, _event: QPaintEvent) -> None:
        if self.drawn is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        current = self.current
        paint(painter, self.drawn, self.focus_key, current, theme.colour, _screen_font)
        if self.hasFocus() and current in self.drawn.boxes:
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1, Qt.PenStyle.DotLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(self.drawn.boxes[current].adjusted(-4, -4, 4, 4), 8, 8)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if key := self._at(event.position()):
            self.selected.emit(key)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if key := self._at(event.position()):
            self.opened.emit(key)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.opened.emit(self.current)
        elif (target := self._beside(key)) is not None:
            self.selected.emit(target)
        else:
            super().keyPressEvent(event)

    def _at(self, point: QPointF) -> str:
        if self.drawn is None:
            return ""
        return next((k for k, box in self.drawn.boxes.items() if box.contains(point)), "")

    def _beside(self, key: Qt.Key) -> str | None:
        """The node in the direction of an arrow key; None if there is none."""
        drawn, current = self.drawn, self.current
        if drawn is None or current not in drawn.boxes:
            return None
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            is_back = key == Qt.Key.Key_Left
            ends = [(e.target, e.source) if is_back else (e.source, e.target) for e in drawn.edges]
            there = [other for end, other in ends if end == current]
            middle = drawn.boxes[current].center().y()
            return min(there, key=lambda k: abs(drawn.boxes[k].center().y() - middle), default=None)
        step = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(key)
        if step is None:
            return None
        column = next(column for column in drawn.columns if current in column)
        index = column.index(current) + step
        return column[index] if 0 <= index < len(column) else None


def _screen_font(_pixels: float, bold: bool = False) -> QFont:
    return font("strong" if bold else "small")


def paint(
    painter: QPainter,
    drawn: Drawn,
    focus: str,
    current: str,
    colour: Callable[..., QColor],
    letters: Callable[[float, bool], QFont],
) -> None:
    """Lines first, then boxes; those of the current node are highlighted."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    for edge in drawn.edges:
        is_current = current in (edge.source, edge.target)
        pen = QPen(colour(Role.ACCENT if is_current else Role.EDGE), 2 if is_current else 1.2)
        painter.setPen(pen)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawPath(_line(drawn.boxes[edge.source], drawn.boxes[edge.target]))
    for key, box in drawn.boxes.items():
        _paint_box(painter, drawn, key, box, (key == focus, key == current), colour, letters)


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
    drawn: Drawn,
    key: str,
    box: QRectF,
    marks: tuple[bool, bool],
    colour: Callable[..., QColor],
    letters: Callable[[float, bool], QFont],
) -> None:
    is_focus, is_current = marks
    node = drawn.nodes[key]
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
    title, kind = drawn.texts[key]
    for text, role, bold, top in (
        (title, Role.TEXT if node.exists else Role.MUTED, True, box.top() + 3),
        (kind, Role.MUTED, False, box.center().y() + 1),
    ):
        style = letters(12 if bold else 11, bold)
        painter.setFont(style)
        painter.setPen(colour(role))
        area = QRectF(box.left() + INSET, top, box.width() - INSET - SPACE, box.height() / 2 - 2)
        cut = QFontMetricsF(style).elidedText(text, Qt.TextElideMode.ElideMiddle, area.width())
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, cut)


def _table(drawn: Drawn) -> Table:
    header = (tr("Made from"), tr("Kind"), tr("Made"), tr("Kind of what was made"), tr("How"))
    rows = [
        (*drawn.texts[edge.source], *drawn.texts[edge.target], translated(edge.label))
        for edge in drawn.edges
    ]
    return Table(header, rows)
