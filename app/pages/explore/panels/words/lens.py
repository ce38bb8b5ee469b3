"""Logit lens: the prediction after each layer as a small grid."""

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.pages.explore.captions import source
from app.pages.explore.panel import ResultStack
from app.pages.explore.panels.words.part import Part, paint_grid
from app.pages.explore.panels.words.state import WordsState
from app.resources import mono_font
from app.theme import PICKED, SPACE, Role, colour
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.bars import percentage
from app.widgets.charts.figure import Figure, Table
from app.widgets.keys import arrow_step, clamp
from app.widgets.page import EmptyState, scrolling
from app.widgets.text.chips import AS_STORED, token_text
from app.widgets.text.labels import OneLine, Text, font
from engine.messages.explore.lens import LensApplied

CELL = QSize(28 * SPACE, 11 * SPACE)  # px


class LayerGrid(QWidget):
    """Grid of layers (embeddings first) × positions; a cell shows the top prediction.

    Signals:
        pointed: row and column under the mouse or the keyboard cursor; -1, -1 for none.
        picked: a column was clicked.
    """

    pointed = Signal(int, int)
    picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.applied: LensApplied | None = None
        self.names: tuple[str, ...] = ()
        self._at = (-1, -1)
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(self.tr("Top prediction after each layer"))

    def show_lens(self, applied: LensApplied | None, names: tuple[str, ...] = ()) -> None:
        """Show a lens; `names` are the columns' tokens with their indices."""
        if applied is self.applied and names == self.names:
            return
        self.applied, self.names = applied, names
        self.setAccessibleDescription(self._description())
        self.updateGeometry()
        self.update()

    def rows(self) -> int:
        return len(self.applied.layers) if self.applied else 0

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def sizeHint(self) -> QSize:
        if self.applied is None:
            return QSize(0, 0)
        wide = self._left() + CELL.width() * len(self.applied.positions)
        return QSize(round(wide) + 1, CELL.height() * self.rows() + self._top() + 1)

    def box(self, row: int, column: int) -> QRectF:
        left = self._left() + column * CELL.width()
        return QRectF(left, self._top() + row * CELL.height(), CELL.width(), CELL.height())

    def at(self, point: QPoint) -> tuple[int, int]:
        if self.applied is None:
            return -1, -1
        row = (point.y() - self._top()) // CELL.height()
        column = int((point.x() - self._left()) // CELL.width())
        inside = 0 <= row < self.rows() and 0 <= column < len(self.applied.positions)
        return (row, column) if inside else (-1, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self.at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        column = self.at(event.position().toPoint())[1]
        if column >= 0:
            self.picked.emit(column)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point((-1, -1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = arrow_step(event)
        if step is None or self.applied is None:
            super().keyPressEvent(event)
            return
        row, column = max(self._at[0], 0) + step[0], max(self._at[1], 0) + step[1]
        last = self.rows() - 1, len(self.applied.positions) - 1
        self._point((clamp(row, last[0]), clamp(column, last[1])))

    def _point(self, at: tuple[int, int]) -> None:
        if at != self._at:
            self._at = at
            self.pointed.emit(*at)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.applied is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(font("small"))
        for row in range(self.rows()):
            painter.setPen(colour(Role.MUTED))
            box = QRectF(0, self.box(row, 0).top(), self._left() - 2 * SPACE, CELL.height())
            painter.drawText(box, middle | Qt.AlignmentFlag.AlignRight, layer_name(row))
        for column, name in enumerate(self.names):
            painter.setFont(mono_font())
            painter.setPen(colour(Role.TEXT))
            head = self.box(0, column)
            box = QRectF(head.left(), 0, head.width(), self._top())
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter | AS_STORED, name)
            for row in range(self.rows()):
                self._paint_cell(painter, row, column)

    def _paint_cell(self, painter: QPainter, row: int, column: int) -> None:
        assert self.applied is not None
        layer = self.applied.layers[row]
        best, actual = layer.predictions[column].ranked[0], layer.actual[column]
        box = self.box(row, column).adjusted(1, 1, -1, -1)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(Role.ACCENT, 0.06 + 0.5 * best.probability))
        painter.drawRoundedRect(box, 3, 3)
        if (row, column) == self._at:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(PICKED), 1.5))
            painter.drawRoundedRect(box, 3, 3)
        painter.setFont(mono_font())
        painter.setPen(colour(Role.TEXT))
        label = QFontMetricsF(painter.font()).elidedText(
            token_text(best.label), Qt.TextElideMode.ElideRight, box.width() - SPACE
        )
        upper = box.adjusted(0, 2, 0, -box.height() * 0.42)
        painter.drawText(upper, Qt.AlignmentFlag.AlignCenter | AS_STORED, label)
        painter.setFont(font("small"))
        lower = QRectF(QPointF(box.left(), box.center().y() + 2), box.bottomRight())
        text = percentage(best.probability)
        if actual is not None:
            text += " · " + self.tr("#{0}").format(actual.rank)
        painter.drawText(lower, Qt.AlignmentFlag.AlignCenter, text)

    def _description(self) -> str:
        if self.applied is None:
            return ""
        last = self.applied.layers[-1]
        return ", ".join(
            f"{name}: {token_text(prediction.ranked[0].label)}"
            for name, prediction in zip(self.names, last.predictions, strict=True)
        )

    def _left(self) -> float:
        return QFontMetricsF(font("small")).horizontalAdvance(layer_name(0)) + 4 * SPACE

    def _top(self) -> int:
        return 8 * SPACE


