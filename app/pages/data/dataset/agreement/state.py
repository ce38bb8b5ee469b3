"""Agreement of the coders of the open data set. No widgets."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.data.dataset.state import DatasetState
from engine.data.columns.coders import Codings
from engine.data.datasets.coding import RowCoding, read_coding
from engine.data.datasets.decisions import dataset_codings
from engine.data.datasets.editing import RowEdit
from engine.data.datasets.store import Dataset
from engine.progress import Cancelled
from engine.results.agreement import AgreementTable, agreement


class Measured(NamedTuple):
    """The codes of a version, their agreement, and what is needed to decide rows in dispute."""

    codings: Codings
    table: AgreementTable
    majority: list[str]  # of each row; "" without one
    has_majority: NDArray[np.bool_]
    unlabelled: NDArray[np.int64]  # rows in dispute without a label
    coding: dict[int, dict[str, RowCoding]]  # notes of the coders


class AgreementState(QObject):
    """The agreement on the label column, measured once the data set is open.

    Signals:
        changed: `measured` or `problem`.
    """

    changed = Signal()

    def __init__(self, data: DatasetState) -> None:
        super().__init__(data)
        self._data = data
        self.measured: Measured | None = None
        self.problem = ""
        self._measuring = background.LatestJob(self)
        data.opened.connect(self._measure)
        data.target_chosen.connect(self._measure)

    @property
    def coders(self) -> tuple[str, ...]:
        """Columns of the coders; none until the data set is open."""
        dataset = self._data.dataset
        return () if dataset is None else dataset.spec.mapping.coders

    @property
    def column(self) -> str:
        """The column of the decisions."""
        dataset = self._data.dataset
        columns = () if dataset is None else dataset.spec.mapping.label_columns
        return columns[0] if len(columns) == 1 else ""

    def open_rows(self, edits: Mapping[int, RowEdit]) -> NDArray[np.int64]:
        """The rows in dispute that have no label yet, edits included; ascending."""
        if self.measured is None or not self.column:
            return np.zeros(0, dtype=np.int64)
        decided = [row for row, edit in edits.items() if edit.cells.get(self.column)]
        return np.setdiff1d(self.measured.unlabelled, np.array(decided, dtype=np.int64))

    def notes(self, row: int) -> list[str]:
        """The notes of the coders on a row, each with the name of the column."""
        columns = {} if self.measured is None else self.measured.coding.get(row, {})
        return [f"{name}: {entry.note}" for name, entry in columns.items() if entry.note]

    def close(self) -> None:
        self._measuring.cancel()

    def _measure(self) -> None:
        dataset, self.measured, self.problem = self._data.dataset, None, ""
        if dataset is not None and len(self.coders) > 1:
            self._measuring.run(
                lambda progress: _measure(dataset, progress),
                self._on_measured,
                self._on_failed,
                lambda *_: None,
            )
        self.changed.emit()

    def _on_measured(self, measured: Measured) -> None:
        self.measured = measured
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self.problem = background.as_studio_error(error).problem
        self.changed.emit()


def _measure(dataset: Dataset, progress: background.Progress) -> Measured:
    def check() -> None:
        if progress.cancelled():
            raise Cancelled

    codings = dataset_codings(dataset)
    table = agreement(codings, check=check)
    unlabelled = np.intersect1d(table.overall.disputed, dataset.unlabelled())
    coding, majority = read_coding(dataset.folder), codings.majority()
    has_majority = np.array([bool(cell) for cell in majority], dtype=bool)
    return Measured(codings, table, majority, has_majority, unlabelled, coding)
