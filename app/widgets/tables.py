"""Tables: one model with columns, and the style and keys that all tables share."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QAction, QColor, QFont, QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QHeaderView, QMenu, QTableView

from app.resources import mono_font
from app.theme import px
from app.translation import tr
from app.widgets.context_menu import context_menu
from app.widgets.text.labels import tooltip

if TYPE_CHECKING:
    import pyarrow as pa

    from app.widgets.table_menu import Read

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()  # parent of all rows of a flat model
# Alignment of cells, as numbers: converting a flag takes Qt five times as long.
AT_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
AT_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
ROW_HEIGHT = 30  # px
MEASURED_ROWS = 30  # besides visible ones, for column widths; Qt's 1,000 block the GUI thread


Row = TypeVar("Row")


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column of a table, computed from a row; each function may return None."""

    title: str
    text: Callable[[Row], str | None]
    value: Callable[[Row], object] | None = None  # EditRole, copied unchanged; default: the text
    tooltip: Callable[[Row], str | None] | None = None  # plain text
    color: Callable[[Row], QColor | None] | None = None
    font: Callable[[Row], QFont | None] | QFont | None = None
    align_right: bool = False
    meaning: str = ""  # tooltip of the heading
    title_font: QFont | None = None
    sort_key: Callable[[Row], Any] | None = None  # rows with None come last in either order
    descending_first: bool = False  # order of the first click on the heading
    roles: Mapping[int, Callable[[Row], object]] = field(default_factory=dict)  # for delegates

    def cell(self, row: Row, role: int) -> object:
        """Value of `role` for this column in `row`."""
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.text(row)
            case Qt.ItemDataRole.EditRole:
                return (self.value or self.text)(row)
            case Qt.ItemDataRole.ToolTipRole if self.tooltip is not None:
                text = self.tooltip(row)
                return None if text is None else tooltip(text)
            case Qt.ItemDataRole.ForegroundRole if self.color is not None:
                return self.color(row)
            case Qt.ItemDataRole.FontRole if self.font is not None:
                return self.font if isinstance(self.font, QFont) else self.font(row)
            case Qt.ItemDataRole.TextAlignmentRole:
                return AT_RIGHT if self.align_right else AT_LEFT
        function = self.roles.get(role)
        return None if function is None else function(row)

    def heading(self, role: int) -> object:
        """Value of `role` for the heading."""
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self.title
            case Qt.ItemDataRole.ToolTipRole if self.meaning:
                return tooltip(self.meaning)
            case Qt.ItemDataRole.TextAlignmentRole:
                return AT_RIGHT if self.align_right else AT_LEFT
            case Qt.ItemDataRole.FontRole:
                return self.title_font
            case Qt.ItemDataRole.InitialSortOrderRole if self.descending_first:
                return Qt.SortOrder.DescendingOrder.value
        return None


