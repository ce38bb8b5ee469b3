"""Table of the tokens: id, segment, position and norms."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from PySide6.QtCore import QEvent, QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.pages.explore.captions import source
from app.pages.explore.panels.tokens.state import Row, TokensState
from app.resources import mono_font
from app.theme import CHART, SEGMENTS, SPACE, Role, colour
from app.translation import tr
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.table_figure import table_figure
from app.widgets.tables import Column, ColumnsModel, Index, apply_style
from app.widgets.text.chips import AS_STORED, token_text
from engine.messages.explore.embeddings import TableName

TOKEN, ID, FIRST_NORM = 0, 1, 4  # columns
TABLES: tuple[TableName, ...] = ("token", "position", "segment", "task")
ADDENDS = dict(zip(TABLES, CHART, strict=False))
DIGITS = 3  # decimals


class TokensModel(ColumnsModel[Row]):
    """The tokens of one side; columns of norms depend on the model's embeddings."""

    def __init__(self, state: TokensState, side: int, parent: QWidget) -> None:
        super().__init__(parent=parent)
        self._state, self._side = state, side
        self.tables: tuple[TableName, ...] = ()
        self.max_norm = 1.0  # largest norm of an addend
        state.changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        rows, tables = self._state.rows(self._side), self._state.tables(self._side)
        if (rows, tables) == (self.rows, self.tables):
            return
        has_new_tables, self.tables = tables != self.tables, tables
        count = len(tables)
        max_norm = max((max(r.norms[:count]) for r in rows if r.norms), default=1.0) or 1.0
        self.max_norm = self._state.explore.running_max("norms of embeddings", max_norm)
        if has_new_tables or [r.token for r in rows] != [r.token for r in self.rows]:
            self.show_rows(rows, self._columns())
        else:
            self.update_rows(rows)

    def bar(self, column: int, row: Row) -> tuple[float, Role] | None:
        """Fraction of the largest norm, and the colour of the addend; None for other columns."""
        index = column - FIRST_NORM
        if not row.norms or not 0 <= index < len(self.tables):
            return None
        return min(1.0, row.norms[index] / self.max_norm), ADDENDS[self.tables[index]]

    def _columns(self) -> list[Column[Row]]:
        tables = self.tables
        titles: dict[TableName, tuple[str, str]] = {
            "token": (self.tr("‖token‖"), self.tr("Norm of the token embedding")),
            "position": (self.tr("‖position‖"), self.tr("Norm of the position embedding")),
            "segment": (self.tr("‖segment‖"), self.tr("Norm of the segment embedding")),
            "task": (self.tr("‖task‖"), self.tr("Norm of the task embedding")),
        }
        norms = [
            *(titles[table] for table in tables),
            (self.tr("‖sum‖"), self.tr("Norm of the sum")),
            (self.tr("‖input‖"), self.tr("Norm of the input to the first layer")),
        ]
        positions = (
            self.tr("Index of the position embedding")
            if "position" in tables
            else self.tr("Index in the input; this model has no position embeddings")
        )
        return [
            Column(
                self.tr("Token"),
                lambda row: token_text(row.name),
                meaning=self.tr("Tokens of the input, after masking"),
            ),
            _number_column(
                self.tr("ID"),
                self.tr("Token ID in the vocabulary, after masking"),
                lambda row: row.id,
            ),
            _number_column(
                self.tr("Segment"),
                self.tr("0 in the first text, 1 in the second"),
                lambda row: row.token.segment,
            ),
            _number_column(self.tr("Position"), positions, lambda row: row.position),
            *(_norm_column(*title, index) for index, title in enumerate(norms)),
        ]


def _number_column(title: str, meaning: str, value: Callable[[Row], int]) -> Column[Row]:
    return Column(title, lambda row: str(value(row)), meaning=meaning, align_right=True)


def _norm_column(title: str, meaning: str, index: int) -> Column[Row]:
    def text(row: Row) -> str:
        return f"{row.norms[index]:.{DIGITS}f}" if row.norms else "…"

    return Column(title, text, meaning=meaning, align_right=True)


