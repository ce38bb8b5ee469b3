"""Painting of the table of runs: state icons, sparklines, progress bars."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QApplication,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app import resources, theme
from app.pages.runs.arranging import GroupRow
from app.pages.runs.columns import Column
from app.pages.runs.rows import RunRow
from app.pages.runs.table import ROW_ROLE, RunsTable
from app.theme import SPACE, Role, px
from app.translation import tr
from app.widgets.charts.sparkline import paint_sparkline
from app.widgets.tables import Index
from app.widgets.text import run_texts
from app.widgets.text.labels import font

ROW_HEIGHT = 40  # px
ICON_SIZE = 16  # px, at a text size of 100 %
BAR_HEIGHT = 6  # px, of progress bars


class RunDelegate(QStyledItemDelegate):
    """Paints each cell over the style's selection, hover and focus.

    `get_losses` returns the downsampled training loss of a run.
    """

    def __init__(
        self, owner: QWidget, table: RunsTable, get_losses: Callable[[RunRow], Sequence[float]]
    ) -> None:
        super().__init__(owner)
        self._table, self._get_losses = table, get_losses

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(super().sizeHint(option, index).width(), px(ROW_HEIGHT))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, key = index.data(ROW_ROLE), self._table.keys[index.column()]
        if not isinstance(row, RunRow | GroupRow):
            return
        self._paint_base(painter, option, index)
        inner = QRectF(option.rect).adjusted(2 * SPACE, 0, -2 * SPACE, 0)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(option.font)
        if isinstance(row, GroupRow):
            self._paint_group(painter, inner, row, index)
        else:
            self._paint_run(painter, inner, row, index.data(), key)
        painter.restore()

    def _paint_run(
        self, painter: QPainter, inner: QRectF, row: RunRow, text: str, key: str
    ) -> None:
        match key:
            case Column.STATE:
                paint_state(painter, inner, row.state, text)
            case Column.LOSS:
                _paint_loss(painter, inner, self._get_losses(row), text)
            case Column.PROGRESS:
                _paint_progress(painter, inner, row, text)
            case Column.NAME:
                inset = 4 * SPACE if self._table.group_keys else 0
                box = inner.adjusted(inset, 0, 0, 0)
                _paint_text(painter, box, row.star, text, Qt.TextElideMode.ElideMiddle)
            case Column.SEEDS:
                _paint_text(painter, inner, bool(text) and self._table.is_best(row), text)
            case _:
                _paint_text(painter, inner, False, text)

    def _paint_group(self, painter: QPainter, inner: QRectF, group: GroupRow, index: Index) -> None:
        """Paint in bold, with an arrow before the name."""
        bold = painter.font()
        bold.setBold(True)
        painter.setFont(bold)
        if self._table.keys[index.column()] == Column.NAME:
            name = "chevron-down" if self._table.is_open(group) else "chevron-right"
            inner = _paint_icon(painter, inner, resources.icon(name))
        is_score = self._table.keys[index.column()] == Column.BEST
        star = is_score and self._table.is_best_group(group)
        _paint_text(painter, inner, star, index.data())

    def _paint_base(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Paint selection, hover and focus as the style does, without the text."""
        item = QStyleOptionViewItem(option)
        self.initStyleOption(item, index)
        item.text = ""
        item.features &= ~QStyleOptionViewItem.ViewItemFeature.HasDecoration
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, item, painter, option.widget)


def paint_state(painter: QPainter, box: QRectF, state: str, text: str) -> None:
    name, role = run_texts.ICONS.get(state, ("circle", Role.MUTED))
    rest = _paint_icon(painter, box, resources.icon(name, role))
    painter.setPen(theme.colour(Role.TEXT if role is Role.MUTED else role))
    elided = painter.fontMetrics().elidedText(
        text, Qt.TextElideMode.ElideRight, int(rest.width()) + 1
    )
    painter.drawText(rest, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, elided)


def _paint_icon(painter: QPainter, box: QRectF, icon: QIcon) -> QRectF:
    """Paint an icon on the left and return the remaining space."""
    side = px(ICON_SIZE)
    square = QRectF(box.left(), box.center().y() - side / 2, side, side)
    icon.paint(painter, square.toRect())
    return box.adjusted(side + 1.5 * SPACE, 0, 0, 0)


def _paint_text(
    painter: QPainter,
    box: QRectF,
    star: bool,
    text: str,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> None:
    if star:
        box = _paint_icon(painter, box, resources.icon("star", Role.WARN))
    painter.setPen(theme.colour(Role.TEXT))
    elided = painter.fontMetrics().elidedText(text, elide, int(box.width()))
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, elided)


def _paint_loss(painter: QPainter, box: QRectF, losses: Sequence[float], text: str) -> None:
    width = painter.fontMetrics().horizontalAdvance("00.000")
    painter.setPen(theme.colour(Role.MUTED))
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, text)
    curve = box.adjusted(0, 9, -width - 8, -10)
    if curve.width() > 16:
        paint_sparkline(painter, curve, losses)


def _paint_progress(painter: QPainter, box: QRectF, row: RunRow, text: str) -> None:
    if not row.steps:
        return
    width = painter.fontMetrics().horizontalAdvance("100 %") + 4.0
    bar = QRectF(box.left(), box.center().y() - BAR_HEIGHT / 2, box.width() - width - 8, BAR_HEIGHT)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(Role.BORDER))
    painter.drawRoundedRect(bar, BAR_HEIGHT / 2, BAR_HEIGHT / 2)
    done = QRectF(bar)
    done.setWidth(max(BAR_HEIGHT, bar.width() * row.fraction))
    _, role = run_texts.ICONS.get(row.state, ("", Role.MUTED))
    painter.setBrush(theme.colour(role))
    if row.fraction > 0:
        painter.drawRoundedRect(done, BAR_HEIGHT / 2, BAR_HEIGHT / 2)
    painter.setPen(theme.colour(Role.MUTED))
    painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, text)


class StateBadge(QWidget):
    """The state of a run as an icon and a word."""

    def __init__(self) -> None:
        super().__init__()
        self._state = ""
        self.setFont(font("strong"))

    def show_state(self, state: str) -> None:
        self._state = state
        self.setAccessibleName(tr("State: {0}").format(run_texts.state_text(state)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(run_texts.state_text(self._state))
        side = px(ICON_SIZE)
        return QSize(side + 2 * SPACE + width + 2, max(side, self.fontMetrics().height()) + 4)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self.font())
        paint_state(painter, QRectF(self.rect()), self._state, run_texts.state_text(self._state))
