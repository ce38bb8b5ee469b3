"""Table of the tokens: id, segment, position and norms."""

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QRectF,
    QSize,
    Qt,
)
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import (
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.pages.explore.panels.tokens.state import Row, TokensState
from app.resources import mono_font
from app.theme import CHART, SEGMENTS, SPACE, Role, colour
from app.widgets.tables import AT_LEFT, AT_RIGHT, Index
from app.widgets.text.chips import AS_STORED, painted
from app.widgets.text.labels import tooltip
from engine.messages.explore.embeddings import Table

TOKEN, ID, SEGMENT, POSITION, FIRST_NORM = range(5)
ADDENDS: dict[Table, Role] = {"token": CHART[0], "position": CHART[1], "segment": CHART[2]}
DIGITS = 3  # decimals


class TokenRows(QAbstractTableModel):
    def __init__(self, state: TokensState, side: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._state, self._side = state, side
        self.rows: list[Row] = []
        self.tables: tuple[Table, ...] = ()
        self.headings: list[tuple[str, str]] = []  # title and explanation of every column
        self.most = 1.0  # largest norm of an addend
        state.changed.connect(self.take)
        self.take()

    def take(self) -> None:
        """Update from the state."""
        rows, tables = self._state.rows(self._side), self._state.tables(self._side)
        if (rows, tables) == (self.rows, self.tables):
            return
        reset = tables != self.tables or [r.token for r in rows] != [r.token for r in self.rows]
        if reset:
            self.beginResetModel()
        if tables != self.tables:
            self.headings = self._headings(tables)
        self.rows, self.tables = rows, tables
        count = len(tables)
        most = max((max(r.norms[:count]) for r in rows if r.norms), default=1.0) or 1.0
        self.most = self._state.explore.running_max("norms of embeddings", most)
        if reset:
            self.endResetModel()
        elif rows:
            self.dataChanged.emit(
                self.index(0, 0), self.index(len(rows) - 1, self.columnCount() - 1)
            )

    def rowCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index | None = None) -> int:
        return 0 if parent is not None and parent.isValid() else len(self.headings)

    def _headings(self, tables: tuple[Table, ...]) -> list[tuple[str, str]]:
        names = {
            "token": (self.tr("‖token‖"), self.tr("Norm of the token embedding")),
            "position": (self.tr("‖position‖"), self.tr("Norm of the position embedding")),
            "segment": (self.tr("‖segment‖"), self.tr("Norm of the segment embedding")),
        }
        return [
            (self.tr("Token"), self.tr("Each token as the model sees it")),
            (self.tr("ID"), self.tr("Token ID in the vocabulary, as the model sees it")),
            (self.tr("Segment"), self.tr("0 in the first text, 1 in the second")),
            (
                self.tr("Position"),
                self.tr("Index of the position embedding")
                if "position" in tables
                else self.tr("Place in the input; this model has no position embeddings"),
            ),
            *(names[table] for table in tables),
            (self.tr("‖sum‖"), self.tr("Norm of the sum")),
            (self.tr("‖input‖"), self.tr("Norm of the input to the first layer")),
        ]

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        if orientation == Qt.Orientation.Vertical:
            return section + 1 if role == Qt.ItemDataRole.DisplayRole else None
        heading, meaning = self.headings[section]
        if role == Qt.ItemDataRole.DisplayRole:
            return heading
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip(meaning)
        if role == Qt.ItemDataRole.TextAlignmentRole and section == TOKEN:
            return AT_LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid():
            return None
        row, column = self.rows[index.row()], index.column()
        if role == Qt.ItemDataRole.UserRole:
            return row
        if role == Qt.ItemDataRole.TextAlignmentRole and column != TOKEN:
            return AT_RIGHT
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.AccessibleTextRole):
            return None
        match column:
            case 0:
                return painted(row.name)
            case 1:
                return str(row.id)
            case 2:
                return str(row.token.segment)
            case 3:
                return str(row.position)
            case _:
                norms = row.norms
                return f"{norms[column - FIRST_NORM]:.{DIGITS}f}" if norms else "…"


