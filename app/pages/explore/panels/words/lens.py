"""Logit lens: the prediction after each layer as a small grid."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app.pages.explore.captions import source
from app.pages.explore.panel import ResultStack
from app.pages.explore.panels.words.state import WordsState
from app.pages.explore.paper import CENTER, RIGHT, draw_elided
from app.resources import mono_font
from app.theme import PICKED, SPACE, Palette, Role, colour, print_color
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.charts.bars import percentage
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.keys import arrow_step, clamp
from app.widgets.page import EmptyState, scrolling
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text, font
from engine.messages.explore.token_scores import LensApplied

CELL, HEADER_HEIGHT = QSize(28 * SPACE, 11 * SPACE), 8 * SPACE  # px


class LayerGrid(QWidget):
    """Grid of layers (embeddings first) × positions; a cell shows the top prediction.

    Signals:
        hovered: row and column under the mouse or the keyboard cursor; -1, -1 for none.
        picked: a column was clicked.
    """

    hovered = Signal(int, int)
    picked = Signal(int)

    def __init__(self) -> None:
        super().__init__()
        self.applied: LensApplied | None = None
        self.names: tuple[str, ...] = ()
        self._hovered = (-1, -1)
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
        return QSize(0, 0) if self.applied is None else grid_size(self.applied, font("small"))

    def box(self, row: int, column: int) -> QRectF:
        return cell_box(left_width(font("small")), row, column)

    def cell_at(self, point: QPoint) -> tuple[int, int]:
        if self.applied is None:
            return -1, -1
        row = (point.y() - HEADER_HEIGHT) // CELL.height()
        column = int((point.x() - left_width(font("small"))) // CELL.width())
        is_inside = 0 <= row < self.rows() and 0 <= column < len(self.applied.positions)
        return (row, column) if is_inside else (-1, -1)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.cell_at(event.position().toPoint()))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        column = self.cell_at(event.position().toPoint())[1]
        if column >= 0:
            self.picked.emit(column)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover((-1, -1))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = arrow_step(event)
        if step is None or self.applied is None:
            super().keyPressEvent(event)
            return
        row, column = max(self._hovered[0], 0) + step[0], max(self._hovered[1], 0) + step[1]
        last = self.rows() - 1, len(self.applied.positions) - 1
        self._hover((clamp(row, last[0]), clamp(column, last[1])))

    def _hover(self, cell: tuple[int, int]) -> None:
        if cell != self._hovered:
            self._hovered = cell
            self.hovered.emit(*cell)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.applied is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        paint_lens(painter, self.applied, self.names, colour, (mono_font(), font("small")))
        if self._hovered[0] >= 0:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(PICKED), 1.5))
            painter.drawRoundedRect(self.box(*self._hovered).adjusted(1, 1, -1, -1), 3, 3)

    def _description(self) -> str:
        if self.applied is None:
            return ""
        last = self.applied.layers[-1]
        return ", ".join(
            f"{name}: {token_text(prediction.ranked[0].label)}"
            for name, prediction in zip(self.names, last.predictions, strict=True)
        )


class LensView(QWidget):
    def __init__(self, state: WordsState) -> None:
        super().__init__()
        self.state, self.queries = state, tuple(state.lens_queries)
        self.grids = (LayerGrid(), LayerGrid())
        self.names = (Text("", "strong", wraps=False), Text("", "strong", wraps=False))
        self.readout = OneLine("", "body")
        both = layouts.row(spacing=8 * SPACE, margins=None)
        for side, (name, grid) in enumerate(zip(self.names, self.grids, strict=True)):
            layout = layouts.column(name, grid, layouts.STRETCH)
            both.addLayout(layout)
            grid.hovered.connect(
                lambda row, column, side=side: self._show_readout(side, row, column)
            )
            grid.picked.connect(lambda column, side=side: self._pick(side, column))
        both.addStretch()
        inner = QWidget()
        inner.setLayout(both)
        page = layouts.page(
            Text(
                self.tr(
                    "The MLM head applied after each layer. Below each prediction: its "
                    "probability and the rank of the typed token."
                ),
                "small",
            ),
            self.readout,
            (scrolling(inner), 1),
        )
        self.page = page
        self.empty = EmptyState(
            "layers",
            self.tr("Mask or select a word to see the predictions after each layer"),
            self.tr("Double-click a word above to mask it, click to select it."),
            buttons.primary(self.tr("Mas&k a word"), state.mask_example, "eye-off"),
        )
        self.stack = ResultStack(page, self.empty)
        layouts.column(self.stack, parent=self)

    def _applied(self, side: int) -> LensApplied | None:
        return self.state.lens_queries[side].get_answer(LensApplied)

    def show_state(self) -> None:
        query = self.state.lens_queries[0]
        is_shown = query.answer is not None or query.is_waiting
        self.stack.show_query(query, self.page if is_shown else self.empty)
        for side, (name, grid) in enumerate(zip(self.names, self.grids, strict=True)):
            name.setText(self.state.explore.both[side].model_name)
            name.setVisible(self.state.explore.is_compared)
            grid.show_lens(self._applied(side), self._names(side))
            grid.setVisible(side < len(self.state.explore.sides))
        self._show_readout(0, -1, -1)

    def _names(self, side: int) -> tuple[str, ...]:
        applied, shown = self._applied(side), self.state.explore.both[side]
        if applied is None:
            return ()
        is_current = shown.tokens == applied.tokens  # False if the text has changed since
        return tuple(
            f"{n + 1} {token_text(shown.model_token(n) if is_current else applied.tokens[n].text)}"
            for n in applied.positions
        )

    def _show_readout(self, side: int, row: int, column: int) -> None:
        applied = self._applied(side)
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
        applied, explore = self._applied(side), self.state.explore
        if applied is not None:
            index = applied.positions[column]
            explore.pick(index if side == 0 else explore.first.counterpart(applied.tokens[index]))

    def figure(self) -> Figure | None:
        applied = self._applied(0)
        if applied is None:
            return None
        names = self._names(0)
        rows = [
            [layer_name(layer), name, rank, word.label, word.probability]
            for layer, predicted in enumerate(applied.layers)
            for name, prediction in zip(names, predicted.predictions, strict=True)
            for rank, word in enumerate(prediction.ranked, start=1)
        ]
        fonts = print_font(12), print_font(10)
        caption = self.tr(
            "Top prediction of the MLM head applied after each layer (logit lens), its "
            "probability, and the rank of the typed token."
        )
        return Figure(
            name="logit-lens",
            title=self.tr("Top predictions after each layer"),
            caption=f"{caption} {source(self.state.explore)}",
            size=grid_size(applied, fonts[1]),
            paint=lambda painter, _: paint_lens(painter, applied, names, print_color, fonts),
            table=lambda: Table(("layer", "token", "rank", "prediction", "probability"), rows),
        )


def layer_name(index: int) -> str:
    if not index:
        return tr("embeddings")
    return tr("layer {0}").format(index)


def left_width(small: QFont) -> float:
    """Width of the layer names in px."""
    return QFontMetricsF(small).horizontalAdvance(layer_name(0)) + 4 * SPACE


def cell_box(left: float, row: int, column: int) -> QRectF:
    corner = QPointF(left + column * CELL.width(), HEADER_HEIGHT + row * CELL.height())
    return QRectF(corner, QSizeF(CELL))


def grid_size(applied: LensApplied, small: QFont) -> QSize:
    last = cell_box(left_width(small), len(applied.layers) - 1, len(applied.positions) - 1)
    return QSize(round(last.right()) + 1, round(last.bottom()) + 1)


def paint_lens(
    painter: QPainter,
    applied: LensApplied,
    names: Sequence[str],
    palette: Palette,
    fonts: tuple[QFont, QFont],
) -> None:
    """Paint layers × positions; `fonts` are for tokens and for small texts."""
    left = left_width(fonts[1])
    for column, name in enumerate(names):
        painter.setFont(fonts[0])
        painter.setPen(palette(Role.TEXT, 1.0))
        box = QRectF(cell_box(left, 0, column).left(), 0, CELL.width(), HEADER_HEIGHT)
        draw_elided(painter, box, name, CENTER)
    for row, layer in enumerate(applied.layers):
        painter.setFont(fonts[1])
        painter.setPen(palette(Role.MUTED, 1.0))
        box = cell_box(0, row, 0)
        box.setWidth(left - 2 * SPACE)
        painter.drawText(box, RIGHT, layer_name(row))
        for column, (prediction, actual) in enumerate(
            zip(layer.predictions, layer.actual, strict=True)
        ):
            best = prediction.ranked[0]
            box = cell_box(left, row, column).adjusted(1, 1, -1, -1)
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(palette(Role.ACCENT, 0.06 + 0.5 * best.probability))
            painter.drawRoundedRect(box, 3, 3)
            painter.setFont(fonts[0])
            painter.setPen(palette(Role.TEXT, 1.0))
            upper = box.adjusted(SPACE / 2, 2, -SPACE / 2, -box.height() * 0.42)
            draw_elided(painter, upper, token_text(best.label), CENTER)
            painter.setFont(fonts[1])
            lower = QRectF(QPointF(box.left(), box.center().y() + 2), box.bottomRight())
            rank = f" · #{actual.rank}" if actual is not None else ""
            painter.drawText(lower, CENTER, percentage(best.probability) + rank)
