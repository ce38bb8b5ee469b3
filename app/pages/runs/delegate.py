"""How cells of the table of runs are painted: the state with its icon, the curve, the progress."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QApplication, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app import resources, theme
from app.pages.runs.columns import Column
from app.pages.runs.rows import RunRow
from app.pages.runs.table import ROW_ROLE
from app.theme import SPACE, Role
from app.widgets import run_texts
from app.widgets.sparkline import paint_sparkline
from app.widgets.tables import Index

ROW_HEIGHT = 40  # px of a row
ICON_SIDE = 16  # px of an icon
BAR = 6  # px, height of a progress bar


class RunDelegate(QStyledItemDelegate):
    """Paints every cell; the style draws selection, hover and focus below."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(super().sizeHint(option, index).width(), ROW_HEIGHT)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, column = index.data(ROW_ROLE), Column(index.column())
        if not isinstance(row, RunRow):
            return
        self._paint_ground(painter, option, index)
        inner = QRectF(option.rect).adjusted(2 * SPACE, 0, -2 * SPACE, 0)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(option.font)
        match column:
            case Column.STATE:
                paint_state(painter, inner, row.state, index.data())
            case Column.LOSS:
                _paint_loss(painter, inner, row, index.data())
            case Column.PROGRESS:
                _paint_progress(painter, inner, row, index.data())
            case _:
                _paint_text(painter, inner, row.star and column is Column.NAME, index.data())
        painter.restore()

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        """Selection, hover and focus as the style draws them, without the text."""
        ground = QStyleOptionViewItem(option)
        self.initStyleOption(ground, index)
        ground.text = ""
        ground.features &= ~QStyleOptionViewItem.ViewItemFeature.HasDecoration
        style = option.widget.style() if option.widget else QApplication.style()
        style.drawControl(QStyle.ControlElement.CE_ItemViewItem, ground, painter, option.widget)


def paint_state(painter: QPainter, place: QRectF, state: str, word: str) -> None:
    """The icon of a state and its word."""
    name, role = run_texts.ICONS.get(state, ("circle", Role.MUTED))
    square = QRectF(place.left(), place.center().y() - ICON_SIDE / 2, ICON_SIDE, ICON_SIDE)
    resources.icon(name, role).paint(painter, square.toRect())
    painter.setPen(theme.colour(Role.TEXT if role is Role.MUTED else role))
    text = place.adjusted(ICON_SIDE + 1.5 * SPACE, 0, 0, 0)
    room = int(text.width()) + 1
    shown = painter.fontMetrics().elidedText(word, Qt.TextElideMode.ElideRight, room)
    painter.drawText(text, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


def _paint_text(painter: QPainter, place: QRectF, star: bool, text: str) -> None:
    """One line, cut where there is no room; a star before it if it has one."""
    if star:
        square = QRectF(place.left(), place.center().y() - ICON_SIDE / 2, ICON_SIDE, ICON_SIDE)
        resources.icon("star", Role.WARN).paint(painter, square.toRect())
        place = place.adjusted(ICON_SIDE + 1.5 * SPACE, 0, 0, 0)
    painter.setPen(theme.colour(Role.TEXT))
    shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideMiddle, int(place.width()))
    painter.drawText(place, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, shown)


def _paint_loss(painter: QPainter, place: QRectF, row: RunRow, word: str) -> None:
    """The curve of the training loss, and where it stands now."""
    width = painter.fontMetrics().horizontalAdvance("00.000")
    number = QRectF(place.right() - width, place.top(), width, place.height())
    painter.setPen(theme.colour(Role.MUTED))
    right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
    painter.drawText(number, right, word)
    curve = QRectF(place.left(), place.top() + 9, number.left() - place.left() - 8, ROW_HEIGHT - 19)
    if curve.width() > 16:
        paint_sparkline(painter, curve, row.losses, theme.colour(Role.CHART_1))


def _paint_progress(painter: QPainter, place: QRectF, row: RunRow, word: str) -> None:
    if not row.steps:
        return
    width = painter.fontMetrics().horizontalAdvance("100 %") + 4.0
    bar = QRectF(place.left(), place.center().y() - BAR / 2, place.width() - width - 8, BAR)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(Role.BORDER))
    painter.drawRoundedRect(bar, BAR / 2, BAR / 2)
    done = QRectF(bar)
    done.setWidth(max(BAR, bar.width() * row.share))
    _, role = run_texts.ICONS.get(row.state, ("", Role.MUTED))
    painter.setBrush(theme.colour(role))
    if row.share > 0:
        painter.drawRoundedRect(done, BAR / 2, BAR / 2)
    painter.setPen(theme.colour(Role.MUTED))
    number = QRectF(place.right() - width, place.top(), width, place.height())
    right = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
    painter.drawText(number, right, word)