class TokenTable(QTableView):
    """The selected row is the page's selected token."""

    def __init__(self, state: TokensState, side: int = 0, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state, self._side = state, side
        self._is_following = False
        self.rows = TokenRows(state, side, self)
        self.setModel(self.rows)
        self.setItemDelegate(_Cells(state, side, self))
        self.setAccessibleName(self.tr("Tokens"))
        self.setShowGrid(False)
        self.setMouseTracking(True)
        self.setTabKeyNavigation(False)
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setVerticalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        height = QFontMetrics(mono_font()).height() + 2 * SPACE
        down, across = self.verticalHeader(), self.horizontalHeader()
        down.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        down.setDefaultSectionSize(height)
        down.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        across.setHighlightSections(False)
        across.setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        across.setMinimumSectionSize(12 * SPACE)
        self.rows.modelReset.connect(self._fit)
        self.selectionModel().currentRowChanged.connect(self._on_current)
        self.entered.connect(self._on_entered)
        state.explore.picked_changed.connect(self._follow)
        self._fit()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._state.explore.point(-1)

    def _fit(self) -> None:
        """Set column widths from the font, without measuring rows."""
        metrics = QFontMetrics(self.horizontalHeader().font())
        digits = QFontMetrics(mono_font()).horizontalAdvance("00.000")
        for column, (heading, _) in enumerate(self.rows.headings):
            least = digits if column == ID or column >= FIRST_NORM else 0
            wide = max(metrics.horizontalAdvance(heading), least) + 5 * SPACE
            self.setColumnWidth(column, 30 * SPACE if column == TOKEN else wide)
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
        self._state.explore.point(self._state.explore.from_side(self._side, index.row()))


class _Cells(QStyledItemDelegate):
    """Paints a segment mark for the token, and a bar behind each norm."""

    def __init__(self, state: TokensState, side: int, parent: QWidget) -> None:
        super().__init__(parent)
        self._state, self._side = state, side

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(16 * SPACE, QFontMetrics(mono_font()).height() + 2 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row: Row = index.data(Qt.ItemDataRole.UserRole)
        box = QRectF(option.rect)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(box, colour(Role.ACCENT_SOFT))
        font = mono_font()
        if index.column() == TOKEN:
            self._paint_segment(painter, box, row.token.segment)
        else:
            self._paint_bar(painter, box, index, row)
        painter.setFont(font)
        painter.setPen(self._ink(row, index))
        is_token = index.column() == TOKEN
        side = Qt.AlignmentFlag.AlignLeft if is_token else Qt.AlignmentFlag.AlignRight
        align = side | Qt.AlignmentFlag.AlignVCenter | AS_STORED
        text = str(index.data())
        words = box.adjusted(3 * SPACE, 0, -2 * SPACE, 0)
        if is_token:
            wide = round(words.width())
            text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, wide)
        painter.drawText(words, align, text)
        painter.restore()

    def _paint_segment(self, painter: QPainter, box: QRectF, segment: int) -> None:
        """One line for the first text, two for the second: not by colour alone."""
        painter.setPen(QPen(colour(SEGMENTS[segment % len(SEGMENTS)]), 2))
        for line in range(1 + segment % len(SEGMENTS)):
            x = round(box.left()) + 2 + 4 * line
            painter.drawLine(x, round(box.top()) + 2, x, round(box.bottom()) - 2)

    def _paint_bar(self, painter: QPainter, box: QRectF, index: Index, row: Row) -> None:
        rows = index.model()
        number = index.column() - FIRST_NORM
        assert isinstance(rows, TokenRows)
        if not row.norms or not 0 <= number < len(rows.tables):
            return
        room = box.adjusted(SPACE, 3, -SPACE, -3)
        room.setLeft(room.right() - room.width() * min(1.0, row.norms[number] / rows.most))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(ADDENDS[rows.tables[number]], 0.22))
        painter.drawRoundedRect(room, 2, 2)

    def _is_masked(self, number: int) -> bool:
        side = self._state.explore.both[self._side]
        return number < len(side.tokens) and side.is_masked(number)

    def _ink(self, row: Row, index: Index) -> QColor:
        side = self._state.explore.both[self._side]
        if row.token.special:
            return colour(Role.MUTED)
        if index.column() <= ID and index.row() < len(side.tokens):
            if side.is_unknown(index.row()):
                return colour(Role.WARN)
            if self._is_masked(index.row()) or side.is_typed_mask(index.row()):
                return colour(Role.ACCENT)
        return colour(Role.TEXT)
