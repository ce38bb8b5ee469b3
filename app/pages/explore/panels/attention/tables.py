"""Tables of the links of chosen heads, and of all heads."""

from collections.abc import Callable

import numpy as np
from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QStaticText
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
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
from app.pages.explore.panels.attention.state import AttentionState, Head
from app.resources import mono_font
from app.theme import SPACE, Role, colour
from app.widgets import layouts
from app.widgets.forms.controls import SearchField
from app.widgets.tables import Column, ColumnsModel, Index, make_table
from app.widgets.text.chips import token_text
from app.widgets.text.labels import Text
from app.widgets.text.numbers import decimal

Link = tuple[int, int, int, float]  # chosen head, query and key token, value


class LinkTable(QTableView):
    """Links of the chosen heads; the current row is highlighted in the maps."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state = state
        self.rows: ColumnsModel[Link] = ColumnsModel(parent=state)
        self._show_links()
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
        state.links_changed.connect(self._show_links)

    def _show_links(self) -> None:
        names, numbers, heads = self._state.names, self._state.numbers, self._state.head_names
        font = mono_font()

        def token(index: int) -> str:
            return f"{numbers[index] + 1:>3}  {names[index]}"

        columns = [
            Column[Link](self.tr("Query token"), lambda link: token(link[1]), font=font),
            Column[Link](self.tr("Key token"), lambda link: token(link[2]), font=font),
            Column[Link](
                value_name(self._state),
                lambda link: decimal(float(link[3])),
                font=font,
                align_right=True,
            ),
        ]
        if len(heads) > 1:
            columns.insert(0, Column[Link](self.tr("Head"), lambda link: heads[link[0]], font=font))
        self.rows.show_rows(list(zip(*link_rows(self._state), strict=True)), columns)

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid():
            _, query, key, _ = self.rows.row(now.row())
            self._state.point(int(query), int(key))


class HeadRows(ColumnsModel[Head]):
    """Heads in the order of the sorting column."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__(parent=state)
        self._state = state
        self.keys: tuple[str, ...] = ()
        self._values: dict[str, np.ndarray] = {}
        self._sorted = FIRST, Qt.SortOrder.DescendingOrder
        state.changed.connect(self._update)
        self._update()

    @property
    def sorted_by(self) -> tuple[int, Qt.SortOrder]:
        return self._sorted

    def text(self, row: int, column: int) -> str:
        return self.columns[column].text(self.row(row)) or ""

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort; equal values by layer and head, patterns by their fraction of the tokens."""
        super().sort(column, order)
        self._follow_column()

    def row_of(self, layer: int, head: int) -> int:
        """Row of a head, -1 if it is missing."""
        wanted = (layer, head)
        return next((n for n in range(len(self.order)) if self.row(n) == wanted), -1)

    def _follow_column(self) -> None:
        column = self._sorted[0]
        if FIRST <= column < len(self.columns):
            self._state.sort_by(self.keys[column - FIRST])
        elif column == PATTERN:
            self._state.sort_by("offset_share")

    def _update(self) -> None:
        keys = self._state.keys
        self._values = {k: v for k in keys if (v := self._state.values(k)) is not None}
        shown = tuple(key for key in keys if key in self._values)
        rows: list[Head] = list(np.ndindex(*self._state.size)) if shown else []
        stays = shown == self.keys and len(rows) == len(self.rows)
        if keys != self.keys and shown and shown[0] in (PAIR, PAIRS):
            self._sorted = FIRST, Qt.SortOrder.DescendingOrder  # a selected pair sorts the heads
        if not stays:
            self.beginResetModel()
        self.keys, self.rows = shown, rows
        self.columns = [
            self._head_column(),
            self._pattern_column(),
            *map(self._value_column, shown),
        ]
        self.order = self._sorted_order()
        if not stays:
            self.endResetModel()
        elif rows:  # another pair: a reset would take a frame more
            last = self.index(len(rows) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            pairs = sum(key in (PAIR, PAIRS) for key in shown)  # other headings stay
            if pairs:
                across = Qt.Orientation.Horizontal
                self.headerDataChanged.emit(across, FIRST, FIRST + pairs - 1)
        if self._sorted[0] >= FIRST:
            self._follow_column()

    def _head_column(self) -> Column[Head]:
        return Column(
            self.tr("Head"),
            lambda head: f"{head[0] + 1}.{head[1] + 1}",
            font=mono_font(),
            meaning=self.tr("Layer and head, counted from 1"),
            sort_key=lambda head: head,
        )

    def _pattern_column(self) -> Column[Head]:
        shares = self._values.get("offset_share")
        return Column(
            self.tr("Pattern"),
            lambda head: self._state.pattern(*head),
            font=mono_font(),
            meaning=self.tr("Positional head: at least 90 % of its largest weights at one offset"),
            sort_key=lambda head: 0 if shares is None else shares[head],
            descending_first=True,
        )

    def _value_column(self, key: str) -> Column[Head]:
        values = self._values[key]
        return Column(
            self._state.name(key),
            lambda head: f"{values[head]:.{DIGITS}f}",
            font=mono_font(),
            align_right=True,
            meaning=self._state.meaning(key),
            sort_key=lambda head: values[head],
            descending_first=True,
        )


class HeadsTable(QWidget):
    """Table of heads with a note; the current row is the current head."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__()
        self._state = state
        self.rows = HeadRows(state)
        self.table = make_table(self.tr("Attention heads"), self.rows)
        self.table.setItemDelegate(HeadCells(self.rows.text, FIRST, self.table))
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicator(FIRST, Qt.SortOrder.DescendingOrder)
        header.setMinimumSectionSize(14 * SPACE)
        self.table.setSortingEnabled(True)
        self.note = Text("", "small")
        self.pairs = SearchField(
            self.tr("Pairs to add up: it → cat, sat → cat (or it > cat)"),
            self.tr("Pairs to add up"),
        )
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
        header.setSortIndicator(*self.rows.sorted_by)
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
            self._state.of.selection.pick(*self.rows.row(now.row()))

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
        if not self.rows.rows:
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
