"""Reads all rows before the import, so that a bad line is reported early."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.data.importing.checks import Problem, problems_of_rows
from app.timers import debounced
from engine.config.dataset import SPLITS, Cleaning, Mapping, Reading, Split, SplitName
from engine.data.datasets.collecting import NO_CLEANING, Sources
from engine.data.datasets.importing import split_rows
from engine.data.datasets.row_writer import Collected
from engine.data.datasets.surveying import survey
from engine.errors import StudioError
from engine.progress import Cancelled, ProgressCallback

CHOICE_PAUSE_MS = 250  # from a choice to reading all rows


@dataclass(frozen=True)
class Counting:
    """Input of a count."""

    sources: Sources
    reading: Reading
    mapping: Mapping
    split: Split
    cleaning: Cleaning = NO_CLEANING


class CountState(QObject):
    """Number of rows and sizes of the splits. No widgets.

    Signals:
        changed: result or progress.
        checked: `found` or `problem`.
    """

    changed = Signal()
    checked = Signal()

    def __init__(self, scratch: Path, parent: QObject | None = None) -> None:
        """`scratch` is a folder for temporary files of the count."""
        super().__init__(parent)
        self._scratch = scratch
        self.wanted: Counting | None = None  # current input
        self.found: Collected | None = None
        self.problems: list[Problem] = []  # of the counted rows
        self.split_rows: dict[SplitName, int] | None = None
        self.problem: StudioError | None = None
        self.bytes_read = (0, 0)  # so far, and in total
        self._counting: background.Job | None = None
        self._splitting: background.Job | None = None
        self._pause = debounced(self, CHOICE_PAUSE_MS, self._count)

    @property
    def is_counting(self) -> bool:
        return self._counting is not None or self._pause.isActive()

    def count(self, wanted: Counting | None) -> None:
        """Drop the result and count this after a short pause; None: nothing."""
        self.stop()
        self.wanted = wanted
        if wanted is not None:
            self._pause.start()
        self.changed.emit()
        self.checked.emit()

    def split_again(self, split: Split) -> None:
        """Split the same rows in another way."""
        if self.wanted is not None:
            self.wanted = replace(self.wanted, split=split)
        self._deal()

    def stop(self) -> None:
        """Cancel all jobs and drop the result."""
        self._pause.stop()
        for job in (self._counting, self._splitting):
            if job is not None:
                job.cancel()
        self._counting = self._splitting = None
        self.found, self.split_rows, self.problem, self.problems = None, None, None, []

    def _count(self) -> None:
        wanted, scratch = self.wanted, self._scratch
        assert wanted is not None

        def work(progress: background.Progress) -> tuple[Collected, list[Problem]] | None:
            try:
                found = count_rows(wanted, scratch, progress, progress.cancelled)
            except Cancelled:
                return None
            return found, problems_of_rows(wanted.mapping, found, wanted.cleaning)

        self.bytes_read = (0, 0)
        self._counting = background.run(
            self, work, self._on_counted, self._on_failed, progress=self._on_progress
        )
        self.changed.emit()

    def _on_progress(self, done: int, total: int) -> None:
        self.bytes_read = (done, total)
        self.changed.emit()

    def _on_counted(self, counted: tuple[Collected, list[Problem]] | None) -> None:
        self._counting = None
        if counted is not None:
            self.found, self.problems = counted
        self.checked.emit()
        self._deal()

    def _on_failed(self, error: BaseException) -> None:
        self._counting = None
        if not isinstance(error, StudioError):
            raise error
        self.problem = error
        self.changed.emit()
        self.checked.emit()

    def _deal(self) -> None:
        """Compute the sizes of the splits."""
        if self._splitting is not None:
            self._splitting.cancel()
            self._splitting = None
        self.split_rows = None
        found, wanted = self.found, self.wanted
        if found is not None and wanted is not None:
            self._splitting = background.run(
                self, lambda: split_sizes(found, wanted.sources, wanted.split), self._on_dealt
            )
        self.changed.emit()

    def _on_dealt(self, rows: dict[SplitName, int]) -> None:
        self._splitting, self.split_rows = None, rows
        self.changed.emit()


def count_rows(
    wanted: Counting, scratch: Path, progress: ProgressCallback, cancelled: Callable[[], bool]
) -> Collected:
    """Read every row of every file as the import will, keeping only counts.

    Raises:
        BadFile: with the line of the first row that cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    return survey(
        wanted.sources,
        wanted.reading,
        wanted.mapping,
        Split(column=wanted.split.column),
        scratch,
        wanted.cleaning,
        progress,
        cancelled,
    )


def split_sizes(collected: Collected, sources: Sources, split: Split) -> dict[SplitName, int]:
    """Number of rows of each split."""
    numbers, _ = split_rows(collected, sources, split)
    counts = np.bincount(numbers, minlength=len(SPLITS))
    return {name: int(count) for name, count in zip(SPLITS, counts, strict=True)}
