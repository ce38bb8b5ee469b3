"""Actions on the runs selected in the table, with keys and in a menu."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QModelIndex, QObject, QPoint, Qt, Signal
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu, QTableView

from app import resources
from app.pages.runs.actions import RunAction, run_actions
from app.pages.runs.columns import column_info
from app.pages.runs.rows import RunRow
from app.pages.runs.sentence import comparison
from app.pages.runs.state import RunsState
from app.pages.runs.table import KEY_ROLE, ROW_ROLE
from app.translation import tr
from app.widgets.text.labels import plain_menu_text

SAID = 40  # characters of a cell in the menu


class ListActions(QObject):
    """The actions of a table, by key in `by_key`.

    Signals:
        open_wanted, rename_wanted: the RunRow to open or rename.
        compare_wanted: the runs to compare.
        narrowed: a comparison to add to the filter.
    """

    open_wanted = Signal(object)
    rename_wanted = Signal(object)
    compare_wanted = Signal(object)
    narrowed = Signal(str)

    def __init__(
        self, table: QTableView, state: RunsState, selected: Callable[[], list[RunRow]]
    ) -> None:
        super().__init__(table)
        self._table, self._state, self._selected = table, state, selected
        self.by_key: dict[str, QAction] = {}
        for action in run_actions():
            if action is not None:
                self._add(action)
        table.customContextMenuRequested.connect(self._on_menu)
        table.doubleClicked.connect(lambda _: self.do("open"))
        table.selectionModel().selectionChanged.connect(self.enable)
        self.enable()

    def _add(self, action: RunAction) -> None:
        result = QAction(resources.icon(action.icon), action.text([]), self._table)
        result.setShortcut(QKeySequence(action.keys))
        result.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        result.triggered.connect(lambda: self.do(action.key))
        self._table.addAction(result)
        self.by_key[action.key] = result

    def enable(self) -> None:
        """Enable the actions that the selected runs allow; the others show why not."""
        rows = self._selected()
        for action in run_actions():
            if action is not None:
                why = _why_not(action, rows)
                self.by_key[action.key].setEnabled(not why)
                self.by_key[action.key].setToolTip(why)
                self.by_key[action.key].setText(action.text(rows))

    def do(self, key: str) -> None:
        """Apply an action to those of the selected runs that allow it."""
        rows = self._selected()
        action = next(action for action in run_actions() if action and action.key == key)
        able = [row for row in rows if not action.why_not(row)]
        if not able or _why_not(action, rows):
            return
        match key:
            case "open":
                self.open_wanted.emit(able[0])
            case "compare":
                self.compare_wanted.emit(able)
            case "rename":
                self.rename_wanted.emit(able[0])
            case _:
                action.do(self._table, self._state, able)

    def _on_menu(self, place: QPoint) -> None:
        if not self._selected():
            return
        menu = QMenu(self._table)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        self._add_narrowing(menu, self._table.indexAt(place))
        for action in run_actions():
            if action is None:
                menu.addSeparator()
            else:
                menu.addAction(self.by_key[action.key])
        menu.popup(self._table.viewport().mapToGlobal(place))

    def _add_narrowing(self, menu: QMenu, cell: QModelIndex) -> None:
        """“Only these” and “Not these” for the value of the cell."""
        row, key = cell.data(ROW_ROLE), self._key_of(cell)
        info = column_info(key)
        if not isinstance(row, RunRow) or info is None:
            return
        sentence = plain_menu_text(f"{info.title()}: {info.text(row, ())[:SAID] or tr('none')}")
        for text, negated in ((tr("Only “{0}”"), False), (tr("Not “{0}”"), True)):
            wanted = comparison(key, row, negated)
            menu.addAction(text.format(sentence)).triggered.connect(
                lambda _=False, wanted=wanted: self.narrowed.emit(wanted)
            )
        menu.addSeparator()

    def _key_of(self, cell: QModelIndex) -> str:
        orientation = Qt.Orientation.Horizontal
        return str(self._table.model().headerData(cell.column(), orientation, KEY_ROLE) or "")


def _why_not(action: RunAction, rows: Sequence[RunRow]) -> str:
    if not rows:
        return tr("Select a run first.")
    if action.key == "compare" and len(rows) < 2:
        return tr("Select at least two runs.")
    if len(rows) > 1 and not action.for_many:
        return tr("Select a single run.")
    reasons = [action.why_not(row) for row in rows]
    return "" if not all(reasons) else reasons[0]
