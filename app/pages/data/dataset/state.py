"""What is read of one data set: its rows, those that match a search, their lengths. No widgets."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.data.dataset.lengths import Lengths, count_lengths
from app.studio import Studio
from engine.data.checks.check import Finding
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.lines import Cancelled
from engine.errors import StudioError
from engine.spec.dataset import DatasetSpec, SplitName
from engine.tokenizers.tokenizer import Tokenizer

PAGE_ROWS = 200  # that are read at a time
CELL_CHARACTERS = 2_000  # of a cell that are kept for the table
SHOWN_COLUMNS = 200


@dataclass(frozen=True)
class Query:
    """Which of the rows are wanted."""

    text: str = ""
    split: SplitName | None = None
    label: str | None = None
    finding: Finding | None = None
    """Those that a check found, in its order."""


class DatasetState(QObject):
    """Signals:
    opened: `dataset` is there, or `problem`.
    found: `numbers` are others now, or are being sought.
    page_read: the number of a page, and its rows as tuples of cells.
    measured: `lengths`, their progress or their problem is another now.
    """

    opened = Signal()
    found = Signal()
    page_read = Signal(int, object)
    measured = Signal()

    def __init__(self, studio: Studio, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.folder = folder
        self.dataset: Dataset | None = None
        self.problem: StudioError | None = None
        self.wanted: Query | None = Query()  # None: rows that somebody listed
        self.numbers: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.columns: tuple[str, ...] = ()  # that the table shows
        self.tokenizer: Path | None = None
        self.lengths: Lengths | None = None
        self.lengths_problem = ""
        self.lengths_done = (0, 0)
        self._seeking: background.Job | None = None
        self._measuring: background.Job | None = None
        self._reading: set[int] = set()
        self._generation = 0  # of `numbers`

    @property
    def spec(self) -> DatasetSpec:
        assert self.dataset is not None
        return self.dataset.spec

    @property
    def is_seeking(self) -> bool:
        return self._seeking is not None

    @property
    def is_measuring(self) -> bool:
        return self._measuring is not None

    def start(self) -> None:
        folder = self.folder
        background.run(self, lambda: _readable(folder), self._on_opened, self._on_not_opened)

    def close(self) -> None:
        """Stop whatever is under way."""
        for job in (self._seeking, self._measuring):
            if job is not None:
                job.cancel()

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def seek(self, wanted: Query) -> None:
        """Find the rows that are wanted now."""
        dataset = self.dataset
        if dataset is None or wanted == self.wanted:
            return
        self.wanted = wanted
        if self._seeking is not None:
            self._seeking.cancel()

        def work(progress: background.Progress) -> NDArray[np.int64] | None:
            try:
                return _found(dataset, wanted, progress.cancelled)
            except Cancelled:
                return None

        self._seeking = background.run(
            self, work, self._on_found, self._on_lost, progress=lambda _done, _total: None
        )
        self.found.emit()

    def show_rows(self, numbers: NDArray[np.int64]) -> None:
        """Show these rows, in this order, whatever was sought before."""
        if self._seeking is not None:
            self._seeking.cancel()
            self._seeking = None
        self.wanted = None
        self._take(numbers)
        self.found.emit()

    def read_page(self, page: int) -> None:
        """Read one page of the rows that were found; `page_read` brings it."""
        dataset = self.dataset
        if dataset is None or page in self._reading:
            return
        self._reading.add(page)
        numbers = self.numbers[page * PAGE_ROWS : (page + 1) * PAGE_ROWS]
        columns, generation = self.columns, self._generation

        def done(rows: list[tuple[str, ...]]) -> None:
            if generation == self._generation:
                self._reading.discard(page)
                self.page_read.emit(page, rows)

        background.run(self, lambda: _cells(dataset, numbers, columns), done, self._on_lost)

    def _on_opened(self, dataset: Dataset) -> None:
        self.dataset = dataset
        columns = (*dataset.spec.mapping.columns, *dataset.spec.columns)
        self.columns = tuple(dict.fromkeys(columns))[:SHOWN_COLUMNS]
        self._take(np.arange(len(dataset), dtype=np.int64))
        self.opened.emit()
        self.found.emit()
        self._measure()

    def _on_not_opened(self, error: BaseException) -> None:
        if not isinstance(error, StudioError):
            raise error
        self.problem = error
        self.opened.emit()

    def _take(self, numbers: NDArray[np.int64]) -> None:
        self._generation += 1
        self._reading = set()
        self.numbers = numbers

    def _on_found(self, numbers: NDArray[np.int64] | None) -> None:
        self._seeking = None
        if numbers is not None:
            self._take(numbers)
        self.found.emit()

    def _on_lost(self, error: BaseException) -> None:
        self._seeking = None
        self._studio.notices.show(error)

    # ── lengths ──────────────────────────────────────────────────────────────────────────────

    def measure_with(self, tokenizer: Path | None) -> None:
        """Count tokens as the model in this folder makes them."""
        if tokenizer != self.tokenizer:
            self.tokenizer = tokenizer
            self._measure()

    def stop_measuring(self) -> None:
        if self._measuring is not None:
            self._measuring.cancel()
            self._measuring = None
            self.lengths_problem = self.tr("Counting was cancelled. Choose a model to count again.")
            self.tokenizer = None
            self.measured.emit()

    def _measure(self) -> None:
        dataset, folder, cache = self.dataset, self.tokenizer, self._studio.home.cache
        if dataset is None or folder is None:
            return
        if self._measuring is not None:
            self._measuring.cancel()
        self.lengths, self.lengths_problem, self.lengths_done = None, "", (0, 0)

        def work(progress: background.Progress) -> Lengths | None:
            try:
                return count_lengths(dataset, Tokenizer.from_folder(folder), cache, progress)
            except Cancelled:
                return None

        self._measuring = background.run(
            self, work, self._on_measured, self._on_not_measured, progress=self._on_measuring
        )
        self.measured.emit()

    def _on_measuring(self, done: int, total: int) -> None:
        self.lengths_done = (done, total)
        self.measured.emit()

    def _on_measured(self, lengths: Lengths | None) -> None:
        self._measuring, self.lengths = None, lengths
        self.measured.emit()

    def _on_not_measured(self, error: BaseException) -> None:
        self._measuring = None
        if not isinstance(error, StudioError):
            raise error
        self.lengths_problem = error.problem
        self.measured.emit()


def _found(dataset: Dataset, wanted: Query, cancelled: Callable[[], bool]) -> NDArray[np.int64]:
    """The numbers of the rows that are wanted; raises Cancelled."""
    found = dataset.find(wanted.text, wanted.split, wanted.label, cancelled)
    if wanted.finding is None:
        return found
    rows = wanted.finding.rows
    chosen: NDArray[np.int64] = rows[np.isin(rows, found)]
    return chosen


def _readable(folder: Path) -> Dataset:
    """A data set whose first rows can be read; raises StudioError."""
    dataset = open_dataset(folder)
    dataset.take(np.arange(min(1, len(dataset))), longest=CELL_CHARACTERS)
    return dataset


def _cells(
    dataset: Dataset, numbers: NDArray[np.int64], columns: tuple[str, ...]
) -> list[tuple[str, ...]]:
    """Line, split and the cells of the columns, each cut, in the order of `numbers`."""
    order = np.argsort(numbers, kind="stable")
    rows = dataset.take(numbers[order], ["_line", "_split", *columns], CELL_CHARACTERS + 1)
    found = [
        (str(row["_line"]), row["_split"], *(_cut(row[column] or "") for column in columns))
        for row in rows
    ]
    return [found[place] for place in np.argsort(order, kind="stable")]


def _cut(cell: str) -> str:
    return cell if len(cell) <= CELL_CHARACTERS else f"{cell[:CELL_CHARACTERS]}…"
