"""The table of all runs with search, filter, groups and saved views."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, Qt
from PySide6.QtGui import QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QStackedWidget, QTableView, QWidget

from app.pages.runs.actions import ListActions
from app.pages.runs.arranging import GroupRow, RunFilter, Test
from app.pages.runs.columns import Column
from app.pages.runs.delegate import ROW_HEIGHT, RunDelegate
from app.pages.runs.filter_line import FilterLine
from app.pages.runs.list_columns import ListColumns
from app.pages.runs.list_menus import ColumnsButton, Layout, ViewMenu, Views, grouping_columns
from app.pages.runs.questions import ask_for_columns, ask_name
from app.pages.runs.rows import Measure, RunRow
from app.pages.runs.state import RunsState
from app.pages.runs.table import ROW_ROLE, RunsTable
from app.theme import SPACE, px
from app.widgets import buttons, layouts
from app.widgets.page import EmptyState
from app.widgets.progress import ProgressLine
from app.widgets.tables import make_table
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine


class RunsList(QWidget):
    """The table with its controls."""

    def __init__(self, state: RunsState) -> None:
        super().__init__()
        self._state = state
        self.model = RunsTable(self)
        self.model.renamed.connect(state.rename)
        self.model.queue_ordered.connect(state.dispatcher.order)
        self._selection: tuple[set[str], str] = (set(), "")  # ids of selected and current runs
        self.table = self._table()
        self.columns = ListColumns(self.table, self.model)
        self.actions_ = ListActions(self.table, state, self.selected)
        self.actions_.rename_requested.connect(self._rename)
        self.saved_views = Views(state.studio.settings)
        self.views = QStackedWidget()
        self.views.addWidget(self._content())
        self.views.addWidget(self._empty())
        self.copying = ProgressLine(self.tr("Copying a run"), in_bytes=True)
        self.copying.cancelled.connect(state.dispatcher.cancel_copies)
        self.exchange = ProgressLine(self.tr("File of runs"), in_bytes=True)
        self.exchange.cancelled.connect(state.exchange.cancel)
        state.exchange.started.connect(self.exchange.begin)
        state.exchange.progressed.connect(self.exchange.show_progress)
        state.exchange.ended.connect(self.exchange.end)
        layouts.column(self.copying, self.exchange, self.views, parent=self, spacing=3 * SPACE)
        self._connect_columns()
        state.measured.connect(self.model.rearrange)
        state.sparks_read.connect(self.table.viewport().update)
        state.listed.connect(self._on_listed)
        state.changed.connect(self._on_changed)
        state.removed.connect(self._on_removed)
        state.copying.connect(self._on_copying)
        state.arrived.connect(self.select)
        self._on_listed()

    def _connect_columns(self) -> None:
        """Connect columns, groups and views, and restore the last layout."""
        self.actions_.filter_requested.connect(self.filter.add)
        self.columns.columns_requested.connect(self.choose_columns)
        self.columns.groups_requested.connect(self.group_by)
        self.columns.changed.connect(self._save_layout)
        self.model.modelAboutToBeReset.connect(self._save_selection)
        self.model.modelReset.connect(self._restore_selection)
        self.table.clicked.connect(self._on_clicked)
        self.table.selectionModel().selectionChanged.connect(self._on_selected)
        self._on_selected()
        self.apply(self.saved_views.current())

    def _table(self) -> QTableView:
        table = make_table(self.tr("Runs"), self.model)
        table.setItemDelegate(RunDelegate(table, self.model, self._state.sparkline))
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        table.setSortingEnabled(True)
        table.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        table.setDragDropOverwriteMode(False)
        table.setMouseTracking(True)
        rows = table.verticalHeader()
        rows.setSectionResizeMode(rows.ResizeMode.Fixed)
        rows.setDefaultSectionSize(px(ROW_HEIGHT))
        return table

    def _content(self) -> QWidget:
        self.filter = FilterLine(self.model.rows)
        self.filter.filtered.connect(self._on_filtered)
        self.search = self.filter.field
        self.count_label = OneLine("", "muted")
        self.group_menu = ColumnsButton(
            self.tr("&Group by"),
            "layers",
            lambda: grouping_columns(self.model),
            lambda: self.model.group_keys,
            with_nothing=True,
        )
        self.group_menu.chosen.connect(self.group_by)
        self.view_menu = ViewMenu(self.saved_views, self._layout)
        self.view_menu.chosen.connect(self.apply)
        self.compare = buttons.plain(
            self.tr("Co&mpare"), lambda: self.actions_.do("compare"), "chart-line"
        )
        columns = buttons.quiet(self.tr("Co&lumns…"), self.choose_columns, "columns-2")
        tools = (columns, self.view_menu, self.group_menu, self.compare)
        at_top = ((widget, 0, Qt.AlignmentFlag.AlignTop) for widget in tools)
        first = layouts.wrap((self.filter, 1), *at_top)
        second = layouts.row(self._filters(), (self.count_label, 1), spacing=2 * SPACE)
        return layouts.page(first, second, (self.table, 1), spacing=3 * SPACE)

    def _filters(self) -> buttons.Segments:
        titles = {
            RunFilter.ALL: self.tr("All"),
            RunFilter.ACTIVE: self.tr("Active"),
            RunFilter.FINISHED: self.tr("Finished"),
            RunFilter.STOPPED_OR_FAILED: self.tr("Stopped or failed"),
            RunFilter.STARRED: self.tr("Starred"),
            RunFilter.ARCHIVED: self.tr("Archived"),
        }
        self.run_filter = buttons.Segments([titles[f] for f in RunFilter], self.tr("Filter"))
        self.run_filter.choose(RunFilter.ALL)
        self.run_filter.chosen.connect(self._on_run_filter)
        return self.run_filter

    def _empty(self) -> QWidget:
        go = self._state.studio.navigate
        self.first_run = buttons.primary(
            self.tr("&Try a first fine-tuning"),
            lambda: go.emit("train", {"preset": "first"}),
            "rocket",
        )
        return EmptyState(
            "activity",
            self.tr("No runs yet"),
            self.tr(
                "Fine-tune MiniLM on the sample data set, which takes about a minute,"
                " or train on your own texts. All your runs will be listed here."
            ),
            self.first_run,
            buttons.plain(self.tr("&New run…"), lambda: go.emit("train", None)),
        )

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def _on_listed(self) -> None:
        self.model.show_rows(list(self._state.rows.values()))
        self._update_count()

    def _on_changed(self, row: RunRow) -> None:
        self.model.show_row(row)
        self._update_count()
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
        done, total = (sum(sizes) for sizes in zip(*copies.values(), strict=True))
        self.copying.show_progress(done, total, stage)

    def _on_removed(self, run_id: str) -> None:
        self.model.remove_row(run_id)
        self._update_count()

    def _update_count(self) -> None:
        shown, total = self.model.count()
        is_empty = self._state.is_listed and total == 0
        self.views.setCurrentIndex(1 if is_empty else 0)
        self.count_label.setText(
            self.tr("%Ln run(s)", "", total)
            if shown == total
            else self.tr("{0} of {1}").format(numbers.count(shown), numbers.count(total))
        )

    # ── layout and filter ────────────────────────────────────────────────────────────────────

    def apply(self, layout: Layout) -> None:
        """Show columns, order, groups and filter of a layout."""
        self.columns.apply(layout)
        self._state.request_columns(layout.columns)
        self.run_filter.choose(min(layout.shown, len(RunFilter) - 1))
        self._on_run_filter(self.run_filter.choice())
        self.search.setText(layout.sentence)
        self._save_layout()

    def choose_columns(self) -> None:
        ask_for_columns(self, self.model.keys, self.show_columns)

    def show_columns(self, keys: Sequence[str]) -> None:
        self.columns.show_columns(keys)
        self._state.request_columns(keys)
        self._save_layout()

    def group_by(self, keys: Sequence[str]) -> None:
        self._state.request_columns(keys)
        self.model.group_by(keys)
        self._save_layout()

    def sort_by(self, key: str, descending: bool = False) -> None:
        order = Qt.SortOrder.DescendingOrder if descending else Qt.SortOrder.AscendingOrder
        self.table.sortByColumn(self.model.column(key), order)

    def _on_selected(self) -> None:
        self.compare.setEnabled(len(self.selected()) > 1)

    def _on_filtered(self, test: Test, measures: Sequence[Measure]) -> None:
        self._state.request(measures)
        self.model.set_filter(test)
        self._update_count()
        self._save_layout()

    def _on_run_filter(self, index: int) -> None:
        self.model.show_only(RunFilter(index))
        self._update_count()
        self._save_layout()

    def _layout(self) -> Layout:
        return self.columns.layout(self.search.text(), max(0, self.run_filter.choice()))

    def _save_layout(self) -> None:
        """Save the layout for the next start, without the search."""
        self.saved_views.save_current(replace(self._layout(), sentence="", shown=0))

    def _on_clicked(self, index: QModelIndex) -> None:
        item = index.data(ROW_ROLE)
        is_name = self.model.keys[index.column()] == Column.NAME
        if isinstance(item, GroupRow) and is_name:
            self.model.toggle(item)

    def _save_selection(self) -> None:
        current = self.table.currentIndex().data(ROW_ROLE)
        run_ids = {row.id for row in self.selected()}
        self._selection = run_ids, current.id if isinstance(current, RunRow) else ""

    def _restore_selection(self) -> None:
        """Select the same runs after a reset of the model."""
        run_ids, current = self._selection
        rows = sorted(row for run in run_ids if (row := self.model.find_row(run)) >= 0)
        last = len(self.model.keys) - 1
        chosen = QItemSelection()
        for row in rows:
            chosen.select(self.model.index(row, 0), self.model.index(row, last))
        flags = QItemSelectionModel.SelectionFlag
        selection = self.table.selectionModel()
        if (row := self.model.find_row(current)) >= 0:
            index = self.model.index(row, max(0, self.model.column(Column.NAME)))
            selection.setCurrentIndex(index, flags.NoUpdate)
        selection.select(chosen, flags.ClearAndSelect)
        self.actions_.enable()

    # ── selection ────────────────────────────────────────────────────────────────────────────

    def selected(self) -> list[RunRow]:
        """The selected runs in table order, with all runs of a selected group."""
        rows = self.table.selectionModel().selectedRows()
        result: dict[str, RunRow] = {}
        for index in sorted(rows, key=lambda index: index.row()):
            item = index.data(ROW_ROLE)
            members = item.rows if isinstance(item, GroupRow) else (item,)
            result.update((row.id, row) for row in members if isinstance(row, RunRow))
        return list(result.values())

    def select(self, run_id: str) -> None:
        """Select only this run, if it is shown."""
        self.table.clearSelection()
        self._select(run_id)

    def _select(self, run_id: str) -> None:
        row = self.model.find_row(run_id)
        if row >= 0:
            flags = QItemSelectionModel.SelectionFlag
            index = self.model.index(row, max(0, self.model.column(Column.NAME)))
            self.table.selectionModel().setCurrentIndex(index, flags.Select | flags.Rows)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        item = self.table.currentIndex().data(ROW_ROLE)
        is_open_key = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)
        if event.matches(QKeySequence.StandardKey.Find):
            self.search.setFocus()
        elif isinstance(item, GroupRow) and is_open_key:
            self.model.toggle(item)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.selected():
            self.actions_.do("open")
        else:
            super().keyPressEvent(event)

    def _rename(self, row: RunRow) -> None:
        column = self.model.column(Column.NAME)
        if column < 0:
            ask_name(self, self._state, [row])
        else:
            self.table.edit(self.model.index(self.model.find_row(row.id), column))
