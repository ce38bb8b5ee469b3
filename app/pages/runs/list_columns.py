"""Columns of the table of runs: widths, order, pinned columns, and the menu of a header.

Until the user resizes a column, all columns share the available width.
"""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QMenu, QTableView

from app import theme
from app.pages.runs.columns import DEFAULT_COLUMNS, Column, column_info
from app.pages.runs.list_menus import Layout, differing_settings
from app.pages.runs.table import RunsTable
from app.theme import Role, px, text_scale
from app.translation import tr

MIN_WIDTH = 44  # px at a text size of 100 %, as all widths of layouts
MIN_SCALE = 0.9  # relative to the default width; narrower columns are hardly readable
# hidden one by one if there is too little space
HIDEABLE = (Column.LOSS, Column.TIME, Column.STARTED)


class ListColumns(QObject):
    """Arranges the columns of a table.

    Signals:
        changed: the user changed columns, order or groups.
        columns_requested: the user wants to choose columns.
        groups_requested: keys of the columns to group by.
    """

    changed = Signal()
    columns_requested = Signal()
    groups_requested = Signal(object)

    def __init__(self, table: QTableView, model: RunsTable) -> None:
        super().__init__(table)
        self._table, self._model = table, model
        self._widths: dict[str, int] = {}
        self._scale = text_scale()  # since which the user may have resized columns
        self._is_fitting = False
        self.pinned = 0
        self.pinned_view = PinnedColumns(table)
        header = table.horizontalHeader()
        header.setSectionsMovable(True)
        header.setHighlightSections(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._on_menu)
        header.sectionResized.connect(self._on_resized)
        header.sectionMoved.connect(lambda *_: QTimer.singleShot(0, self, self._apply_order))
        header.sortIndicatorChanged.connect(lambda *_: self.changed.emit())
        model.modelReset.connect(self.fit)
        table.viewport().installEventFilter(self)

    def apply(self, layout: Layout) -> None:
        """Show columns and order of a layout."""
        self._widths = dict(layout.widths)
        self.pinned = layout.pinned
        self.show_columns(layout.columns)
        self._model.group_by(layout.groups)
        order = Qt.SortOrder
        with QSignalBlocker(self._table.horizontalHeader()):
            self._table.sortByColumn(
                self._model.column(layout.sort),
                order.DescendingOrder if layout.descending else order.AscendingOrder,
            )
        self._model.sort_key, self._model.descending = layout.sort, layout.descending
        self._model.rearrange()

    def show_columns(self, keys: Sequence[str]) -> None:
        header = self._table.horizontalHeader()
        with QSignalBlocker(header):
            self._model.set_columns(keys)
            for column in range(header.count()):
                header.moveSection(header.visualIndex(column), column)
        self.fit()

    def layout(self, sentence: str, shown: int) -> Layout:
        model = self._model
        return Layout(
            model.keys,
            self.pinned,
            self._widths,
            model.sort_key,
            model.descending,
            model.group_keys,
            sentence,
            shown,
        )

    def fit(self) -> None:
        """Share the width among the columns that the user has not resized."""
        self._is_fitting = True  # hiding and showing columns changes widths, too
        self._hide_columns()
        self._is_fitting = False
        header, keys = self._table.horizontalHeader(), self._model.keys
        visible = [n for n in range(len(keys)) if not self._table.isColumnHidden(n)]
        defaults = {n: _default_width(keys[n]) for n in visible if keys[n] not in self._widths}
        fixed_widths = {n: px(self._widths[keys[n]]) for n in visible if keys[n] in self._widths}
        available = self._table.viewport().width() - sum(fixed_widths.values())
        minimum = sum(max(px(MIN_WIDTH), round(0.7 * width)) for width in defaults.values())
        factor = max(available, minimum) / max(1, sum(defaults.values()))
        with QSignalBlocker(header):
            header.setMinimumSectionSize(px(MIN_WIDTH))
            scaled = {n: int(w * factor) for n, w in defaults.items()}
            for column, width in {**scaled, **fixed_widths}.items():
                header.resizeSection(column, max(px(MIN_WIDTH), width))
        self.pinned_view.pin(self.pinned)

    def _hide_columns(self) -> None:
        """Hide the mean over seeds if no job has several, and other columns if space is short."""
        keys, width = self._model.keys, self._table.viewport().width()
        hidden = set() if self._model.has_seeds() else {str(Column.SEEDS)}
        for candidate in HIDEABLE if keys == DEFAULT_COLUMNS and not self._widths else ():
            if sum(_default_width(item) for item in keys if item not in hidden) * MIN_SCALE > width:
                hidden.add(str(candidate))
        for column, key in enumerate(keys):
            if self._table.isColumnHidden(column) != (key in hidden):
                self._table.setColumnHidden(column, key in hidden)

    def pin(self, columns: int) -> None:
        """Pin the first `columns` columns; 0 unpins all."""
        self.pinned = columns
        self.pinned_view.pin(columns)
        self.changed.emit()

    def hide(self, key: str) -> None:
        """Hide a column, unless it is the last one."""
        remaining = [other for other in self._model.keys if other != key]
        if remaining:
            self.pinned = min(self.pinned, len(remaining) - 1)
            self.show_columns(remaining)
            self.changed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.fit()
        return False

    def menu(self, column: int) -> QMenu:
        """The menu of a column header."""
        key = self._model.keys[column]
        order = Qt.SortOrder
        menu = QMenu(self._table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        sort = self._table.sortByColumn
        differing = (tr("Add settings that di&ffer"), self._add_differing)
        entries = [
            (tr("Sort &ascending"), lambda: sort(column, order.AscendingOrder)),
            (tr("Sort &descending"), lambda: sort(column, order.DescendingOrder)),
            None,
            (tr("&Group by this column"), lambda: self.groups_requested.emit((key,))),
            (tr("&Pin the columns up to this one"), lambda: self.pin(column + 1)),
            *([(tr("&Unpin"), lambda: self.pin(0))] if self.pinned else []),
            (tr("&Hide this column"), lambda: self.hide(key)),
            None,
            *([differing] if self._differing() else []),
            (tr("&Columns…"), self.columns_requested.emit),
        ]
        for entry in entries:
            if entry is None:
                menu.addSeparator()
            else:
                text, action = entry
                menu.addAction(text).triggered.connect(lambda _=False, action=action: action())
        return menu

    def _differing(self) -> list[str]:
        """Settings in which the listed runs differ, such as those of a search, without a column."""
        keys = differing_settings(self._model.passing_rows())
        return [key for key in keys if key not in self._model.keys]

    def _add_differing(self) -> None:
        self.show_columns([*self._model.keys, *self._differing()])
        self.changed.emit()

    def _on_menu(self, position: QPoint) -> None:
        header = self._table.horizontalHeader()
        column = header.logicalIndexAt(position)
        if column >= 0:
            self.menu(column).popup(header.mapToGlobal(position))

    def _on_resized(self, column: int, _: int, width: int) -> None:
        if self._is_fitting:
            return
        if self._scale != text_scale():  # resized with all texts, not by the user
            QTimer.singleShot(0, self, self._follow_text_size)
            return
        self._widths[self._model.keys[column]] = round(width / self._scale)
        self.pinned_view.pin(self.pinned)
        self.changed.emit()

    def _follow_text_size(self) -> None:
        self._scale = text_scale()
        self.fit()

    def _apply_order(self) -> None:
        header, keys = self._table.horizontalHeader(), self._model.keys
        self.show_columns([keys[header.logicalIndex(column)] for column in range(len(keys))])
        self.changed.emit()


def _default_width(key: str) -> int:
    info = column_info(key)
    return px(info.width if info is not None else MIN_WIDTH)


class PinnedColumns(QObject):
    """A second view of the first columns, over the table; it scrolls only vertically.

    It takes no focus: keys, menus and clicks go to the table.
    """

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table
        self.columns = 0
        self._view: QTableView | None = None
        table.verticalScrollBar().valueChanged.connect(self._scroll)
        table.viewport().installEventFilter(self)

    def pin(self, columns: int) -> None:
        """Pin the first `columns` columns; 0 unpins all."""
        self.columns = columns
        if columns and self._view is None:
            self._view = self._create_view()
        if self._view is not None:
            self._arrange(self._view)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self._view is not None:
            self._arrange(self._view)
        return False

    def _create_view(self) -> QTableView:
        view = QTableView(self._table)
        view.setModel(self._table.model())
        view.setSelectionModel(self._table.selectionModel())
        view.setItemDelegate(self._table.itemDelegate())
        view.setFocusProxy(self._table)
        view.setFrameShape(QFrame.Shape.NoFrame)
        view.setAccessibleName(self.tr("Pinned columns"))
        view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        view.setSelectionMode(self._table.selectionMode())
        view.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        view.setShowGrid(False)
        view.setWordWrap(False)
        view.setVerticalScrollMode(self._table.verticalScrollMode())
        view.verticalHeader().hide()
        view.verticalHeader().setDefaultSectionSize(
            self._table.verticalHeader().defaultSectionSize()
        )
        header = view.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        header.setDefaultAlignment(self._table.horizontalHeader().defaultAlignment())
        header.setHighlightSections(False)
        for set_policy in (view.setHorizontalScrollBarPolicy, view.setVerticalScrollBarPolicy):
            set_policy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        view.customContextMenuRequested.connect(self._table.customContextMenuRequested)
        view.doubleClicked.connect(self._table.doubleClicked)
        edge = theme.colour(Role.EDGE).name()
        view.setStyleSheet(
            f"QTableView {{ border: none; border-right: 1px solid {edge}; border-radius: 0;"
            " border-top-left-radius: 7px; border-bottom-left-radius: 7px; }"
        )
        return view

    def _arrange(self, view: QTableView) -> None:
        table = self._table
        columns = table.model().columnCount()
        visible = [n for n in range(min(self.columns, columns)) if not table.isColumnHidden(n)]
        for column in range(columns):
            view.setColumnHidden(column, column not in visible)
            view.setColumnWidth(column, table.columnWidth(column))
        header = table.horizontalHeader()
        view.horizontalHeader().setFixedHeight(header.height())
        frame = table.frameWidth()
        width = sum(table.columnWidth(column) for column in visible)
        height = header.height() + table.viewport().height()
        view.setGeometry(frame, frame, min(width, table.viewport().width()), height)
        view.setVisible(bool(visible) and width < table.viewport().width())
        self._scroll(table.verticalScrollBar().value())

    def _scroll(self, value: int) -> None:
        if self._view is not None:
            self._view.verticalScrollBar().setValue(value)