class Lens(Part):
    """A grid for each model."""

    def __init__(self, state: WordsState) -> None:
        super().__init__(state, state.lens_queries)
        self.grids = (LayerGrid(), LayerGrid())
        self.names = (Text("", "strong", wraps=False), Text("", "strong", wraps=False))
        self.readout = OneLine("", "body")
        both = layouts.row(spacing=8 * SPACE, margins=None)
        for side, (name, grid) in enumerate(zip(self.names, self.grids, strict=True)):
            one = layouts.column(name, grid, layouts.STRETCH)
            both.addLayout(one)
            grid.pointed.connect(
                lambda row, column, side=side: self._show_readout(side, row, column)
            )
            grid.picked.connect(lambda column, side=side: self._pick(side, column))
        both.addStretch()
        inner = QWidget()
        inner.setLayout(both)
        page = QWidget()
        layouts.column(
            Text(
                self.tr(
                    "The MLM head applied after each layer. Below each prediction: its "
                    "probability and the rank of the typed token."
                ),
                "small",
            ),
            self.readout,
            (scrolling(inner), 1),
            parent=page,
        )
        self.page = page
        self.nothing = EmptyState(
            "layers",
            self.tr("Mask or select a word to see the predictions after each layer"),
            self.tr("Double-click a word above to mask it, click to select it."),
        )
        self.stack = ResultStack(page, self.nothing)
        layouts.column(self.stack, parent=self)

    def show_state(self) -> None:
        query = self.state.lens_queries[0]
        is_shown = self.state.applied() is not None or query.is_waiting
        self.stack.show_query(query, self.page if is_shown else self.nothing)
        for side, (name, grid) in enumerate(zip(self.names, self.grids, strict=True)):
            name.setText(self.state.explore.both[side].model_name)
            name.setVisible(self.state.explore.is_compared)
            grid.show_lens(self.state.applied(side), self._names(side))
            grid.setVisible(side < len(self.state.explore.sides))
        self._show_readout(0, -1, -1)

    def _names(self, side: int) -> tuple[str, ...]:
        applied, shown = self.state.applied(side), self.state.explore.both[side]
        if applied is None:
            return ()
        known = shown.tokens == applied.tokens  # False if the text has changed since
        return tuple(
            f"{n + 1} {token_text(shown.model_token(n) if known else applied.tokens[n].text)}"
            for n in applied.positions
        )

    def _show_readout(self, side: int, row: int, column: int) -> None:
        applied = self.state.applied(side)
        if applied is None or not (0 <= row < len(applied.layers)):
            self.readout.setText(self.tr("Hover over a cell to see its top predictions."))
            return
        prediction = applied.layers[row].predictions[column]
        best = ", ".join(
            f"“{token_text(o.label)}” {percentage(o.probability)}" for o in prediction.ranked
        )
        text = self.tr("Token {0}, {1}: {2}")
        self.readout.setText(text.format(prediction.first + 1, layer_name(row), best))

    def _pick(self, side: int, column: int) -> None:
        applied, explore = self.state.applied(side), self.state.explore
        if applied is not None:
            number = applied.positions[column]
            explore.pick(number if side == 0 else explore.first.counterpart(applied.tokens[number]))

    def figure(self) -> Figure | None:
        applied = self.state.applied()
        if applied is None:
            return None
        across = list(self._names(0))
        down = [layer_name(number) for number in range(len(applied.layers))]
        cells, rows = [], []
        for name, layer in zip(down, applied.layers, strict=True):
            line = []
            for head, prediction, actual in zip(
                across, layer.predictions, layer.actual, strict=True
            ):
                best = prediction.ranked[0]
                rank = f" · #{actual.rank}" if actual else ""
                line.append((best.label, percentage(best.probability) + rank, best.probability))
                rows += [
                    [name, head, number, one.label, one.probability]
                    for number, one in enumerate(prediction.ranked, start=1)
                ]
            cells.append(line)
        caption = self.tr(
            "Top prediction of the MLM head applied after each layer (logit lens), its "
            "probability, and the rank of the typed token."
        )
        size = QSize((len(across) + 1) * 120, (len(down) + 1) * 38)
        return Figure(
            name="logit-lens",
            title=self.tr("Top predictions after each layer"),
            caption=f"{caption} {source(self.state.explore)}",
            size=size,
            paint=lambda painter, area: paint_grid(painter, area, across, down, cells),
            table=lambda: Table(("layer", "token", "rank", "prediction", "probability"), rows),
        )


def layer_name(number: int) -> str:
    """Embeddings, or the layer of a row."""
    if not number:
        return tr("embeddings")
    return tr("layer {0}").format(number)
