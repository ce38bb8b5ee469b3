"""Tables of the links of chosen heads, and of all heads."""

from collections.abc import Callable
from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QStaticText
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.pages.explore.panels.attention.description import link_rows, value_name
from app.pages.explore.panels.attention.heads import (
    DIGITS,
    FIRST,
    HEAD,
    PAIR,
    PAIRS,
    PATTERN,
    HeadsState,
)
from app.pages.explore.panels.attention.state import AttentionState
from app.resources import mono_font
from app.theme import SPACE, Role, colour
from app.widgets import layouts
from app.widgets.tables import AT_LEFT, AT_RIGHT, NOWHERE, Index, apply_style
from app.widgets.text.chips import token_text
from app.widgets.text.labels import Text, tooltip
from app.widgets.text.numbers import decimal


class LinkTableRows(QAbstractTableModel):
    """Head (if several), query, key and value of each link, strongest first."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__(state)
        self._state = state
        self._take()
        state.links_changed.connect(self._on_links)

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._links.values)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._header)

    def ends(self, row: int) -> tuple[int, int]:
        """Query and key token of a link."""
        return int(self._links.rows[row]), int(self._links.columns[row])

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cells(index.row())[index.column()]
        if role == Qt.ItemDataRole.FontRole:
            return mono_font()
        if role == Qt.ItemDataRole.TextAlignmentRole and self._is_value(index.column()):
            return AT_RIGHT
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        is_across = orientation == Qt.Orientation.Horizontal
        if role == Qt.ItemDataRole.DisplayRole and is_across and section < len(self._header):
            return self._header[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and self._is_value(section):
            return AT_RIGHT
        return super().headerData(section, orientation, role)

    def _is_value(self, column: int) -> bool:
        return column == len(self._header) - 1

    def _cells(self, row: int) -> tuple[str, ...]:
        links = self._links
        ends = tuple(f"{self._numbers[end] + 1:>3}  {self._names[end]}" for end in self.ends(row))
        cells = (*ends, decimal(float(links.values[row])))
        return (self._heads[int(links.heads[row])], *cells) if len(self._heads) > 1 else cells

    def _take(self) -> None:
        state = self._state
        self._links, self._heads = link_rows(state), state.head_names
        self._names, self._numbers = state.names, state.numbers
        head = (self.tr("Head"),) if len(self._heads) > 1 else ()
        self._header = (*head, self.tr("Query token"), self.tr("Key token"), value_name(state))

    def _on_links(self) -> None:
        self.beginResetModel()
        self._take()
        self.endResetModel()


class LinkTable(QTableView):
    """Shows the links; the current row is highlighted in the maps."""

    def __init__(self, state: AttentionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.rows = LinkTableRows(state)
        self.setModel(self.rows)
        self.setAccessibleName(self.tr("Strongest links"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.selectionModel().currentRowChanged.connect(self._on_current)

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid():
            self._state.point(*self.rows.ends(now.row()))


class HeadRows(QAbstractTableModel):
    """Heads in the order of the sorting column."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__(state)
        self._state = state
        self._keys: tuple[str, ...] = ()
        self._values: dict[str, np.ndarray] = {}
        self.order: list[tuple[int, int]] = []  # layer and head of each row
        self._sorted = (FIRST, Qt.SortOrder.DescendingOrder)
        state.changed.connect(self._take)
        self._take()

    @property
    def keys(self) -> tuple[str, ...]:
        return self._keys

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else FIRST + len(self._keys)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if role == Qt.ItemDataRole.FontRole:
            return mono_font()
        column = index.column()
        if role == Qt.ItemDataRole.TextAlignmentRole and column >= FIRST:
            return AT_RIGHT
        if role != Qt.ItemDataRole.DisplayRole or not index.isValid():
            return None
        return self.text(index.row(), column)

    def text(self, row: int, column: int) -> str:
        layer, head = self.order[row]
        if column == HEAD:
            return f"{layer + 1}.{head + 1}"
        if column == PATTERN:
            return self._state.pattern(layer, head)
        return f"{self._values[self._keys[column - FIRST]][layer, head]:.{DIGITS}f}"

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= self.columnCount():
            return None
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            first = Qt.SortOrder.AscendingOrder if section == HEAD else Qt.SortOrder.DescendingOrder
            return first.value
        if role == Qt.ItemDataRole.DisplayRole:
            if section == HEAD:
                return self.tr("Head")
            if section == PATTERN:
                return self.tr("Pattern")
            return self._state.name(self._keys[section - FIRST])
        if role == Qt.ItemDataRole.ToolTipRole:
            if section == HEAD:
                return tooltip(self.tr("Layer and head, counted from 1"))
            if section == PATTERN:
                return tooltip(
                    self.tr("Positional head: at least 90 % of its largest weights at one offset")
                )
            return tooltip(self._state.meaning(self._keys[section - FIRST]))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return AT_RIGHT if section >= FIRST else AT_LEFT
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort; equal values by layer and head, patterns by their fraction of the tokens."""
        self._sorted = column, order
        self.layoutAboutToBeChanged.emit()
        self._order()
        self.layoutChanged.emit()
        if FIRST <= column < self.columnCount():
            self._state.sort_by(self._keys[column - FIRST])
        elif column == PATTERN:
            self._state.sort_by("offset_share")

    def row_of(self, layer: int, head: int) -> int:
        """Row of a head, -1 if it is missing."""
        return self.order.index((layer, head)) if (layer, head) in self.order else -1

    def _take(self) -> None:
        keys = self._state.keys
        values = {key: found for key in keys if (found := self._state.values(key)) is not None}
        new, shown = keys != self._keys, tuple(key for key in keys if key in values)
        layers, heads = self._state.size if shown else (0, 0)
        stays = shown == self._keys and layers * heads == len(self.order)
        if not stays:
            self.beginResetModel()
        self._values, self._keys = values, shown
        if new and shown and shown[0] in (PAIR, PAIRS):  # a selected pair sorts the heads
            self._sorted = FIRST, Qt.SortOrder.DescendingOrder
        self._order()
        if stays:  # another pair: a reset would take a frame more
            self.dataChanged.emit(
                self.index(0, 0), self.index(len(self.order) - 1, self.columnCount() - 1)
            )
            last = FIRST + sum(key in (PAIR, PAIRS) for key in shown) - 1  # other headings stay
            if last >= FIRST:
                self.headerDataChanged.emit(Qt.Orientation.Horizontal, FIRST, last)
        else:
            self.endResetModel()
        column = self._sorted[0]
        if FIRST <= column < self.columnCount():
            self._state.sort_by(self._keys[column - FIRST])

    def _order(self) -> None:
        layers, heads = self._state.size if self._keys else (0, 0)
        column, order = self._sorted
        every = [(layer, head) for layer in range(layers) for head in range(heads)]
        key = "offset_share" if column == PATTERN else ""
        if FIRST <= column < self.columnCount():
            key = self._keys[column - FIRST]
        sign = -1 if order == Qt.SortOrder.DescendingOrder else 1
        if key in self._values:
            values = self._values[key]
            every.sort(key=lambda one: (sign * values[one], one))
        elif sign < 0:
            every.reverse()
        self.order = every


class HeadsTable(QWidget):
    """Table of heads with a note; the current row is the current head."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__()
        self._state = state
        self.rows = HeadRows(state)
        self.table = QTableView()
        self.table.setModel(self.rows)
        self.table.setItemDelegate(HeadCells(self.rows.text, FIRST, self.table))
        apply_style(self.table, self.tr("Attention heads"))
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicator(FIRST, Qt.SortOrder.DescendingOrder)
        header.setMinimumSectionSize(14 * SPACE)
        self.table.setSortingEnabled(True)
        self.note = Text("", "small")
        self.pairs = QLineEdit()
        self.pairs.setAccessibleName(self.tr("Pairs to add up"))
        self.pairs.setPlaceholderText(self.tr("Pairs to add up: it → cat, sat → cat (or it > cat)"))
        self.pairs.setClearButtonEnabled(True)
        self.pairs.textChanged.connect(self._on_pairs)
        layouts.column(self.pairs, (self.table, 1), self.note, parent=self, spacing=SPACE)
        self._is_following = False
        self._widths: dict[str, int] = {}  # px of value columns shown before
        self.rows.modelAboutToBeReset.connect(self._keep_widths)
        self.rows.modelReset.connect(self._on_reset)
        self.rows.layoutChanged.connect(self._follow)
        self.rows.dataChanged.connect(self._follow)
        self.table.selectionModel().currentRowChanged.connect(self._on_current)
        state.of.head_changed.connect(self._follow)
        state.column_changed.connect(self._say)
        state.changed.connect(self._say)
        self._on_reset()
        self._say()

    def _on_pairs(self, typed: str) -> None:
        """Show the best heads for the typed pairs at the top."""
        self._state.set_pairs(typed)
        self.table.scrollToTop()

    def _on_reset(self) -> None:
        header = self.table.horizontalHeader()
        header.blockSignals(True)
        header.setSortIndicator(*self.rows._sorted)
        header.blockSignals(False)
        least = QFontMetrics(mono_font()).horizontalAdvance("000.000") + 4 * SPACE
        for column, key in enumerate(self.rows.keys, FIRST):  # measuring rows takes 60 ms
            width = max(header.sectionSizeHint(column), least)
            header.resizeSection(column, self._widths.get(key, width))
        self.table.resizeColumnToContents(HEAD)
        width = max(header.sectionSize(PATTERN), self.table.sizeHintForColumn(PATTERN))
        header.resizeSection(PATTERN, width)
        self._follow()

    def _keep_widths(self) -> None:
        header = self.table.horizontalHeader()
        sizes = {key: header.sectionSize(n) for n, key in enumerate(self.rows.keys, FIRST)}
        self._widths |= sizes

    def _follow(self) -> None:
        """Select the current head's row."""
        row = self.rows.row_of(self._state.of.layer, self._state.of.head)
        self._is_following = True
        if row >= 0:
            self.table.selectRow(row)
        self._is_following = False

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid() and not self._is_following:
            self._state.of.selection.pick(*self.rows.order[now.row()])

    def _say(self) -> None:
        state = self._state
        if state.of.maps.shown_measure == "norms" and not state.keys:
            self.note.setText(
                self.tr(
                    "Value-weighted norms do not sum to 1. Select a pair of tokens to rank the "
                    "heads by it, or choose attention weights."
                )
            )
            return
        if not self.rows.order:
            self.note.setText(self.tr("Computing …"))
            return
        column = state.meaning(state.column) if state.column in state.keys else ""
        count = state.figures.queries if state.figures is not None else 0
        text = self.tr("{0}. The overview dims the heads that have less of it.").format(column)
        if count and state.column not in (PAIR, PAIRS):
            mean = self.tr("Means over %Ln token(s) without special ones.", "", count)
            text = f"{text} {mean}"
        missing = state.pairs()[1]
        if missing:
            named = ", ".join(f"“{token_text(one)}”" for one in missing)
            text = f"{self.tr('Not in the text: {0}.').format(named)} {text}"
        self.note.setText(text)


