"""Item model of the rows of a data set, read when they become visible."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt
from PySide6.QtGui import QFont

from app.pages.data.cells import column_roles, header_data, one_line
from app.pages.data.dataset.editing.mark_texts import mark_text, origin_text
from app.pages.data.dataset.editing.review_state import ReviewState
from app.pages.data.dataset.editing.state import EditsState
from app.pages.data.dataset.state import (
    MAX_CELL_CHARACTERS,
    PAGE_ROWS,
    DatasetState,
    Page,
    Rows,
    take_in_order,
)
from app.resources import mono_font
from app.theme import Role, colour
from app.translation import tr
from app.widgets.table_menu import Read, unique_names
from app.widgets.tables import AT_RIGHT, NOWHERE, Index
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import font, tooltip, visible
from app.widgets.text.tagged import CHIPS, Chip, chips, text_chips, word_spans
from engine.config.dataset import SPLITS
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.text_spans import TextSpan, read_spans
from engine.data.columns.words import split_words
from engine.data.datasets.differences import RowDifference
from engine.data.datasets.editing import NOT_EDITED, RowEdit
from engine.files.table_files import BATCH_ROWS

MAX_CACHED_PAGES = 30
LEAD_COLUMNS = 2  # line and split, before the columns of the source
SPLIT_COLUMN = 1


class RowsModel(QAbstractTableModel):
    """Line, split, then the columns of the source. A row not read yet shows “…”."""

    def __init__(self, state: DatasetState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._rows = 0
        self._indices: Rows | None = None  # rows of the state that are shown
        self._roles = column_roles(state.spec.mapping)
        self._pages: OrderedDict[int, Page] = OrderedDict()
        self._edits: EditsState | None = None
        self._review: ReviewState | None = None
        self._has_marks = False  # there is a codebook
        # index of the column after those of the source: marks and notes of coded rows, if any
        self.mark_column = LEAD_COLUMNS + len(state.columns)
        state.target_chosen.connect(self._on_target)
        state.rows_changed.connect(self._on_rows_changed)
        state.page_read.connect(self._on_page_read)
        state.reordered.connect(self._on_reordered)
        self._on_rows_changed()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self._rows

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self.suggestion_column + self._has_suggestions

    @property
    def _set_column(self) -> int:
        """Index of the column with coded sets of labels, which are shown without brackets."""
        spec = self._state.spec
        return self.find_section(spec.mapping.label or "") if spec.sets_are_coded else -1

    @property
    def suggestion_column(self) -> int:
        """Index of the last column, which shows suggestions during a review."""
        return self.mark_column + self._has_marks

    @property
    def _has_suggestions(self) -> bool:
        return self._review is not None and self._review.has_column

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if index.column() == self.suggestion_column:
            return self._chips(index) if role == CHIPS else self._suggestion(index, role)
        if index.column() == self.mark_column:
            return self._marks(index, role)
        match role:
            case Qt.ItemDataRole.DisplayRole if index.column() == SPLIT_COLUMN:
                return self._split_text(self._cell(index))
            case Qt.ItemDataRole.DisplayRole if index.column() == self._set_column:
                return ", ".join(map(one_line, parse_label_sets([self._cell(index)])[0]))
            case Qt.ItemDataRole.DisplayRole if index.column() in self._span_columns:
                shown = text_chips(*self._text_and_spans(index), self._span_labels)
                return ", ".join(f"{one_line(chip.text)} ({chip.type})" for chip in shown)
            case Qt.ItemDataRole.DisplayRole:
                return one_line(self._cell(index))
            case Qt.ItemDataRole.EditRole:
                return self._cell(index)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(self._cell(index))
            case Qt.ItemDataRole.ForegroundRole if self._is_edited(index):
                return colour(Role.ACCENT)
            case Qt.ItemDataRole.ForegroundRole if self._is_secondary(index):
                return colour(Role.MUTED)
            case Qt.ItemDataRole.FontRole if self._row_edit(index).deleted:
                return struck_out_font()
            case Qt.ItemDataRole.FontRole if self._is_edited(index):
                return font("strong")
            case Qt.ItemDataRole.FontRole if index.column() == 0:
                return mono_font()
            case Qt.ItemDataRole.TextAlignmentRole if index.column() == 0:
                return AT_RIGHT
            case _ if role == CHIPS:
                return self._chips(index)
        return None

    def _chips(self, index: Index) -> tuple[Chip, ...] | None:
        """The spans in a cell of tags; None for other cells, and if words are missing."""
        spec = self._state.spec
        words_column, tags = self.find_section(spec.mapping.text), spec.mapping.tags
        if index.column() in self._span_columns:
            return text_chips(*self._text_and_spans(index), self._span_labels)
        if tags is None:
            return None
        if index.column() == self.find_section(tags):
            found = split_words(self._cell(index))
        elif index.column() == self.suggestion_column:
            found = split_words(self._suggested_cell(index))
        else:
            return None
        words = split_words(self._cell(self.index(index.row(), words_column)))
        if len(words) != len(found):
            return None
        types = [name for name in spec.spans if name != "O"]
        return chips(words, word_spans(found), types)

    @property
    def _span_columns(self) -> set[int]:
        """Indices of the columns with spans of characters, also those of coders and suggestions."""
        spec = self._state.spec
        if not spec.has_text_spans:
            return set()
        names = (spec.mapping.tags or "", *spec.mapping.coders)
        return {self.suggestion_column, *map(self.find_section, names)}

    def _suggested_cell(self, index: Index) -> str:
        suggestions = {} if self._review is None else self._review.suggestions
        suggestion = suggestions.get(int(self._state.indices[index.row()]))
        return "" if suggestion is None else suggestion.label

    @property
    def _span_labels(self) -> tuple[str, ...]:
        """The labels of spans in the order of their colours."""
        book = None if self._edits is None else self._edits.codebook
        codes = book.codes if book is not None else ()
        return tuple(code.label for code in codes) or tuple(self._state.spec.spans)

    def _text_and_spans(self, index: Index) -> tuple[str, list[TextSpan]]:
        """The text of a row and the spans in a cell, those that fit into the table."""
        text_column = self.find_section(self._state.spec.mapping.text)
        is_suggested = index.column() == self.suggestion_column
        text = self._cell(self.index(index.row(), text_column))
        cell = self._suggested_cell(index) if is_suggested else self._cell(index)
        if len(cell) >= MAX_CELL_CHARACTERS:
            cell = f"{cell.rpartition('],')[0]}]]"
        return text, read_spans(cell) or []

    def reader(self, positions: Sequence[int], columns: Sequence[int]) -> Read:
        """A function that reads listed rows with their edits, for copies and exports.

        Rows deleted by an edit are left out; columns that the table has no room for follow.
        """
        state, indices = self._state, self._state.indices[list(positions)]
        edits = dict(self._edits.rows) if self._edits is not None else {}
        dataset = state.dataset
        assert dataset is not None
        chosen = [self._keys[n] for n in columns if n < self.mark_column]
        names = [*chosen, *(name for name in state.spec.columns if name not in state.columns)]
        titles = {"_line": self.tr("Line"), "_split": self.tr("Split")}
        schema = pa.schema(
            (title, pa.int64() if name == "_line" else pa.string())
            for title, name in zip(
                unique_names(titles.get(n, n) for n in names), names, strict=True
            )
        )

        def tables() -> Iterator[pa.Table]:
            for first in range(0, len(indices), BATCH_ROWS):
                rows = indices[first : first + BATCH_ROWS]
                records = [
                    {**record, **edit.cells, "_split": edit.split or record["_split"]}
                    for row, record in zip(rows.tolist(), take_in_order(dataset, rows), strict=True)
                    if not (edit := edits.get(row, NOT_EDITED)).deleted
                ]
                cells = [[record[name] for record in records] for name in names]
                yield pa.table(cells, schema=schema)

        return lambda: (schema, tables())

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        is_inside = 0 < index.column() < self.mark_column
        is_read = index.row() // PAGE_ROWS in self._pages
        is_typed = index.column() not in self._span_columns
        can_edit = self._edits is not None and is_inside and is_read and is_typed
        return flags | Qt.ItemFlag.ItemIsEditable if can_edit else flags

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if self._edits is None or role != Qt.ItemDataRole.EditRole:
            return False
        row = int(self._state.indices[index.row()])
        if index.column() == SPLIT_COLUMN:
            self._edits.move([row], value)
        else:
            self._edits.set_cells([row], self._column(index), [str(value)])
        return True

    def show_edits(self, edits: EditsState, review: ReviewState) -> None:
        """Show edits and accept more; show suggestions of a review."""
        self._edits, self._review = edits, review
        self._on_edited()
        edits.changed.connect(self._on_edited)
        edits.reserved.changed.connect(self._on_edited)
        review.changed.connect(self._on_edited)

    def _marks(self, index: Index, role: int) -> Any:
        """Marks and note of a row; the tooltip also has who coded it, when, and how it came up."""
        if self._edits is None or role not in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.ToolTipRole,
        ):
            return None
        row = int(self._state.indices[index.row()])
        coding, coders = self._edits.coding(row), self._edits.reserved.coders(row)
        place = self.tr("with {0}").format(", ".join(coders)) if coders else ""
        if role == Qt.ItemDataRole.ToolTipRole:
            return tooltip("\n".join(filter(None, (place, origin_text(coding)))))
        return one_line(" · ".join(filter(None, (place, mark_text(coding)))))

    def _suggestion(self, index: Index, role: int) -> Any:
        """Data of the suggestion column: a suggestion, or the row's previous content."""
        row = int(self._state.indices[index.row()])
        if self._review is None:
            return None
        if (change := self._review.changes.get(row)) is not None:
            text = self._previous_text(change)
            if role == Qt.ItemDataRole.ToolTipRole:
                return tooltip(text)
            return one_line(text) if role == Qt.ItemDataRole.DisplayRole else None
        suggestion = self._review.suggestions.get(row)
        if suggestion is None:
            draw = None if self._edits is None else self._edits.draws.get(row)
            return _control_text(role) if draw is not None and draw.control else None
        is_confirmed = row in self._review.confirmed
        if role == Qt.ItemDataRole.ForegroundRole:
            return colour(Role.MUTED if is_confirmed else Role.TEXT)
        if role not in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return None
        label, probability = one_line(suggestion.label[:100]), suggestion.probability
        if label.startswith("["):  # a set
            labels = parse_label_sets([suggestion.label])[0]
            label = one_line(", ".join(labels)[:100]) or self.tr("no label")
        if probability is not None:
            label = f"{label}  {numbers.percent(probability, 0)}"
        text = self.tr("{0} · label kept").format(label) if is_confirmed else label
        return tooltip(text) if role == Qt.ItemDataRole.ToolTipRole else text

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if section == self.mark_column and self._has_marks:
            return self.tr("Marks") if role == Qt.ItemDataRole.DisplayRole else None
        if section == self.suggestion_column:
            if role != Qt.ItemDataRole.DisplayRole or self._review is None:
                return None
            is_comparison = self._review.kind == "changes"
            return self.tr("Before") if is_comparison else self.tr("Suggested label")
        if section >= LEAD_COLUMNS:
            columns = self._state.columns
            if section - LEAD_COLUMNS >= len(columns):
                return None
            return header_data(columns[section - LEAD_COLUMNS], self._roles, role)
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Line"), self.tr("Split"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == 0:
            return AT_RIGHT
        return None

    def order_key(self, section: int) -> str:
        """Column that a click on a header sorts by; "" for none."""
        return self._keys[section] if section < self.mark_column else ""

    def find_section(self, key: str) -> int:
        """Header of a sort column; -1 if it is not shown."""
        return self._keys.index(key) if key in self._keys else -1

    def row_cells(self, row: int) -> list[tuple[str, str]]:
        """Names and truncated cells of a row; empty while the row is being read."""
        page = self._pages.get(row // PAGE_ROWS)
        if page is None or row % PAGE_ROWS >= len(page):
            return []
        cells = [
            self._displayed_text(self.index(row, column), cell)
            for column, cell in enumerate(page[row % PAGE_ROWS])
        ][LEAD_COLUMNS:]
        names = (visible(column[:100]) for column in self._state.columns)
        return list(zip(names, (visible(cell) for cell in cells), strict=True))

    @property
    def _keys(self) -> tuple[str, ...]:
        return ("_line", "_split", *self._state.columns)

    def _cell(self, index: Index) -> str:
        page, row = divmod(index.row(), PAGE_ROWS)
        rows = self._pages.get(page)
        if rows is None:
            self._state.read_page(page)
            return "…"
        self._pages.move_to_end(page)
        return self._displayed_text(index, rows[row][index.column()]) if row < len(rows) else ""

    def _displayed_text(self, index: Index, cell: str) -> str:
        """Displayed text of a cell: the edited one, otherwise the stored one."""
        if index.column() == SPLIT_COLUMN:
            return self._split_text(self._row_edit(index).split or cell)
        if index.column() == 0:
            return cell
        return self._row_edit(index).cells.get(self._column(index), cell)[:MAX_CELL_CHARACTERS]

    def _previous_text(self, change: RowDifference) -> str:
        """Content of a row in the parent version."""
        if change.before is None:
            return self.tr("(new row)")
        lines = [f"{column}: {before}" for column, (before, _) in change.cells.items()]
        if change.split is not None:
            lines.append(self._split_text(change.split[0]))
        return "\n".join(lines)

    def _column(self, index: Index) -> str:
        return self._state.columns[index.column() - LEAD_COLUMNS]

    def _row_edit(self, index: Index) -> RowEdit:
        if self._edits is None or not self._edits.rows or index.row() >= len(self._state.indices):
            return NOT_EDITED
        return self._edits.rows.get(int(self._state.indices[index.row()]), NOT_EDITED)

    def _is_edited(self, index: Index) -> bool:
        edit = self._row_edit(index)
        if index.column() == SPLIT_COLUMN:
            return edit.split is not None
        return index.column() >= LEAD_COLUMNS and self._column(index) in edit.cells

    def _split_text(self, cell: str) -> str:
        """Title of a split; other texts, such as “…” of an unread cell, stay as they are."""
        return next((split_title(name) for name in SPLITS if name == cell), cell)

    def _is_secondary(self, index: Index) -> bool:
        return index.column() < LEAD_COLUMNS or self._column(index) not in self._roles

    def _on_rows_changed(self) -> None:
        if self._state.is_searching or self._indices is self._state.indices:
            return  # the current rows stay until new ones are found
        self.beginResetModel()
        self._pages.clear()
        self._indices = self._state.indices
        self._rows = len(self._indices)
        self.endResetModel()

    def _on_reordered(self, first: int, pages: dict[int, Page]) -> None:
        """Show other rows from a place on; the current row and the scroll position stay."""
        kept = {page: rows for page, rows in self._pages.items() if page < first // PAGE_ROWS}
        self._pages = OrderedDict(kept | pages)
        self._indices, before = self._state.indices, self._rows
        count = len(self._indices)
        if count < before:
            self.beginRemoveRows(QModelIndex(), count, before - 1)
            self._rows = count
            self.endRemoveRows()
        elif count > before:
            self.beginInsertRows(QModelIndex(), before, count - 1)
            self._rows = count
            self.endInsertRows()
        if first < count:
            last = self.index(count - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(first, 0), last)

    def _on_edited(self) -> None:
        has_marks = self._edits is not None and self._edits.codebook is not None
        if has_marks != self._has_marks:
            self.beginResetModel()
            self._has_marks = has_marks
            self.endResetModel()
        if self._rows:
            last = self.index(self._rows - 1, self.columnCount() - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def _on_target(self) -> None:
        self._roles = column_roles(self._state.spec.mapping)
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, self.columnCount() - 1)
        self._on_edited()

    def _on_page_read(self, page: int, rows: Page) -> None:
        self._pages[page] = rows
        while len(self._pages) > MAX_CACHED_PAGES:
            self._pages.popitem(last=False)
        first, last = page * PAGE_ROWS, min((page + 1) * PAGE_ROWS, self._rows) - 1
        if first <= last:
            self.dataChanged.emit(self.index(first, 0), self.index(last, self.columnCount() - 1))


def _control_text(role: int) -> Any:
    """Data of the suggestion column for a row of the control sample."""
    if role == Qt.ItemDataRole.ForegroundRole:
        return colour(Role.MUTED)
    if role == Qt.ItemDataRole.ToolTipRole:
        return tooltip(
            tr(
                "A random row for the test set, without a suggestion, so that a score on these "
                "rows holds for all rows."
            )
        )
    return tr("Control sample") if role == Qt.ItemDataRole.DisplayRole else None


def struck_out_font() -> QFont:
    """Font of a row excluded from the next version."""
    result = font()
    result.setStrikeOut(True)
    return result