class ColumnsModel(QAbstractTableModel, Generic[Row]):
    """Rows of any type, shown by a list of columns and sorted by their keys.

    `rows` are as given, `order` has the index of each shown row among them. `row_title` names a row
    in the vertical header, given its position.
    """

    def __init__(
        self,
        columns: Sequence[Column[Row]] = (),
        parent: QObject | None = None,
        row_title: Callable[[int], str] | None = None,
    ) -> None:
        super().__init__(parent)
        self.columns: Sequence[Column[Row]] = columns
        self.rows: Sequence[Row] = ()
        self.order: Sequence[int] = ()
        self._sorting = (-1, Qt.SortOrder.AscendingOrder)
        self._row_title = row_title

    def show_rows(self, rows: Sequence[Row], columns: Sequence[Column[Row]] | None = None) -> None:
        """Replace all rows, and the columns if given; the chosen order stays."""
        self.beginResetModel()
        self.rows = rows
        if columns is not None:
            self.columns = columns
        self.order = self._sorted_order()
        self.endResetModel()

    def update_rows(self, rows: Sequence[Row]) -> None:
        """Replace each row by its new state; selection and scroll position stay.

        Resets the model if the number of rows changes.
        """
        if len(rows) != len(self.rows):
            self.show_rows(rows)
            return
        self.rows = rows
        if self._sort_key() is not None:
            self._reorder()
        if rows:
            last = self.index(len(rows) - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def row(self, position: int) -> Row:
        """The row shown at a position."""
        return self.rows[self.order[position]]

    def reader(self, positions: Sequence[int], columns: Sequence[int]) -> "Read":
        """A function that reads cells outside the GUI thread, for copies and exports."""
        from app.widgets.table_menu import arrow_table

        rows = [self.row(position) for position in positions]
        shown = [self.columns[n] for n in columns]
        name = self._row_title
        names = [] if name is None else [[name(position) for position in positions]]
        titles = [tr("Row"), *(c.title for c in shown)] if names else [c.title for c in shown]

        def read() -> "tuple[pa.Schema, Iterable[pa.Table]]":
            cells = ([(column.value or column.text)(row) for row in rows] for column in shown)
            table = arrow_table(titles, [*names, *cells])
            return table.schema, [table]

        return read

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        return self.columns[index.column()].cell(self.row(index.row()), role)

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Horizontal:
            return self.columns[section].heading(role) if section < len(self.columns) else None
        if role != Qt.ItemDataRole.DisplayRole or section >= len(self.order):
            return None
        return str(section + 1) if self._row_title is None else self._row_title(section)

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Order rows by a column; -1 restores their original order."""
        self._sorting = column, order
        self._reorder()

    def _reorder(self) -> None:
        self.layoutAboutToBeChanged.emit()
        old = self.persistentIndexList()
        shown = [self.order[index.row()] for index in old]
        self.order = self._sorted_order()
        positions = {row: position for position, row in enumerate(self.order)} if old else {}
        new = [
            self.index(positions[row], index.column())
            for row, index in zip(shown, old, strict=True)
        ]
        self.changePersistentIndexList(old, new)
        self.layoutChanged.emit()

    def _sort_key(self) -> Callable[[Row], Any] | None:
        column = self._sorting[0]
        return self.columns[column].sort_key if 0 <= column < len(self.columns) else None

    def _sorted_order(self) -> Sequence[int]:
        indices, key = range(len(self.rows)), self._sort_key()
        if key is None:
            return indices
        keys = [key(row) for row in self.rows]
        keyed = [n for n in indices if keys[n] is not None]
        keyed.sort(key=keys.__getitem__, reverse=self._sorting[1] == Qt.SortOrder.DescendingOrder)
        return keyed + [n for n in indices if keys[n] is None]


def apply_style(table: QTableView, name: str) -> None:
    """Name a table and apply our style: whole rows of one line, a menu, Tab leaves it."""
    table.setAccessibleName(name)
    add_table_menu(table)
    table.setTabKeyNavigation(False)
    table.setWordWrap(False)
    table.setShowGrid(False)
    table.verticalHeader().setDefaultSectionSize(px(ROW_HEIGHT))
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
    table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    table.horizontalHeader().setDefaultAlignment(left)
    table.horizontalHeader().setResizeContentsPrecision(MEASURED_ROWS)
    table.setCornerButtonEnabled(False)
    corner = table.findChild(QAbstractButton)
    if isinstance(corner, QAbstractButton):
        corner.setAccessibleName(tr("Corner of the table"))


def add_table_menu(view: QAbstractItemView) -> None:
    """Add the keys and the context menu of tables to a table or tree."""
    view.installEventFilter(_TableKeys(view))
    context_menu(view).add(partial(_table_actions, view))


def _table_actions(view: QAbstractItemView, menu: QMenu) -> Iterable[QAction]:
    from app.widgets.table_menu import table_actions  # not needed for the first frame

    return table_actions(view, menu)


def make_table(
    name: str,
    model: QAbstractItemModel,
    numbered: bool = False,
    fitted: Sequence[int] | None = None,
) -> QTableView:
    """A table of a model in our style; `numbered` shows the headings of rows.

    With `fitted`, these columns are as wide as their content, and the others share the rest.
    """
    table = RowsTable()
    table.setModel(model)
    apply_style(table, name)
    table.verticalHeader().setVisible(numbered)
    if fitted is not None:
        table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        for column in fitted:
            mode = QHeaderView.ResizeMode.ResizeToContents
            table.horizontalHeader().setSectionResizeMode(column, mode)
    return table


class RowsTable(QTableView):
    """A table that does not scroll to the side while the current cell stays in its column.

    A current row in sight stays in sight if the table gets smaller.
    """

    _column = -1  # to which it scrolled last

    def resizeEvent(self, event: QResizeEvent) -> None:
        current = self.currentIndex()
        middle = self.visualRect(current).center().y()
        was_seen = current.isValid() and 0 <= middle < event.oldSize().height()
        super().resizeEvent(event)
        if was_seen:
            self.scrollTo(current)

    def scrollTo(
        self,
        index: QModelIndex | QPersistentModelIndex,
        hint: QAbstractItemView.ScrollHint = QAbstractItemView.ScrollHint.EnsureVisible,
    ) -> None:
        bar = self.horizontalScrollBar()
        position = bar.value()
        super().scrollTo(index, hint)
        if index.column() == self._column:
            bar.setValue(position)
        self._column = index.column()


class NumbersTable(QTableView):
    """A small table in the monospaced font: texts on the left, numbers on the right.

    Signals:
        row_picked: index of the row that became current by mouse or keyboard.
    """

    row_picked = Signal(int)

    def __init__(self, name: str, numeric_from: int) -> None:
        """`numeric_from`: the first right-aligned column."""
        super().__init__()
        self._numeric_from = numeric_from
        self.rows = ColumnsModel[Sequence[str]](parent=self)
        self.setModel(self.rows)
        apply_style(self, name)
        self.verticalHeader().hide()
        self.selectionModel().currentRowChanged.connect(self._on_current)

    def show_rows(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], numeric_from: int | None = None
    ) -> None:
        """Show rows; the current row stays. `numeric_from` replaces the table's."""
        first = self._numeric_from if numeric_from is None else numeric_from
        current = self.currentIndex().row()
        columns: list[Column[Sequence[str]]] = [
            Column(title, itemgetter(n), font=lambda _: mono_font(), align_right=n >= first)
            for n, title in enumerate(header)
        ]
        self.rows.show_rows([tuple(row) for row in rows], columns)
        sections = self.horizontalHeader()
        sections.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        if header:
            sections.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        if 0 <= current < len(rows):
            self.selectionModel().blockSignals(True)
            self.selectRow(current)
            self.selectionModel().blockSignals(False)

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid():
            self.row_picked.emit(now.row())


class _TableKeys(QObject):
    """Keys that Qt's tables lack.

    Copying takes whole rows. The first press of Up or Down selects the current row if none is
    selected: a table that gets the focus makes its first row current without selecting it, and Qt
    would continue to the second.
    """

    def eventFilter(self, table: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        assert isinstance(table, QAbstractItemView)
        current, selection = table.currentIndex(), table.selectionModel()
        if event.matches(QKeySequence.StandardKey.Copy):
            from app.widgets.table_menu import copy_rows

            copy_rows(table)
            return True
        if not isinstance(table, QTableView):
            return False
        moves = event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down)
        is_plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier  # a Mac's arrows
        selects = table.selectionMode() != QTableView.SelectionMode.NoSelection
        if not (moves and is_plain and selects and current.isValid()) or selection.hasSelection():
            return False
        flags = QItemSelectionModel.SelectionFlag
        selection.select(current, flags.Select | flags.Rows)
        return True
