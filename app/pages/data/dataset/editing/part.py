"""What makes the rows of a data set editable: keys, editors of cells, and the bar of changes."""

from PySide6.QtCore import QItemSelectionModel, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QLayout, QTableView, QVBoxLayout, QWidget

from app.pages.data.dataset.editing.bar import EditBar
from app.pages.data.dataset.editing.cells import LabelCells, SplitCells, TextCells
from app.pages.data.dataset.editing.keys import KeyFilter, LabelKeys
from app.pages.data.dataset.editing.state import EditsState
from app.pages.data.dataset.editing.tags import TagWords
from app.pages.data.dataset.state import DatasetState
from app.pages.data.dataset.table import OWN_COLUMNS, SPLIT_COLUMN, RowsModel
from app.studio import Studio
from app.widgets.page import scrolling
from engine.data.columns.words import words_of
from engine.data.datasets.editing import with_tag

WORDS_HEIGHT = 104  # px


class EditingPart(QObject):
    """Makes the table of a data set editable; `bar`, `keys` and `words` stand around it."""

    def __init__(
        self, studio: Studio, data: DatasetState, table: QTableView, parent: QWidget
    ) -> None:
        super().__init__(parent)
        self._data, self._table = data, table
        self._below: QWidget = parent
        self.state = EditsState(studio, data)
        self.bar = EditBar(self.state, parent)
        self.keys = LabelKeys(parent)
        self.words = TagWords()
        self.words_area = scrolling(self.words)
        self.words_area.setFixedHeight(WORDS_HEIGHT)
        self.words_area.hide()
        self.keys.pressed.connect(self._on_label)
        KeyFilter(table, self._on_key)

    def add_around(self, column: QVBoxLayout, table: QLayout, below: QWidget) -> None:
        """Put the bar and the keys above the table, and the words of a row over what is below."""
        column.addWidget(self.bar)
        column.addWidget(self.keys)
        column.addLayout(table, 1)
        column.addWidget(self.words_area)
        column.addWidget(below)
        self._below = below

    def begin(self, model: RowsModel) -> None:
        """Make the table editable; its model shows the edits."""
        table, spec = self._table, self._data.spec
        if not self.state.can_edit:
            return
        model.show_edits(self.state)
        table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        table.setEditTriggers(
            QAbstractItemView.EditTrigger.DoubleClicked
            | QAbstractItemView.EditTrigger.EditKeyPressed
        )
        texts = {*spec.mapping.texts, spec.mapping.beginning, *spec.mapping.endings}
        labels = () if spec.mapping.flags or spec.mapping.tags else self.state.labels
        for place, column in enumerate(self._data.columns, start=OWN_COLUMNS):
            is_text = column in texts or column not in spec.mapping.columns
            made = TextCells(table) if is_text else LabelCells(labels, table)
            table.setItemDelegateForColumn(place, made)
        table.setItemDelegateForColumn(SPLIT_COLUMN, SplitCells(table))
        table.selectionModel().currentRowChanged.connect(lambda *_: self._show_words())
        self.state.changed.connect(self._show_words)
        none = self.tr("outside (O)") if spec.mapping.tags is not None else self.tr("no label")
        has_none = spec.mapping.tags is not None or spec.mapping.label is not None
        self.keys.show_labels(self.state.labels, none if has_none else "")
        if spec.mapping.tags is not None:
            self.keys.watch(self.words)
            self.words_area.show()
            self._below.hide()
        self.keys.watch(table)
        self.state.open()

    def selected(self) -> list[int]:
        """The numbers of the selected rows."""
        model = self._table.selectionModel()
        return [int(self._data.numbers[index.row()]) for index in model.selectedRows()]

    def _on_label(self, label: str) -> None:
        rows = self.selected()
        if not rows:
            return
        if self._data.spec.mapping.tags is not None:
            self._set_tag(label)
            return
        self.state.set_label(rows, label)
        if len(rows) == 1:
            self._go_on()

    def _go_on(self) -> None:
        """Select the row below, so that labels can be given one after another."""
        table = self._table
        here = table.currentIndex()
        below = here.siblingAtRow(here.row() + 1)
        if table.hasFocus() and below.isValid():
            flags = QItemSelectionModel.SelectionFlag
            table.selectionModel().setCurrentIndex(below, flags.ClearAndSelect | flags.Rows)

    def _on_key(self, event: QKeyEvent) -> bool:
        if event.key() != Qt.Key.Key_Delete or not self.state.can_edit:
            return False
        rows = self.selected()
        if rows:
            self.state.delete(rows)
        return bool(rows)

    # ── tags ─────────────────────────────────────────────────────────────────────────────────

    def _set_tag(self, name: str) -> None:
        column, number = self._data.spec.mapping.tags, self._current()
        if column is None or number is None or not self.words.words:
            return
        cell = self.state.whole_cell(number, column)
        self.state.set_cells([number], column, [with_tag(cell, *self.words.selection, name or "O")])

    def _show_words(self) -> None:
        mapping, number = self._data.spec.mapping, self._current()
        if mapping.tags is None or number is None:
            return
        words, tags = (
            words_of(self.state.whole_cell(number, name)) for name in (mapping.text, mapping.tags)
        )
        self.words.show_row(words, tags, self.state.labels)

    def _current(self) -> int | None:
        """The number of the current row."""
        row, numbers = self._table.currentIndex().row(), self._data.numbers
        return int(numbers[row]) if 0 <= row < len(numbers) else None
