"""State of one data set: rows, search results, lengths. No widgets."""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.data.dataset.lengths import Lengths, count_lengths
from app.studio import Studio
from engine.config.dataset import DatasetSpec, SplitName
from engine.data.checks.check import Finding
from engine.data.datasets.coding import Coding, read_coding
from engine.data.datasets.sorting import Ranks, column_ranks, sort_rows
from engine.data.datasets.store import Dataset, open_dataset
from engine.errors import StudioError
from engine.tokenizers.tokenizer import Tokenizer

PAGE_ROWS = 200  # read at a time
MAX_PENDING_PAGES = 2  # as many as can be visible
MAX_CELL_CHARACTERS = 2_000  # longer cells are truncated for the table
MAX_COLUMNS = 200
MAX_SORT_COLUMNS = 3  # the most recently clicked; each breaks ties of the one before

Rows = NDArray[np.int64]
Page = list[tuple[str, ...]]
"""Rows as tuples of cells."""


@dataclass(frozen=True)
class Query:
    """A filter of rows. A finding restricts them to its rows, in its order."""

    text: str = ""
    split: SplitName | None = None
    label: str | None = None
    finding: Finding | None = None


@dataclass(frozen=True)
class Order:
    """A sort column, which may also be `_line` or `_split`."""

    column: str
    descending: bool = False


@dataclass(frozen=True)
class SearchResult:
    """The found rows, and values to reuse in the next search."""

    rows: Rows
    unsorted: Rows
    ranks: dict[str, Ranks]  # by sort column


