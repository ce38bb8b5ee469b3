"""All runs in one table, with search, filter, menu and keys."""

from PySide6.QtCore import QItemSelectionModel, QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QAction, QDesktopServices, QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QMenu,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app import resources
from app.pages.runs.delegate import HEIGHT, RunDelegate
from app.pages.runs.questions import ask_notes, ask_to_delete
from app.pages.runs.rows import RunRow
from app.pages.runs.run.actions import Deed, deeds
from app.pages.runs.state import RunsState
from app.pages.runs.table import ROW, Column, RunsFilter, RunsTable, Shown
from app.settings import Settings
from app.theme import SPACE
from app.widgets import buttons
from app.widgets.page import EmptyState
from app.widgets.progress import ProgressLine
from app.widgets.text import Text

WIDTHS = {
    Column.STATE: 104,
    Column.NAME: 190,
    Column.TASK: 112,
    Column.DATA: 100,
    Column.START: 100,
    Column.BEST: 72,
    Column.LOSS: 140,
    Column.PROGRESS: 116,
    Column.TIME: 96,
    Column.STARTED: 90,
    Column.SPREAD: 130,
}


class RunsList(QWidget):
    """Signals:
    opened: the id of the run that the user wants to see.
    first_wanted: the user wants the first fine-tuning.
    new_wanted: the user wants to compose a run.
    """

    opened = Signal(str)
    first_wanted = Signal()
    new_wanted = Signal()

    def __init__(self, state: RunsState, settings: Settings) -> None:
        super().__init__()
        self._state = state
        self.model = RunsTable(self)
        self.model.renamed.connect(state.rename)
        self.filter = RunsFilter(self)
        self.filter.setSourceModel(self.model)
        self.table = self._table()
        self.views = QStackedWidget()
        self.views.addWidget(self._whole())
        self.views.addWidget(self._empty())
        self.copying = ProgressLine(self.tr("Copy of a run"), in_bytes=True)
        self.copying.cancelled.connect(state.cancel_copies)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addWidget(self.copying)
        column.addWidget(self.views)
        self.acts: dict[str, QAction] = {}
        self._add_actions()
        settings.remember(self.table.horizontalHeader(), "runs.columns")
        state.listed.connect(self._on_listed)
        state.changed.connect(self._on_changed)
        state.removed.connect(self._on_removed)
        state.copying.connect(self._on_copying)
        state.arrived.connect(self.select)
        self.table.selectionModel().selectionChanged.connect(self._enable)
        self._on_listed()

    def _table(self) -> QTableView:
        table = QTableView()
        table.setModel(self.filter)
        table.setItemDelegate(RunDelegate(table))
        table.setAccessibleName(self.tr("Runs"))
        table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSortingEnabled(True)
        table.sortByColumn(Column.STARTED, Qt.SortOrder.DescendingOrder)
        table.setShowGrid(False)
        table.setWordWrap(False)
        table.setMouseTracking(True)
        table.setTabKeyNavigation(False)
        table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.verticalHeader().hide()
        table.verticalHeader().setDefaultSectionSize(HEIGHT)
        header = table.horizontalHeader()
        header.setSectionsMovable(True)
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, width in WIDTHS.items():
            table.setColumnWidth(column, width)
        header.moveSection(Column.SPREAD, header.visualIndex(Column.BEST) + 1)
        table.customContextMenuRequested.connect(self._on_menu)
        table.doubleClicked.connect(lambda _: self._do("open"))
        return table

    def _whole(self) -> QWidget:
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search name, notes, data, task, state"))
        self.search.setAccessibleName(self.tr("Search the runs"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(resources.icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self.filter.search)
        self.search.textChanged.connect(self._count)
        self.shown = buttons.Segments(
            [
                self.tr("All"),
                self.tr("Active"),
                self.tr("Finished"),
                self.tr("Ended early"),
                self.tr("Starred"),
            ],
            self.tr("Show"),
        )
        self.shown.choose(Shown.ALL)
        self.shown.chosen.connect(lambda number: self.filter.show_only(Shown(number)))
        self.shown.chosen.connect(self._count)
        self.counted = Text("", "muted", wraps=False)
        row = QHBoxLayout()
        row.setSpacing(4 * SPACE)
        row.addWidget(self.search, 1)
        row.addWidget(self.shown)
        row.addWidget(self.counted)
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addLayout(row)
        column.addWidget(self.table, 1)
        return whole

    def _empty(self) -> QWidget:
        self.first = buttons.primary(
            self.tr("&Try the first fine-tuning"), self.first_wanted.emit, "rocket"
        )
        return EmptyState(
            "activity",
            self.tr("No runs yet"),
            self.tr(
                "Fine-tune the starter model on the sample, which takes about a minute,"
                " or train on your own texts. Runs appear here and stay."
            ),
            self.first,
            buttons.plain(self.tr("&Choose what to train…"), self.new_wanted.emit),
        )

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def _on_listed(self) -> None:
        kept = {row.id for row in self.selected()}
        self.model.show_rows(list(self._state.rows.values()))
        for run_id in kept:
            self._select(run_id)
        self._count()

    def _on_changed(self, row: RunRow) -> None:
        self.model.show_row(row)
        self._count()
        self._enable()

    def _on_copying(self) -> None:
        copies = self._state.copies
        if not copies:
            self.copying.end()
            return
        stage = self.tr("Copying %n run(s) into your home", "", len(copies))
        if len(copies) == 1:
            stage = self.tr("Copying “{0}” into your home").format(next(iter(copies)).name)
        done, total = (sum(numbers) for numbers in zip(*copies.values(), strict=True))
        self.copying.tell(done, total, stage)

    def _on_removed(self, run_id: str) -> None:
        self.model.remove_row(run_id)
        self._count()

    def _count(self) -> None:
        self.table.setColumnHidden(Column.SPREAD, not self.model.has_groups())
        nothing = self._state.is_listed and self.model.rowCount() == 0
        self.views.setCurrentIndex(1 if nothing else 0)
        shown, there = self.filter.rowCount(), self.model.rowCount()
        self.counted.setText(
            self.tr("%Ln run(s)", "", there)
            if shown == there
            else self.tr("{0} of {1}").format(shown, there)
        )

    def selected(self) -> list[RunRow]:
        """The runs that are selected, in the order of the table."""
        rows = self.table.selectionModel().selectedRows()
        return [index.data(ROW) for index in sorted(rows, key=lambda index: index.row())]

    def select(self, run_id: str) -> None:
        """Select this run alone, where it is shown."""
        self.table.clearSelection()
        self._select(run_id)

    def _select(self, run_id: str) -> None:
        place = self.model.place(run_id)
        index = self.filter.mapFromSource(self.model.index(place, 0)) if place >= 0 else None
        if index is not None and index.isValid():
            flags = QItemSelectionModel.SelectionFlag
            self.table.selectionModel().setCurrentIndex(
                index.siblingAtColumn(Column.NAME), flags.Select | flags.Rows
            )

    # ── deeds ────────────────────────────────────────────────────────────────────────────────

    def _add_actions(self) -> None:
        for deed in deeds():
            if not deed.key:
                continue
            action = QAction(resources.icon(deed.icon), deed.text, self)
            action.setShortcut(QKeySequence(deed.keys))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            action.triggered.connect(lambda _=False, key=deed.key: self._do(key))
            self.table.addAction(action)
            self.acts[deed.key] = action
        self._enable()

    def _enable(self) -> None:
        rows = self.selected()
        for deed in deeds():
            if deed.key:
                why = self._why_not(deed, rows)
                self.acts[deed.key].setEnabled(not why)
                self.acts[deed.key].setToolTip(why)
        starred = bool(rows) and all(row.star for row in rows)
        self.acts["star"].setText(self.tr("Remove the s&tar") if starred else self.tr("S&tar"))

    def _why_not(self, deed: Deed, rows: list[RunRow]) -> str:
        if not rows:
            return self.tr("Select a run first.")
        if len(rows) > 1 and not deed.for_many:
            return self.tr("Select one run only.")
        reasons = [deed.why_not(row) for row in rows]
        return "" if not all(reasons) else reasons[0]

    def _on_menu(self, place: QPoint) -> None:
        rows = self.selected()
        if not rows:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for deed in deeds():
            if deed.key:
                menu.addAction(self.acts[deed.key])
            else:
                menu.addSeparator()
        menu.popup(self.table.viewport().mapToGlobal(place))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Find):
            self.search.setFocus()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.selected():
            self._do("open")
        else:
            super().keyPressEvent(event)

    def _do(self, key: str) -> None:
        rows = self.selected()
        deed = next(d for d in deeds() if d.key == key)
        able = [row for row in rows if not deed.why_not(row)]
        if not able or self._why_not(deed, rows):
            return
        first, state = able[0], self._state
        match key:
            case "open":
                self.opened.emit(first.id)
            case "stop":
                for row in able:
                    state.stop(row.id)
            case "resume":
                for row in able:
                    state.resume(row.id)
            case "inside" if first.checkpoint:
                state.look_inside(first.checkpoint)
            case "use" if first.checkpoint:
                state.start_from(first.checkpoint)
            case "again":
                state.start_again(first)
            case "rename":
                self._rename(first)
            case "notes":
                ask_notes(self, state, first)
            case "star":
                star = not all(row.star for row in rows)
                for row in able:
                    state.set_star(row.id, star)
            case "folder":
                QDesktopServices.openUrl(QUrl.fromLocalFile(str(first.folder)))
            case "delete":
                ask_to_delete(self, state, able)

    def _rename(self, row: RunRow) -> None:
        source = self.model.index(self.model.place(row.id), Column.NAME)
        self.table.edit(self.filter.mapFromSource(source))