PADDING = 2 * SPACE  # px on either side of a cell
CACHED_TEXTS = 4000  # cached layouts


class HeadCells(QStyledItemDelegate):
    """Paints cells with cached text layouts.

    Qt would query nine roles of each cell and lay out its text again, too slow for one frame when
    the pair changes.
    """

    def __init__(self, text: Callable[[int, int], str], first: int, table: QTableView) -> None:
        """`text` of a row and a column; columns from `first` on are right-aligned."""
        super().__init__(table)
        self._said, self._first, self._table = text, first, table
        self._laid_out: dict[str, tuple[QStaticText, float, float]] = {}  # width and height, px
        self._font = mono_font()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, column, box = index.row(), index.column(), option.rect
        if row == self._table.currentIndex().row():
            self._paint_state(painter, option)
        width = box.width()
        text, wide, high = self._text(self._said(row, column), width - 2 * PADDING)
        left = box.x() + (width - PADDING - wide if column >= self._first else PADDING)
        painter.setFont(self._font)
        painter.drawStaticText(int(left), int(box.y() + (box.height() - high) / 2), text)

    def _paint_state(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, colour(Role.ACCENT_SOFT))
        if option.state & QStyle.StateFlag.State_HasFocus:
            pen = painter.pen()
            painter.setPen(colour(Role.ACCENT))
            painter.drawRect(option.rect.adjusted(0, 0, -1, -1))
            painter.setPen(pen)

    def _text(self, text: str, most: float) -> tuple[QStaticText, float, float]:
        """Text laid out in at most so many px, with its width and height."""
        found = self._laid_out.get(text)
        if found is None:
            if len(self._laid_out) >= CACHED_TEXTS:
                self._laid_out.clear()
            made = QStaticText(text)
            made.setTextFormat(Qt.TextFormat.PlainText)
            made.prepare(font=self._font)
            found = self._laid_out[text] = made, made.size().width(), made.size().height()
        if found[1] <= most or len(text) <= 1:
            return found
        end = Qt.TextElideMode.ElideRight
        return self._text(QFontMetrics(self._font).elidedText(text, end, int(most)), most)