class DatasetState(QObject):
    """Rows, search and token lengths of a data set.

    Signals:
        opened: `dataset` or `problem` is available.
        rows_changed: `indices` changed, or are being searched.
        sorting: row groups read to sort by a column, and their total.
        page_read: index of a page, and its rows as tuples of cells.
        reordered: place of the first row that changed in `indices`, and pages from there on.
        measured: `lengths`, their progress or their problem changed.
        target_chosen: another column is the label of `spec`.
    """

    opened = Signal()
    rows_changed = Signal()
    sorting = Signal(int, int)
    page_read = Signal(int, object)
    reordered = Signal(int, object)
    measured = Signal()
    target_chosen = Signal()

    def __init__(self, studio: Studio, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.folder = folder
        self.dataset: Dataset | None = None
        self.stored: Dataset | None = None  # with the label column of the import
        self.target: str | None = None  # another label column of `dataset`
        self.problem: StudioError | None = None
        self.query: Query | None = Query()  # None: a fixed list of rows
        self.indices: Rows = np.zeros(0, dtype=np.int64)
        self.orders: tuple[Order, ...] = ()  # requested order of `indices`, primary first
        self.columns: tuple[str, ...] = ()  # shown in the table
        self.coding: Coding = {}  # stored with the version
        self.tokenizer: Path | None = None
        self.lengths: Lengths | None = None
        self.lengths_problem = ""
        self.lengths_progress = (0, 0)
        self._sorted_by: tuple[Order, ...] = ()  # present order of `indices`
        self._unsorted: Rows | None = None  # `indices` in stored order; None: to be searched
        self._ranks: dict[str, Ranks] = {}
        self._searching = background.LatestJob(self)
        self._measuring = background.LatestJob(self)
        self._reading: tuple[int, background.Job] | None = None  # a page
        self._waiting: deque[int] = deque(maxlen=MAX_PENDING_PAGES)  # the last is read next
        self._unreadable: set[int] = set()  # pages

    @property
    def spec(self) -> DatasetSpec:
        assert self.dataset is not None
        return self.dataset.spec

    @property
    def is_searching(self) -> bool:
        return self._searching.is_busy

    @property
    def is_sorting(self) -> bool:
        """True while known rows are being sorted."""
        return self.is_searching and self._unsorted is not None

    @property
    def is_measuring(self) -> bool:
        return self._measuring.is_busy

    def start(self) -> None:
        folder = self.folder
        background.run(self, lambda: _open(folder), self._on_read, self._on_open_failed)

    def close(self) -> None:
        """Cancel all jobs."""
        self._discard_pages()
        self._searching.cancel()
        self._measuring.cancel()

    def choose_target(self, column: str | None) -> None:
        """Use another column of labels; None: that of the import."""
        if self.stored is not None and column != self.target:
            self.target, self.dataset = column, self.stored.with_target(column)
            self.target_chosen.emit()

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def search(self, query: Query) -> None:
        """Search rows, in the current order."""
        if self.dataset is not None and query != self.query:
            self.query, self._unsorted = query, None
            self._search()

    def sort(self, column: str) -> None:
        """Sort by a column: ascending, then descending, then unsorted."""
        others = [order for order in self.orders if order.column != column]
        match self.orders[:1]:
            case (Order(first, descending),) if first == column:
                orders = [] if descending else [Order(column, descending=True), *others]
            case _:
                orders = [Order(column), *others]
        self._sort(tuple(orders[:MAX_SORT_COLUMNS]))

    def stop_sorting(self) -> None:
        """Cancel sorting and keep the current order."""
        self._sort(self._sorted_by)

    def show_rows(self, indices: Rows) -> None:
        """Show these rows in this order instead of search results."""
        self._searching.cancel()
        self.query, self.orders = None, ()
        self._set_rows(SearchResult(indices, indices, self._ranks))
        self.rows_changed.emit()

    def read_pages(self, indices: Rows, first: int) -> dict[int, Page]:
        """Read the page of the place `first` of these rows and the next one; for any thread."""
        assert self.dataset is not None
        pages = range(first // PAGE_ROWS, first // PAGE_ROWS + 2)
        starts = {page: page * PAGE_ROWS for page in pages}
        return {
            page: _cells(self.dataset, indices[start : start + PAGE_ROWS], self.columns)
            for page, start in starts.items()
        }

    def reorder(self, indices: Rows, first: int, pages: dict[int, Page]) -> None:
        """Show other rows from the place `first` on; those before it are the same."""
        self._set_rows(SearchResult(indices, indices, self._ranks))
        self.reordered.emit(first, pages)

    def _sort(self, orders: tuple[Order, ...]) -> None:
        if self.dataset is not None and orders != self.orders:
            self.orders = orders
            self._search()

    def _search(self) -> None:
        """Search and sort outside the GUI thread; reuse known results."""
        dataset, query, orders = self.dataset, self.query, self.orders
        unsorted, ranks = self._unsorted, self._ranks
        assert dataset is not None
        self._searching.run(
            lambda progress: _search_rows(dataset, unsorted, query, orders, ranks, progress),
            self._on_searched,
            self._on_search_failed,
            self.sorting.emit,
        )
        self.rows_changed.emit()

    def read_page(self, page: int) -> None:
        """Read one page of the rows; `page_read` delivers it.

        One page is read at a time, the last requested first: dragging the scroll bar requests more
        than can be read, and threads reading all of them would slow the window. Skipped pages are
        requested again when they become visible.
        """
        is_being_read = self._reading is not None and self._reading[0] == page
        if is_being_read or page in self._unreadable:
            return
        if page in self._waiting:
            self._waiting.remove(page)
        self._waiting.append(page)
        self._read_next()

    def _read_next(self) -> None:
        dataset = self.dataset
        if dataset is None or self._reading is not None or not self._waiting:
            return
        page, columns = self._waiting.pop(), self.columns
        indices = self.indices[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]

        def done(rows: list[tuple[str, ...]]) -> None:
            self._reading = None
            self.page_read.emit(page, rows)
            self._read_next()

        def failed(error: BaseException) -> None:
            """Leave placeholders (“…”) in the table and report the problem once."""
            self._reading = None
            self._unreadable.add(page)
            self._studio.notices.show(error)
            self._read_next()

        work = partial(_cells, dataset, indices, columns)
        self._reading = page, background.run(self, work, done, failed)

    def _discard_pages(self) -> None:
        """Discard pending pages of rows no longer shown."""
        if self._reading is not None:
            self._reading[1].cancel()
        self._reading = None
        self._waiting.clear()
        self._unreadable.clear()

    def _on_read(self, read: tuple[Dataset, Coding]) -> None:
        dataset, self.coding = read
        self.dataset = self.stored = dataset
        columns = (*dataset.spec.mapping.columns, *dataset.spec.columns)
        self.columns = tuple(dict.fromkeys(columns))[:MAX_COLUMNS]
        rows = np.arange(len(dataset), dtype=np.int64)
        self._set_rows(SearchResult(rows, rows, {}))
        self.opened.emit()
        self.rows_changed.emit()
        self._measure()

    def _on_open_failed(self, error: BaseException) -> None:
        self.problem = background.as_studio_error(error)
        self.opened.emit()

    def _set_rows(self, result: SearchResult) -> None:
        self._discard_pages()
        self.indices, self._unsorted, self._ranks = result.rows, result.unsorted, result.ranks
        self._sorted_by = self.orders

    def _on_searched(self, result: SearchResult) -> None:
        self._set_rows(result)
        self.rows_changed.emit()

    def _on_search_failed(self, error: BaseException) -> None:
        """Keep the shown rows and their order."""
        self.orders = self._sorted_by
        self._studio.notices.show(error)
        self.rows_changed.emit()

    # ── lengths ──────────────────────────────────────────────────────────────────────────────

    def measure_with(self, tokenizer: Path | None) -> None:
        """Count tokens with the tokenizer in this folder."""
        if tokenizer != self.tokenizer:
            self.tokenizer = tokenizer
            self._measure()

    def stop_measuring(self) -> None:
        if self.is_measuring:
            self._measuring.cancel()
            self.lengths_problem = self.tr("Counting was cancelled. Choose a model to count again.")
            self.tokenizer = None
            self.measured.emit()

    def _measure(self) -> None:
        dataset, folder, cache = self.dataset, self.tokenizer, self._studio.home.cache
        if dataset is None or folder is None:
            return
        self.lengths, self.lengths_problem, self.lengths_progress = None, "", (0, 0)
        self._measuring.run(
            lambda progress: count_lengths(dataset, Tokenizer.from_folder(folder), cache, progress),
            self._on_measured,
            self._on_measure_failed,
            self._on_measuring,
        )
        self.measured.emit()

    def _on_measuring(self, done: int, total: int) -> None:
        self.lengths_progress = (done, total)
        self.measured.emit()

    def _on_measured(self, lengths: Lengths) -> None:
        self.lengths = lengths
        self.measured.emit()

    def _on_measure_failed(self, error: BaseException) -> None:
        self.lengths_problem = background.as_studio_error(error).problem
        self.measured.emit()


def _search_rows(
    dataset: Dataset,
    unsorted: Rows | None,
    query: Query | None,
    orders: tuple[Order, ...],
    cached: dict[str, Ranks],
    progress: background.Progress,
) -> SearchResult:
    """Search and sort rows; raises Cancelled."""
    if unsorted is None:
        assert query is not None  # without a query, `unsorted` is given
        unsorted = _match(dataset, query, progress.cancelled)
    ranks = {
        order.column: cached[order.column]
        if order.column in cached
        else column_ranks(dataset, order.column, progress, progress.cancelled)
        for order in orders
    }
    rows = unsorted
    for order in reversed(orders):
        rows = sort_rows(rows, ranks[order.column], order.descending)
    return SearchResult(rows, unsorted, ranks)


def _match(dataset: Dataset, query: Query, cancelled: Callable[[], bool]) -> Rows:
    """Indices of matching rows; raises Cancelled."""
    hits = dataset.find(query.text, query.split, query.label, cancelled)
    if query.finding is None:
        return hits
    rows = query.finding.rows
    matches: Rows = rows[np.isin(rows, hits)]
    return matches


def _open(folder: Path) -> tuple[Dataset, Coding]:
    """Open a data set and read its first row, so that a damaged file raises StudioError here."""
    dataset = open_dataset(folder)
    dataset.take(np.arange(min(1, len(dataset))), max_characters=MAX_CELL_CHARACTERS)
    return dataset, read_coding(folder)


def take_in_order(
    dataset: Dataset, indices: Rows, columns: Sequence[str] | None = None, most: int | None = None
) -> list[dict[str, Any]]:
    """Rows in the order of `indices`, read in stored order; cells are truncated to `most`."""
    order = np.argsort(indices, kind="stable")
    rows = dataset.take(indices[order], columns, most)
    return [rows[position] for position in np.argsort(order, kind="stable")]


def _cells(
    dataset: Dataset, indices: NDArray[np.int64], columns: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """Line, split and truncated cells of the columns, in the order of `indices`."""
    names = ["_line", "_split", *columns]
    return [
        (str(row["_line"]), row["_split"], *(_truncate(row[column] or "") for column in columns))
        for row in take_in_order(dataset, indices, names, MAX_CELL_CHARACTERS + 1)
    ]


def _truncate(cell: str) -> str:
    return cell if len(cell) <= MAX_CELL_CHARACTERS else f"{cell[:MAX_CELL_CHARACTERS]}…"