class TokenTable(QTableView):
    """Table of the tokens; the selected row is the page's selected token."""

    def __init__(self, state: TokensState, side: int = 0) -> None:
        super().__init__()
        self._state, self._side = state, side
        self._is_following = False
        self.rows = TokensModel(state, side, self)
        self.setModel(self.rows)
        self.setItemDelegate(_CellDelegate(state, side, self.rows))
        apply_style(self, self.tr("Tokens"))
        self.setMouseTracking(True)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        height = QFontMetrics(mono_font()).height() + 2 * SPACE
        vertical, horizontal = self.verticalHeader(), self.horizontalHeader()
        vertical.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        vertical.setDefaultSectionSize(height)
        vertical.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        horizontal.setHighlightSections(False)
        horizontal.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        horizontal.setMinimumSectionSize(12 * SPACE)
        self.rows.modelReset.connect(self._fit)
        self.selectionModel().currentRowChanged.connect(self._on_current)
        self.entered.connect(self._on_entered)
        state.explore.picked_changed.connect(self._follow)
        self._fit()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._state.explore.hover(-1)

    def _fit(self) -> None:
        metrics = QFontMetrics(self.horizontalHeader().font())
        digits = QFontMetrics(mono_font()).horizontalAdvance("00.000")
        for position, column in enumerate(self.rows.columns):
            min_width = digits if position == ID or position >= FIRST_NORM else 0
            width = max(metrics.horizontalAdvance(column.title), min_width) + 5 * SPACE
            self.setColumnWidth(position, 30 * SPACE if position == TOKEN else width)
        self._follow()

    def _follow(self) -> None:
        picked = self._state.explore.on_side(self._side, self._state.explore.picked)
        self._is_following = True
        if 0 <= picked < self.rows.rowCount():
            self.selectRow(picked)
            self.scrollTo(self.rows.index(picked, 0))
        else:
            self.clearSelection()
        self._is_following = False

    def _on_current(self, now: QModelIndex) -> None:
        if not self._is_following and now.isValid():
            self._state.explore.pick(self._state.explore.from_side(self._side, now.row()))

    def _on_entered(self, index: QModelIndex) -> None:
        self._state.explore.hover(self._state.explore.from_side(self._side, index.row()))


class _CellDelegate(QStyledItemDelegate):
    """Paints a segment mark for the token, and a bar behind each norm."""

    def __init__(self, state: TokensState, side: int, rows: TokensModel) -> None:
        super().__init__(rows)
        self._rows, self._side = rows, state.explore.both[side]

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(16 * SPACE, QFontMetrics(mono_font()).height() + 2 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row = self._rows.row(index.row())
        box, is_token = QRectF(option.rect), index.column() == TOKEN
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(box, colour(Role.ACCENT_SOFT))
        if is_token:
            self._paint_segment(painter, box, row.token.segment)
        else:
            self._paint_bar(painter, box, self._rows.bar(index.column(), row))
        painter.setFont(mono_font())
        painter.setPen(self._text_color(row, index))
        align = Qt.AlignmentFlag.AlignLeft if is_token else Qt.AlignmentFlag.AlignRight
        text = str(index.data())
        text_rect = box.adjusted(3 * SPACE, 0, -2 * SPACE, 0)
        if is_token:
            width = round(text_rect.width())
            text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, width)
        painter.drawText(text_rect, align | Qt.AlignmentFlag.AlignVCenter | AS_STORED, text)
        painter.restore()

    def _paint_segment(self, painter: QPainter, box: QRectF, segment: int) -> None:
        """Paint one line for the first text, two for the second: colour is not the only cue."""
        painter.setPen(QPen(colour(SEGMENTS[segment % len(SEGMENTS)]), 2))
        for line in range(1 + segment % len(SEGMENTS)):
            x = round(box.left()) + 2 + 4 * line
            painter.drawLine(x, round(box.top()) + 2, x, round(box.bottom()) - 2)

    def _paint_bar(self, painter: QPainter, box: QRectF, bar: tuple[float, Role] | None) -> None:
        if bar is None:
            return
        bar_box = box.adjusted(SPACE, 3, -SPACE, -3)
        bar_box.setLeft(bar_box.right() - bar_box.width() * bar[0])
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(bar[1], 0.22))
        painter.drawRoundedRect(bar_box, 2, 2)

    def _text_color(self, row: Row, index: Index) -> QColor:
        side, position = self._side, index.row()
        if row.token.special:
            return colour(Role.MUTED)
        if index.column() <= ID and position < len(side.tokens):
            if side.is_unknown(position):
                return colour(Role.WARN)
            if side.is_masked(position) or side.is_typed_mask(position):
                return colour(Role.ACCENT)
        return colour(Role.TEXT)


def make_figure(model: TokensModel, state: TokensState, side: int) -> Figure | None:
    """The table of one side with its bars; None until the norms are known."""
    rows, names = list(model.rows), [*model.tables, "sum", "input"]
    if not rows or not rows[0].norms:
        return None
    header = ("token", "id", "segment", "position", *(f"norm of {name}" for name in names))
    figure = table_figure(
        model,
        "tokens",
        tr("{0}: tokens and the norms of their embeddings").format(
            state.explore.both[side].model_name
        ),
        tr(
            "Euclidean norms of the embeddings that are summed, of their sum,"
            " and of the input to the first layer. Columns of the table: {0}. {1}"
        ).format(", ".join(names), source(state.explore, side)),
        lambda: Table(
            header, [(r.name, r.id, r.token.segment, r.position, *r.norms) for r in rows]
        ),
        bar=model.bar,
        max_rows=len(rows),
    )
    return replace(figure, array=np.array([row.norms for row in rows], dtype=np.float32))
