"""The columns of the table of runs as they stand: widths, order, what is pinned; and their menu.

Until the user resizes a column all of them share the room that there is, so that nothing has to be
scrolled sideways.
"""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QSignalBlocker, Qt, QTimer, Signal
from PySide6.QtWidgets import QHeaderView, QMenu, QTableView

from app.pages.runs.columns import DEFAULT, Column, column_of
from app.pages.runs.layouts import Layout
from app.pages.runs.pinned import PinnedColumns
from app.pages.runs.table import RunsTable
from app.translation import tr

LEAST = 44  # px of a column
SQUEEZED = 0.9  # of the usual width of a column: narrower, its texts can hardly be read
YIELDING = (Column.LOSS, Column.TIME, Column.STARTED)  # hidden one by one where room is short


class ListColumns(QObject):
    """Signals:
    changed: the user has arranged the columns, the order or the groups anew.
    choosing: the user wants to choose columns.
    grouping: the keys of the columns by which the user wants to group.
    """

    changed = Signal()
    choosing = Signal()
    grouping = Signal(object)

    def __init__(self, table: QTableView, model: RunsTable) -> None:
        super().__init__(table)
        self._table, self._model = table, model
        self._widths: dict[str, int] = {}
        self._is_fitting = False
        self.pinned = 0
        self.frozen = PinnedColumns(table)
        header = table.horizontalHeader()
        header.setSectionsMovable(True)
        header.setHighlightSections(False)
        header.setTextElideMode(Qt.TextElideMode.ElideRight)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        header.setMinimumSectionSize(LEAST)
        header.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        header.customContextMenuRequested.connect(self._on_menu)
        header.sectionResized.connect(self._on_resized)
        header.sectionMoved.connect(lambda *_: QTimer.singleShot(0, self, self._take_order))
        header.sortIndicatorChanged.connect(lambda *_: self.changed.emit())
        model.modelReset.connect(self.fit)
        table.viewport().installEventFilter(self)

    def apply(self, layout: Layout) -> None:
        """Show the columns of a layout in its order."""
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
        """Show these in this order."""
        header = self._table.horizontalHeader()
        with QSignalBlocker(header):
            self._model.set_columns(keys)
            for place in range(header.count()):
                header.moveSection(header.visualIndex(place), place)
        self.fit()

    def layout(self, sentence: str, shown: int) -> Layout:
        """How the table stands now."""
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
        """Let the columns share the room; those that the user resized keep their width."""
        self._is_fitting = True  # to hide and to show a column changes its width, too
        self._yield_room()
        self._is_fitting = False
        header, keys = self._table.horizontalHeader(), self._model.keys
        shown = [n for n in range(len(keys)) if not self._table.isColumnHidden(n)]
        usual = {n: _usual(keys[n]) for n in shown if keys[n] not in self._widths}
        fixed = {n: self._widths[keys[n]] for n in shown if keys[n] in self._widths}
        room = self._table.viewport().width() - sum(fixed.values())
        least = sum(max(LEAST, round(0.7 * width)) for width in usual.values())
        share = max(room, least) / max(1, sum(usual.values()))
        with QSignalBlocker(header):
            for place, width in {**{n: int(w * share) for n, w in usual.items()}, **fixed}.items():
                header.resizeSection(place, max(LEAST, width))
        self.frozen.pin(self.pinned)

    def _yield_room(self) -> None:
        """Hide the mean over seeds where there are none, and what yields where room is short."""
        keys, room = self._model.keys, self._table.viewport().width()
        hidden = set() if self._model.has_groups() else {str(Column.SEEDS)}
        for yielding in YIELDING if keys == DEFAULT and not self._widths else ():
            if sum(_usual(one) for one in keys if one not in hidden) * SQUEEZED > room:
                hidden.add(str(yielding))
        for place, key in enumerate(keys):
            if self._table.isColumnHidden(place) != (key in hidden):
                self._table.setColumnHidden(place, key in hidden)

    def pin(self, columns: int) -> None:
        """Keep so many columns at the left while the others are scrolled; 0: none."""
        self.pinned = columns
        self.frozen.pin(columns)
        self.changed.emit()

    def hide(self, key: str) -> None:
        """Show all columns but this one; the last one stays."""
        left = [other for other in self._model.keys if other != key]
        if left:
            self.pinned = min(self.pinned, len(left) - 1)
            self.show_columns(left)
            self.changed.emit()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.fit()
        return False

    def menu(self, place: int) -> QMenu:
        """What can be done with a column."""
        key = self._model.keys[place]
        order = Qt.SortOrder
        menu = QMenu(self._table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        by = self._table.sortByColumn
        entries = [
            (tr("Sort &ascending"), lambda: by(place, order.AscendingOrder)),
            (tr("Sort &descending"), lambda: by(place, order.DescendingOrder)),
            None,
            (tr("&Group by this column"), lambda: self.grouping.emit((key,))),
            (tr("&Pin the columns up to this one"), lambda: self.pin(place + 1)),
            *([(tr("&Unpin"), lambda: self.pin(0))] if self.pinned else []),
            (tr("&Hide this column"), lambda: self.hide(key)),
            None,
            (tr("&Columns…"), self.choosing.emit),
        ]
        for entry in entries:
            if entry is None:
                menu.addSeparator()
            else:
                text, act = entry
                menu.addAction(text).triggered.connect(lambda _=False, act=act: act())
        return menu

    def _on_menu(self, at: QPoint) -> None:
        header = self._table.horizontalHeader()
        place = header.logicalIndexAt(at)
        if place >= 0:
            self.menu(place).popup(header.mapToGlobal(at))

    def _on_resized(self, place: int, _: int, width: int) -> None:
        if self._is_fitting:
            return
        self._widths[self._model.keys[place]] = width
        self.frozen.pin(self.pinned)
        self.changed.emit()

    def _take_order(self) -> None:
        """The order in which the user put the columns is that of the model."""
        header, keys = self._table.horizontalHeader(), self._model.keys
        self.show_columns([keys[header.logicalIndex(place)] for place in range(len(keys))])
        self.changed.emit()


def _usual(key: str) -> int:
    facts = column_of(key)
    return facts.width if facts is not None else LEAST
