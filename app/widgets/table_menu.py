"""The context menu of every table: copy the selected rows, copy a cell, export the table.

A model may have `reader(rows, columns) -> Read`, with positions of rows and columns; the returned
function runs outside the GUI thread. The cells of other models are read in the GUI thread.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QAbstractItemModel, QModelIndex, Qt
from PySide6.QtGui import QAction, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QMenu, QTableView, QTreeView

from app import background
from app.translation import tr
from app.widgets.context_menu import menu_action
from app.widgets.dialogs import ask_for_file
from app.widgets.opening import find_notices, notify_saved
from engine.files.home import folder_name
from engine.files.spreadsheet import format_table
from engine.files.table_files import TABLE_WRITERS, iter_records, write_table

Read = Callable[[], tuple[pa.Schema, Iterable[pa.Table]]]
TOP = QModelIndex()


def table_actions(view: QAbstractItemView, menu: QMenu) -> Iterator[QAction]:
    """The actions of a table or tree, for its context menu."""
    rows = selected_rows(view)
    copy = menu_action(menu, tr("Cop&y %Ln row(s)", len(rows)), partial(copy_rows, view), "copy")
    copy.setShortcut(QKeySequence(QKeySequence.StandardKey.Copy))
    copy.setEnabled(bool(rows))
    cell = menu_action(menu, tr("Copy cell"), partial(_copy_cell, view))
    cell.setEnabled(view.currentIndex().isValid())
    export = menu_action(menu, tr("Export ta&ble…"), partial(_ask_file, view), "save")
    export.setEnabled(view.model() is not None and view.model().rowCount() > 0)
    yield from (copy, cell, export)


def copy_rows(view: QAbstractItemView) -> None:
    """Copy the selected rows, else the current one, as tab-separated text with a header."""
    if rows := selected_rows(view):
        read = _reader(view, rows)
        background.run(view, lambda: _text(*read()), _set_clipboard, partial(_show_error, view))


def export_table(view: QAbstractItemView, path: Path) -> None:
    """Write all rows of a table as shown outside the GUI thread, in the format of the suffix; a
    notice says that it is done."""
    read = _reader(view, None)

    def work() -> None:
        schema, tables = read()
        write_table(path, schema, tables)

    def done(_: None) -> None:
        if (notices := find_notices(view)) is not None:
            notify_saved(notices, path)

    background.run(view, work, done, partial(_show_error, view))


def selected_rows(view: QAbstractItemView) -> list[int]:
    """Positions of the selected rows in their order, else that of the current row.

    Of a tree, positions in its rows depth first.
    """
    selection, current = view.selectionModel(), view.currentIndex()
    if selection is None:
        return []
    if isinstance(view, QTableView):  # a million rows are one range
        ranges = [range(part.top(), part.bottom() + 1) for part in selection.selection().toList()]
        rows = sorted(set(chain.from_iterable(ranges)))
        return rows or ([current.row()] if current.isValid() else [])
    chosen = selection.selectedRows() or [current.siblingAtColumn(0)]
    return [n for n, index in enumerate(_all_rows(view.model())) if index in chosen]


def unique_names(titles: Iterable[str]) -> list[str]:
    """Titles as names of columns: none is empty, and repeated ones get a number."""
    names: list[str] = []
    for number, title in enumerate(titles, 1):
        name = base = title.strip() or str(number)
        suffix = 2
        while name in names:
            name, suffix = f"{base} {suffix}", suffix + 1
        names.append(name)
    return names


def arrow_table(titles: Iterable[str], columns: Iterable[Sequence[object]]) -> pa.Table:
    """A table of columns with titles; a column of different kinds of values becomes texts."""

    def array(cells: Sequence[object]) -> "pa.Array[Any]":
        try:
            return pa.array(cells)
        except (pa.ArrowException, TypeError):
            return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())

    return pa.Table.from_arrays([array(c) for c in columns], names=unique_names(titles))


def _ask_file(view: QAbstractItemView) -> None:
    name = f"{folder_name(view.accessibleName()) or 'table'}.csv"
    ask_for_file(view, tr("Export table"), name, list(TABLE_WRITERS), partial(export_table, view))


def _copy_cell(view: QAbstractItemView) -> None:
    cell = view.currentIndex().data(Qt.ItemDataRole.EditRole)
    _set_clipboard("" if cell is None else str(cell))


def _set_clipboard(text: str) -> None:
    QGuiApplication.clipboard().setText(text)


def _show_error(view: QAbstractItemView, error: BaseException) -> None:
    notices = find_notices(view)
    if notices is None:
        raise error
    notices.show(error)


def _reader(view: QAbstractItemView, rows: Sequence[int] | None) -> Read:
    """A function that reads rows, or all of them, as they are now, in the shown columns."""
    model, columns = view.model(), _shown_columns(view)
    reader = getattr(model, "reader", None)
    if reader is not None:
        read: Read = reader(range(model.rowCount()) if rows is None else rows, columns)
        return read
    indices = list(_all_rows(model))
    table = _read_cells(model, indices if rows is None else [indices[n] for n in rows], columns)
    return lambda: (table.schema, [table])


def _shown_columns(view: QAbstractItemView) -> list[int]:
    """Columns in the order in which the user arranged them."""
    assert isinstance(view, QTableView | QTreeView)
    header = view.horizontalHeader() if isinstance(view, QTableView) else view.header()
    shown = (n for n in range(header.count()) if not view.isColumnHidden(n))
    return sorted(shown, key=header.visualIndex)


def _read_cells(
    model: QAbstractItemModel, rows: Sequence[QModelIndex], columns: Sequence[int]
) -> pa.Table:
    role = Qt.ItemDataRole

    def cell(row: QModelIndex, column: int) -> object:
        index = row.siblingAtColumn(column)
        value = index.data(role.EditRole)
        return index.data(role.DisplayRole) if value is None else value

    titles = (str(model.headerData(n, Qt.Orientation.Horizontal) or "") for n in columns)
    return arrow_table(titles, [[cell(row, n) for row in rows] for n in columns])


def _all_rows(model: QAbstractItemModel, parent: QModelIndex = TOP) -> Iterator[QModelIndex]:
    """First cells of all rows, of a tree depth first."""
    for row in range(model.rowCount(parent)):
        index = model.index(row, 0, parent)
        yield index
        yield from _all_rows(model, index)


def _text(schema: pa.Schema, tables: Iterable[pa.Table]) -> str:
    rows = (list(record.values()) for record in iter_records(tables))
    return format_table(schema.names, rows, "\t")
