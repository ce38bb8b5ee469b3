"""The first columns of a table, which stay where they are while the others are scrolled."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHeaderView, QTableView

from app import theme
from app.theme import Role


class PinnedColumns(QObject):
    """A second view of the first columns, over the table and moved with it up and down.

    It has no focus of its own: keys, menus and clicks belong to the table.
    """

    def __init__(self, table: QTableView) -> None:
        super().__init__(table)
        self._table = table
        self.columns = 0
        self._view: QTableView | None = None
        table.verticalScrollBar().valueChanged.connect(self._scroll)
        table.viewport().installEventFilter(self)

    def pin(self, columns: int) -> None:
        """Keep the first `columns` in place; 0: none."""
        self.columns = columns
        if columns and self._view is None:
            self._view = self._made()
        if self._view is not None:
            self._arrange(self._view)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and self._view is not None:
            self._arrange(self._view)
        return False

    def _made(self) -> QTableView:
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
        for bars in (view.setHorizontalScrollBarPolicy, view.setVerticalScrollBarPolicy):
            bars(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
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
        shown = [n for n in range(min(self.columns, columns)) if not table.isColumnHidden(n)]
        for place in range(columns):
            view.setColumnHidden(place, place not in shown)
            view.setColumnWidth(place, table.columnWidth(place))
        header = table.horizontalHeader()
        view.horizontalHeader().setFixedHeight(header.height())
        frame = table.frameWidth()
        width = sum(table.columnWidth(place) for place in shown)
        high = header.height() + table.viewport().height()
        view.setGeometry(frame, frame, min(width, table.viewport().width()), high)
        view.setVisible(bool(shown) and width < table.viewport().width())
        self._scroll(table.verticalScrollBar().value())

    def _scroll(self, value: int) -> None:
        if self._view is not None:
            self._view.verticalScrollBar().setValue(value)
