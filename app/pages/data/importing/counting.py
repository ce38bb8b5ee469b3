"""Reads all rows before the import, so that a bad line is reported early."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.data.importing.checks import Problem, row_problems
from app.timers import debounced
from engine.config.dataset import SPLITS, Split, SplitName
from engine.data.datasets.collecting import FileImport, Sources
from engine.data.datasets.importing import split_rows, survey
from engine.data.datasets.row_writer import SourceRows
from engine.errors import StudioError

CHOICE_PAUSE_MS = 250  # from a choice to reading all rows


class CountState(QObject):
    """Number of rows and sizes of the splits. No widgets.

    Signals:
        changed: result or progress.
        checked: `collected` or `problem`.
    """

    changed = Signal()
    checked = Signal()

    def __init__(self, scratch: Path, parent: QObject | None = None) -> None:
        """`scratch` is a folder for temporary files of the count."""
        super().__init__(parent)
        self._scratch = scratch
        self.request: FileImport | None = None  # current input
        self.collected: SourceRows | None = None
        self.problems: list[Problem] = []  # of the counted rows
        self.split_rows: dict[SplitName, int] | None = None
        self.problem: StudioError | None = None
        self.bytes_read = (0, 0)  # so far, and in total
        self._counting = background.LatestJob(self)
        self._splitting = background.LatestJob(self)
        self._pause = debounced(self, CHOICE_PAUSE_MS, self._count)

    @property
    def is_counting(self) -> bool:
        return self._counting.is_busy or self._pause.isActive()

    def count(self, request: FileImport | None) -> None:
        """Discard the result and count these rows after a short pause; None: count nothing."""
        self.stop()
        self.request = request
        if request is not None:
            self._pause.start()
        self.changed.emit()
        self.checked.emit()

    def split_again(self, split: Split) -> None:
        """Split the same rows differently."""
        if self.request is not None:
            self.request = replace(self.request, split=split)
        self._compute_split_sizes()

    def stop(self) -> None:
        """Cancel all jobs and discard the result."""
        self._pause.stop()
        self._counting.cancel()
        self._splitting.cancel()
        self.collected, self.split_rows, self.problem, self.problems = None, None, None, []

    def _count(self) -> None:
        request, scratch = self.request, self._scratch
        assert request is not None

        def work(progress: background.Progress) -> tuple[SourceRows, list[Problem]]:
            by = request.split.by
            as_imported = replace(request, split=Split(column=request.split.column, by=by))
            counted = survey(as_imported, scratch, progress, progress.cancelled)
            return counted, row_problems(request.mapping, counted, request.cleaning)

        self.bytes_read = (0, 0)
        self._counting.run(work, self._on_counted, self._on_failed, self._on_progress)
        self.changed.emit()

    def _on_progress(self, done: int, total: int) -> None:
        self.bytes_read = (done, total)
        self.changed.emit()

    def _on_counted(self, counted: tuple[SourceRows, list[Problem]]) -> None:
        self.collected, self.problems = counted
        self.checked.emit()
        self._compute_split_sizes()

    def _on_failed(self, error: BaseException) -> None:
        self.problem = background.as_studio_error(error)
        self.changed.emit()
        self.checked.emit()

    def _compute_split_sizes(self) -> None:
        self._splitting.cancel()
        self.split_rows = self.problem = None
        collected, request = self.collected, self.request
        if collected is not None and request is not None:
            self._splitting.run(
                lambda: _split_sizes(collected, request.sources, request.split),
                self._on_split,
                self._on_failed,
            )
        self.changed.emit()

    def _on_split(self, rows: dict[SplitName, int]) -> None:
        self.split_rows = rows
        self.changed.emit()


def _split_sizes(collected: SourceRows, sources: Sources, split: Split) -> dict[SplitName, int]:
    indices, _ = split_rows(collected, sources, split)
    counts = np.bincount(indices, minlength=len(SPLITS))
    return {name: int(count) for name, count in zip(SPLITS, counts, strict=True)}
