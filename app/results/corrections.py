"""Corrections of labels in results, stored as edits of the data set. No widgets."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app import background
from app.results.state import ResultsState
from app.row_edits import Cells, edit_rows
from app.studio import Studio
from engine.config.dataset import SPLITS, DatasetSpec
from engine.data.columns.label_sets import count_label_sets, join_labels, parse_label_sets
from engine.data.columns.numbers import is_scale
from engine.data.datasets.editing import PendingEdits, edits_file, read_edits
from engine.data.datasets.store import open_dataset
from engine.results.predictions import Predictions


@dataclass(frozen=True)
class StoredRows:
    """The version that some predictions are of.

    Args:
        indices: int64 [rows], index in the version of each row of the predictions.
        edits: its edits that are not saved as a version.
    """

    folder: Path
    spec: DatasetSpec
    indices: NDArray[np.int64]
    edits: PendingEdits

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels to choose from; none if they are numbers."""
        if self.spec.mapping.flags:
            return self.spec.mapping.flags
        if is_scale(self.spec.labels):
            return ()
        return tuple(sorted(filter(None, count_label_sets(self.spec.labels) or self.spec.labels)))

    @property
    def has_sets(self) -> bool:
        """True if a row may have several labels."""
        return bool(self.spec.mapping.flags) or count_label_sets(self.spec.labels) is not None

    @property
    def can_correct(self) -> bool:
        """True if labels are whole cells; tags and answers are parts of a text."""
        return bool(self.spec.mapping.flags) or self.spec.mapping.label is not None

    def cells(self, labels: Sequence[str]) -> dict[str, str]:
        """The cells of a row with these labels, by column."""
        mapping = self.spec.mapping
        if mapping.flags:
            return {name: "1" if name in labels else "0" for name in mapping.flags}
        assert mapping.label is not None  # as in `can_correct`
        return {mapping.label: join_labels(labels) if self.has_sets else labels[0]}

    def parse(self, text: str) -> tuple[str, ...]:
        """The labels in a readable text of the predictions."""
        if not self.has_sets:
            return (text,)
        known = [*self.labels, *parse_label_sets([text])[0]]
        return tuple(name for name in dict.fromkeys(known) if name in text.split(", "))


class Corrections(QObject):
    """The data set of the shown predictions, and the corrections of its labels.

    Signals:
        changed: `stored` or its edits changed.
        corrected: number of rows that were corrected, and a function that undoes it.
    """

    changed = Signal()
    corrected = Signal(int, object)

    def __init__(self, studio: Studio, state: ResultsState) -> None:
        super().__init__(state)
        self._studio, self._state = studio, state
        self.stored: StoredRows | None = None
        self._reading = background.LatestJob(self)
        state.opened.connect(self.read)

    def read(self) -> None:
        """Find the data set of the predictions, and read its edits."""
        studio, predictions = self._studio, self._state.predictions
        if predictions is None:
            self._show(None)
            return
        self._reading.run(lambda: find_rows(studio, predictions), self._show)

    def _show(self, stored: StoredRows | None) -> None:
        self.stored = stored
        self.changed.emit()

    def why_not(self) -> str:
        """Why rows cannot be shown in a data set; “” if they can."""
        predictions = self._state.predictions
        if self.stored is not None or predictions is None:
            return ""
        if predictions.info.part == "file":
            template = self.tr(
                "These rows are those of the file “{0}”, which is not in the library. Import it as "
                "a data set, and evaluate the model on that."
            )
        else:
            template = self.tr("The version of “{0}” with these rows is not in the library.")
        return template.format(predictions.info.source)

    def why_not_correct(self) -> str:
        """Why labels cannot be corrected here; “” if they can."""
        if self.stored is None or self.stored.can_correct:
            return self.why_not()
        return self.tr("These labels are parts of a text: correct them in the data set.")

    def label(self, row: int) -> str | None:
        """The corrected label of a row of the predictions; None without a correction."""
        if self.stored is None or self._state.predictions is None:
            return None
        edit = self.stored.edits.rows.get(int(self.stored.indices[row]))
        mapping = self.stored.spec.mapping
        if edit is None or not edit.cells:
            return None
        if mapping.flags and (edited := edit.cells.keys() & {*mapping.flags}):
            gold = self._state.predictions.table["gold"][row].as_py() or ""
            names = {*gold.split(", ")} - edited
            names |= {name for name in edited if edit.cells[name] == "1"}
            return ", ".join(name for name in mapping.flags if name in names)
        return edit.cells.get(mapping.label or "")

    def correct(self, rows: Sequence[int], labels: Sequence[str]) -> None:
        """Give rows of the predictions other labels."""
        assert self.stored is not None
        cells = self.stored.cells(labels)
        self._edit({int(self.stored.indices[row]): cells for row in rows})

    def _edit(self, cells: Cells) -> None:
        stored = self.stored
        assert stored is not None

        def done(undone: Cells) -> None:
            self.read()
            self.corrected.emit(len(cells), lambda: self._edit(undone))

        edit_rows(self, self._studio, stored.folder, stored.spec, cells, done)


def find_rows(studio: Studio, predictions: Predictions) -> StoredRows | None:
    """The version of the library that predictions are of; None if there is none.

    Rows are matched by their lines in the imported file if these are known.
    """
    info = predictions.info
    if info.part == "file" or not info.fingerprint:
        return None
    entries = (e for e in studio.datasets() if e.spec and e.spec.fingerprint == info.fingerprint)
    entry = next(entries, None)
    if entry is None or entry.spec is None:
        return None
    dataset = open_dataset(entry.folder)
    part = np.flatnonzero(dataset.splits == SPLITS.index(info.part))
    rows = predictions.table["row"].to_numpy()
    lines = predictions.table["line"].to_numpy()
    stored_lines = dataset.column("_line").to_numpy()[part]
    if len(part) < len(rows):
        return None
    if (lines > 0).all() and (stored_lines[rows] != lines).any():  # rows were left out
        first = {line: n for n, line in reversed([*enumerate(stored_lines.tolist())])}
        if not first.keys() >= {*lines.tolist()}:
            return None
        rows = np.array([first[line] for line in lines.tolist()], dtype=np.int64)
    file = edits_file(studio.home.edits, entry.folder, entry.spec)
    edits = read_edits(file, info.fingerprint)
    spec, label = entry.spec, info.mapping.label
    spec = spec.with_target(label) if label in spec.targets else spec
    return StoredRows(entry.folder, spec, part[rows], edits)
