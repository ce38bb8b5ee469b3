"""The list of rows with search, filter, sorting, details, Explore and export."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QAction, QKeyEvent
from PySide6.QtWidgets import (
    QHeaderView,
    QLayout,
    QLineEdit,
    QMenu,
    QSplitter,
    QTableView,
    QWidget,
)

from app.notices import Notices
from app.results.corrections import Corrections
from app.results.filter_bar import FilterBar
from app.results.rows_model import (
    RowColumn,
    corrected_spans,
    format_value,
    marks_text,
    row_columns,
)
from app.results.state import ResultsState
from app.theme import SPACE, px
from app.timers import debounced
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.context_menu import context_menu, menu_action
from app.widgets.dialogs import ask_for_file
from app.widgets.forms.controls import SearchField
from app.widgets.page import scrolling
from app.widgets.table_menu import selected_rows
from app.widgets.tables import ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.labels import Text, TextView, visible
from app.widgets.text.tagged import ChipDelegate, TaggedWords, tag_types
from engine.config.tasks import TASKS
from engine.files.table_files import TABLE_WRITERS
from engine.results.answers import best_answers
from engine.results.predictions import CELL, Predictions
from engine.results.spans import RowSpans, row_spans

SEARCH_PAUSE_MS = 250  # from the last key until rows are searched
MAX_DETAIL_CHARACTERS = 20_000
TEXT_WIDTH, SHORT_WIDTH, TAGS_WIDTH = 90 * SPACE, 24 * SPACE, 50 * SPACE
DETAIL_HEIGHT, TAGS_HEIGHT = 24 * SPACE, 26 * SPACE
MIN_TAGS_HEIGHT = 20 * SPACE  # px: a line of words with both names
MIN_TABLE_HEIGHT, MIN_DETAIL_HEIGHT = 36 * SPACE, 11 * SPACE  # px: three rows, and two lines
LABEL_COLUMNS = ("gold", "predicted")
CELL_PADDING = 6 * SPACE


class RowsView(QWidget):
    """The list of rows and the details of the selected one.

    Signals:
        explored: index of the row to open in Explore, and the key of the panel to show, or “”.
        dataset_requested: index of the row to show in its data set.
        correction_requested: indices of the rows to give another label, and the current one.
    """

    explored = Signal(int, str)
    dataset_requested = Signal(int)
    correction_requested = Signal(list, int)

    def __init__(self, state: ResultsState, corrections: Corrections, notices: Notices) -> None:
        super().__init__()
        self._state, self._corrections = state, corrections
        self.columns: list[RowColumn] = []
        self.model = ColumnsModel[int](parent=self)
        self.filters = FilterBar(state, notices)
        self.search = self._search_field()
        self.table = self._table()
        self.row_text = TextView(self.tr("Selected row in full"), mono=False)
        self.row_text.setPlaceholderText(self.tr("Select a row to read it in full."))
        self.tags = TaggedWords(self.tr("Words with their tags"))
        self.tags_area = scrolling(
            layouts.page(
                self.tags,
                Text(self.tr("Above: true label; below: predicted."), "small"),
                layouts.STRETCH,
                spacing=SPACE,
            )
        )
        self.tags_area.setMinimumHeight(px(MIN_TAGS_HEIGHT))
        self.table.setItemDelegate(ChipDelegate(self.table))
        self.table.setMinimumHeight(px(MIN_TABLE_HEIGHT))
        self.row_text.setMinimumHeight(px(MIN_DETAIL_HEIGHT))
        parts = QSplitter(Qt.Orientation.Vertical)
        parts.addWidget(self.table)
        parts.addWidget(self.tags_area)
        parts.addWidget(self.row_text)
        parts.setStretchFactor(0, 1)
        parts.setSizes([10_000, TAGS_HEIGHT, DETAIL_HEIGHT])
        parts.setChildrenCollapsible(False)
        parts.setHandleWidth(2 * SPACE)
        layouts.column(self._head(), self.filters, (parts, 1), parent=self, spacing=2 * SPACE)
        state.opened.connect(self._on_opened)
        state.listed.connect(self._on_listed)
        self._on_opened()

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _head(self) -> QLayout:
        self.mistakes = buttons.quiet(self.tr("Mistakes &first"), self._on_mistakes)
        self.mistakes.setToolTip(self.tr("Sort by the most confident mistakes"))
        self.explore = buttons.plain(self.tr("&Open in Explore"), self._on_explore, "microscope")
        self.export = buttons.icon_button("save", self.tr("Export these rows…"), self._on_export)
        actions = self.mistakes, self.explore, self.export
        return layouts.wrap((self.search, 1), *actions)

    def _search_field(self) -> QLineEdit:
        search = SearchField(self.tr("Search rows"))
        pause = debounced(self, SEARCH_PAUSE_MS, lambda: self._state.search(search.text()))
        search.textChanged.connect(lambda _: pause.start())
        search.returnPressed.connect(lambda: self._state.search(search.text()))
        self._state.filtered.connect(self._on_filtered)
        return search

    def _table(self) -> QTableView:
        table = make_table(self.tr("Rows with their predictions"), self.model)
        table.installEventFilter(self)
        context_menu(table).add(self._row_actions)
        self._corrections.changed.connect(self._on_corrected)
        header = table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicatorShown(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.sortIndicatorChanged.connect(self._on_sorted)
        table.doubleClicked.connect(lambda _: self._on_explore())
        table.selectionModel().currentRowChanged.connect(lambda *_: self._show_row())
        return table

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Open a row by Enter anywhere in the table, and correct its label by F2."""
        is_key = watched is self.table and isinstance(event, QKeyEvent)
        if is_key and event.type() == QEvent.Type.KeyPress:
            assert isinstance(event, QKeyEvent)
            if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
                self._on_explore()
                return True
            if event.key() == Qt.Key.Key_F2:
                self._on_correct()
                return True
        return False

    # ── updates ──────────────────────────────────────────────────────────────────────────────

    def _on_opened(self) -> None:
        header = self.table.horizontalHeader()
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        predictions = self._state.predictions
        self.tags_area.setVisible(predictions is not None and marks_text(predictions))
        corrected = self._corrections.label
        self.columns = [] if predictions is None else row_columns(predictions, corrected)
        self.model.show_rows(self._state.rows.tolist(), self.columns)
        texts = predictions.info.mapping.texts if predictions is not None else ()
        for index, column in enumerate(self.columns):
            is_text = column.key in {CELL + name for name in texts}
            width = px(TEXT_WIDTH if is_text else SHORT_WIDTH)
            if column.key in LABEL_COLUMNS and predictions is not None:
                has_tags = marks_text(predictions)
                labels = predictions.info.labels
                width = px(TAGS_WIDTH) if has_tags else self._label_width(labels) or px(SHORT_WIDTH)
            hint = header.sectionSizeHint(index)
            self.table.setColumnWidth(index, hint if column.is_number else max(width, hint))
        self._select_first()

    def _on_listed(self) -> None:
        self.model.show_rows(self._state.rows.tolist())
        self._select_first()

    def _label_width(self, labels: Sequence[str]) -> int:
        """Width in px of the longest label, at most SHORT_WIDTH; 0 without labels."""
        metrics = self.table.fontMetrics()
        widths = (metrics.horizontalAdvance(label[:MAX_DETAIL_CHARACTERS]) for label in labels)
        return min(max(widths, default=-CELL_PADDING) + CELL_PADDING, SHORT_WIDTH)

    def _select_first(self) -> None:
        if self.model.rowCount():
            self.table.setCurrentIndex(self.model.index(0, 0))
        self._show_row()

    def _on_filtered(self) -> None:
        if not self._state.text and self.search.text():
            self.search.clear()

    def _on_sorted(self, section: int, order: Qt.SortOrder) -> None:
        if 0 <= section < len(self.columns):
            self._state.sort(self.columns[section].key, order == Qt.SortOrder.DescendingOrder)

    def _on_mistakes(self) -> None:
        self.table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self._state.sort_by_mistakes()

    def current_row(self) -> int | None:
        """Index of the selected row in the table of predictions."""
        index = self.table.currentIndex()
        return self.model.row(index.row()) if index.isValid() else None

    def _show_row(self) -> None:
        row, predictions = self.current_row(), self._state.predictions
        self.explore.setEnabled(row is not None)
        self.export.setEnabled(bool(self.model.rowCount()))
        if row is None or predictions is None:
            self.row_text.clear()
            return
        if marks_text(predictions):
            found, corrected = row_spans(predictions, row), self._corrections.label(row)
            gold = [pair.gold for pair in found.pairs if pair.gold is not None]
            gold = gold if corrected is None else corrected_spans(predictions, row, corrected)
            predicted = [pair.predicted for pair in found.pairs if pair.predicted is not None]
            types = tag_types(predictions.info.labels)
            self.tags.show_words(found.words, gold, predicted, types)
        lines = list(row_lines(predictions, self.columns, row))
        if (label := self._corrections.label(row)) is not None:
            lines.insert(0, self.tr("Corrected label: {0}").format(visible(label)))
        self.row_text.setPlainText("\n".join(lines)[:MAX_DETAIL_CHARACTERS])

    # ── actions ──────────────────────────────────────────────────────────────────────────────

    def _on_explore(self) -> None:
        row = self.current_row()
        if row is not None:
            self.explored.emit(row, "")

    def _on_correct(self) -> None:
        row = self.current_row()
        if row is not None and not self._corrections.why_not_correct():
            self.correction_requested.emit(self.selected_rows(), row)

    def _row_actions(self, menu: QMenu) -> Iterator[QAction]:
        row, corrections = self.current_row(), self._corrections
        predictions = self._state.predictions
        if row is None or predictions is None:
            return
        yield menu_action(
            menu,
            self.tr("Show in &data set"),
            lambda: self.dataset_requested.emit(row),
            "database",
            corrections.why_not(),
        )
        yield menu_action(
            menu,
            self.tr("Correct &label…"),
            self._on_correct,
            "pencil",
            corrections.why_not_correct(),
        )
        if TASKS[predictions.info.task].info.head is not None:
            explain = lambda: self.explored.emit(row, "attribution")  # noqa: E731
            yield menu_action(menu, self.tr("E&xplain the prediction"), explain)
        open_row = lambda: self.explored.emit(row, "")  # noqa: E731
        yield menu_action(menu, self.tr("&Open in Explore"), open_row, "microscope")

    def selected_rows(self) -> list[int]:
        """Indices of the selected rows, or of the current one, in the table of predictions."""
        return [self.model.row(position) for position in selected_rows(self.table)]

    def _on_corrected(self) -> None:
        if self.model.rowCount():
            self.model.update_rows(self.model.rows)
        self._show_row()

    def _on_export(self) -> None:
        title = self.tr("Export these rows")
        ask_for_file(self, title, "predictions.csv", list(TABLE_WRITERS), self._state.export)


