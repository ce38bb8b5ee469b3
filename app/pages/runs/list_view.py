"""All runs in one table, with search and filter."""

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHBoxLayout,
    QHeaderView,
    QLineEdit,
    QStackedWidget,
    QTableView,
    QVBoxLayout,
    QWidget,
)

from app import resources
from app.pages.runs.columns import COLUMNS, Column
from app.pages.runs.delegate import ROW_HEIGHT, RunDelegate
from app.pages.runs.filter import RunsFilter, Shown
from app.pages.runs.list_actions import ListActions
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.pages.runs.table import ROW_ROLE, RunsTable
from app.settings import Settings
from app.theme import SPACE
from app.widgets import buttons
from app.widgets.page import EmptyState
from app.widgets.progress import ProgressLine
from app.widgets.text import Text


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
        self.actions_ = ListActions(self.table, state, self.selected)
        self.actions_.open_wanted.connect(lambda row: self.opened.emit(row.id))
        self.actions_.rename_wanted.connect(self._rename)
        self.views = QStackedWidget()
        self.views.addWidget(self._whole())
        self.views.addWidget(self._empty())
        self.copying = ProgressLine(self.tr("Copying a run"), in_bytes=True)
        self.copying.cancelled.connect(state.cancel_copies)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addWidget(self.copying)
        column.addWidget(self.views)
        settings.remember(self.table.horizontalHeader(), "runs.columns")
        state.listed.connect(self._on_listed)
        state.changed.connect(self._on_changed)
        state.removed.connect(self._on_removed)
        state.copying.connect(self._on_copying)
        state.arrived.connect(self.select)
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
        table.verticalHeader().setDefaultSectionSize(ROW_HEIGHT)
        header = table.horizontalHeader()
        header.setSectionsMovable(True)
        header.setHighlightSections(False)
        header.setStretchLastSection(True)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        for column, facts in COLUMNS.items():
            table.setColumnWidth(column, facts.width)
        header.moveSection(Column.SEEDS, header.visualIndex(Column.BEST) + 1)
        return table

    def _whole(self) -> QWidget:
        row = QHBoxLayout()
        row.setSpacing(4 * SPACE)
        row.addWidget(self._search(), 1)
        row.addWidget(self._filters())
        self.counted = Text("", "muted", wraps=False)
        row.addWidget(self.counted)
        whole = QWidget()
        column = QVBoxLayout(whole)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addLayout(row)
        column.addWidget(self.table, 1)
        return whole

    def _search(self) -> QLineEdit:
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search name, notes, data set, task, state"))
        self.search.setAccessibleName(self.tr("Search the runs"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(resources.icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        self.search.textChanged.connect(self.filter.search)
        self.search.textChanged.connect(self._count)
        return self.search

    def _filters(self) -> buttons.Segments:
        titles = {
            Shown.ALL: self.tr("All"),
            Shown.ACTIVE: self.tr("Active"),
            Shown.FINISHED: self.tr("Finished"),
            Shown.STOPPED_OR_FAILED: self.tr("Stopped or failed"),
            Shown.STARRED: self.tr("Starred"),
        }
        self.shown = buttons.Segments([titles[shown] for shown in Shown], self.tr("Filter"))
        self.shown.choose(Shown.ALL)
        self.shown.chosen.connect(lambda number: self.filter.show_only(Shown(number)))
        self.shown.chosen.connect(self._count)
        return self.shown

    def _empty(self) -> QWidget:
        self.first = buttons.primary(
            self.tr("&Try a first fine-tuning"), self.first_wanted.emit, "rocket"
        )
        return EmptyState(
            "activity",
            self.tr("No runs yet"),
            self.tr(
                "Fine-tune MiniLM on the sample data set, which takes about a minute,"
                " or train on your own texts. All your runs will be listed here."
            ),
            self.first,
            buttons.plain(self.tr("&New run…"), self.new_wanted.emit),
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
        self.actions_.enable()

    def _on_copying(self) -> None:
        copies = self._state.copies
        if not copies:
            self.copying.end()
            return
        stage = self.tr("Copying %n run(s) to your data folder", "", len(copies))
        if len(copies) == 1:
            name = next(iter(copies)).name
            stage = self.tr("Copying “{0}” to your data folder").format(name)
        done, total = (sum(numbers) for numbers in zip(*copies.values(), strict=True))
        self.copying.tell(done, total, stage)

    def _on_removed(self, run_id: str) -> None:
        self.model.remove_row(run_id)
        self._count()

    def _count(self) -> None:
        self.table.setColumnHidden(Column.SEEDS, not self.model.has_groups())
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
        return [index.data(ROW_ROLE) for index in sorted(rows, key=lambda index: index.row())]

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

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Find):
            self.search.setFocus()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.selected():
            self.actions_.do("open")
        else:
            super().keyPressEvent(event)

    def _rename(self, row: RunRow) -> None:
        source = self.model.index(self.model.place(row.id), Column.NAME)
        self.table.edit(self.filter.mapFromSource(source))