MAX_ANSWERS = 5


def row_lines(predictions: Predictions, columns: list[RowColumn], row: int) -> Iterator[str]:
    head = TASKS[predictions.info.task].info.head
    texts = [column for column in columns if not column.is_number]
    texts.sort(key=lambda column: not column.key.startswith(CELL))
    for column in texts:
        cell = predictions.table[column.key][row].as_py()
        if column.is_measure:
            cell = format_value(cell, column.key, is_measure=True)
        if marks_text(predictions) and column.key in ("gold", "predicted") and cell:
            spans = row_spans(predictions, row)
            cell = bracket_spans(spans, 0 if column.key == "gold" else 1)
        yield f"{column.title}: {visible(str(cell or ''))}"
    if head is not None and head.finds_spans:
        ranked = best_answers(predictions, row)[:MAX_ANSWERS]
        text = " · ".join(f"{span.text or '–'} {numbers.percent(span.score)}" for span in ranked)
        yield tr("Best answers: {0}").format(visible(text))


def bracket_spans(spans: RowSpans, side: int) -> str:
    """Put each gold (0) or predicted (1) span in brackets: “[Rome LOC]”.

    Both are shown one below the other, so that missed and shifted spans are visible.
    """
    before, after = Counter[int](), defaultdict[int, str](str)
    shown = [pair[side] for pair in spans.pairs]
    for span in sorted(filter(None, shown), key=lambda span: span.end - span.start):
        before[span.start] += 1
        after[span.end - 1] += f" {span.type}]"
    return " ".join("[" * before[n] + word + after[n] for n, word in enumerate(spans.words))
