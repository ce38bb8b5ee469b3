"""Corrections of labels in results, stored as edits of the data set. No widgets."""

from collections.abc import Callable, Mapping, Sequence
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
from engine.config.task import Role, target
from engine.config.tasks import TASKS
from engine.data.columns.answers import AnswerMismatch, parse_answers
from engine.data.columns.choices import (
    first_choice_number,
    parse_choice_labels,
    parse_endings,
    write_choice_label,
)
from engine.data.columns.label_sets import count_label_sets, join_labels, parse_label_sets
from engine.data.columns.numbers import is_scale
from engine.data.columns.text_spans import spanned_words, tagged_words
from engine.data.datasets.editing import (
    NOT_EDITED,
    PendingEdits,
    edits_file,
    has_span_tags,
    read_edits,
)
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.results.predictions import Predictions
from engine.results.spans import labels_spans

NO_ANSWER = "–"
PARTS: tuple[Role, ...] = ("endings", "answers", "tags")
"""Labels that are a part of their row; the others are whole cells, the same for several rows."""

Record = dict[str, str]  # the cells of a row, by column


@dataclass(frozen=True)
class StoredRows:
    """The version that some predictions are of.

    Args:
        indices: int64 [rows], index in the version of each row of the predictions.
        edits: its edits that are not saved as a version.
        has_span_tags: tags mark spans; False if they are classes of words, or there are none.
    """

    folder: Path
    spec: DatasetSpec
    indices: NDArray[np.int64]
    edits: PendingEdits
    has_span_tags: bool = False

    @property
    def role(self) -> Role | None:
        """The labels that can be corrected; None if the rows have none."""
        return target(self.spec.mapping)

    @property
    def column(self) -> str | None:
        """The column of the labels; None if there is none, or a column for each."""
        mapping = self.spec.mapping
        return mapping.label or mapping.tags or mapping.answers

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels to choose from; none if they are numbers."""
        if self.spec.mapping.tags is not None:
            return tuple(name for name in self.spec.spans if name != "O")
        if self.spec.mapping.flags:
            return self.spec.mapping.flags
        if is_scale(self.spec.labels):
            return ()
        return tuple(sorted(filter(None, count_label_sets(self.spec.labels) or self.spec.labels)))

    @property
    def has_sets(self) -> bool:
        """True if a row may have several labels."""
        return bool(self.spec.mapping.flags) or count_label_sets(self.spec.labels) is not None

    def cells(self, labels: Sequence[str]) -> Record:
        """The cells of a row with these whole labels, by column."""
        mapping = self.spec.mapping
        if mapping.flags:
            return {name: "1" if name in labels else "0" for name in mapping.flags}
        assert mapping.label is not None  # as whole labels have a column
        as_list = self.spec.sets_are_coded
        return {mapping.label: join_labels(labels, as_list) if self.has_sets else labels[0]}

    def endings(self, record: Mapping[str, str]) -> tuple[str, ...]:
        """The choices of a row. Raises StudioError if they are not a list of texts."""
        return parse_endings([tuple(record[name] for name in self.spec.mapping.endings)])[0]

    def choice(self, cell: str, endings: tuple[str, ...]) -> int:
        """Index of the choice that a label names. Raises StudioError if it names none."""
        first = first_choice_number([*self.spec.labels], len(endings))
        return parse_choice_labels([cell], [endings], first)[0]

    def choice_cells(self, index: int, endings: tuple[str, ...]) -> Record:
        """The label of a choice, written like the others of the data set."""
        assert self.spec.mapping.label is not None
        label = write_choice_label(index, endings, [*self.spec.labels])
        return {self.spec.mapping.label: label}

    def parse(self, text: str) -> tuple[str, ...]:
        """The labels in a readable text of the predictions."""
        if not self.has_sets:
            return (text,)
        known = [*self.labels, *parse_label_sets([text])[0]]
        return tuple(name for name in dict.fromkeys(known) if name in text.split(", "))

    def describe(self, cell: str, record: Mapping[str, str], has_spans: bool = False) -> str:
        """A label of a row as predictions show it; the cell itself if it does not fit the row.

        `has_spans`: they show spans of characters, not tags.
        """
        mapping = self.spec.mapping
        try:
            if mapping.endings:
                return str(self.choice(cell, self.endings(record)))
            if mapping.answers and mapping.pair:
                answers = parse_answers(cell, record[mapping.pair])
                return " | ".join(dict.fromkeys(answer.text for answer in answers)) or NO_ANSWER
        except (StudioError, AnswerMismatch):
            return cell
        if mapping.tags is not None and has_spans:
            spanned = spanned_words(record[mapping.text], cell)
            return spanned.cell(spanned.spans)
        if mapping.tags is not None:
            return " ".join(tagged_words(record[mapping.text], cell).tags)
        return ", ".join(parse_label_sets([cell])[0]) if self.has_sets else cell


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
        elif TASKS[predictions.info.task].info.is_pretraining:
            return self.tr("Masked tokens are not rows of a data set.")
        else:
            template = self.tr("The version of “{0}” with these rows is not in the library.")
        return template.format(predictions.info.source)

    def why_not_correct(self) -> str:
        """Why labels cannot be corrected here; “” if they can."""
        if self.stored is None or self.stored.role is not None:
            return self.why_not()
        return self.tr("These rows have no labels.")

    def label(self, row: int) -> str | None:
        """The corrected label of a row of the predictions; None without a correction."""
        stored, predictions = self.stored, self._state.predictions
        if stored is None or predictions is None:
            return None
        edit = stored.edits.rows.get(int(stored.indices[row]))
        if edit is None or not edit.cells:
            return None
        mapping = stored.spec.mapping
        if mapping.flags and (edited := edit.cells.keys() & {*mapping.flags}):
            gold = predictions.table["gold"][row].as_py() or ""
            names = {*gold.split(", ")} - edited
            names |= {name for name in edited if edit.cells[name] == "1"}
            return ", ".join(name for name in mapping.flags if name in names)
        cell = edit.cells.get(stored.column or "")
        if cell is None:
            return None
        shown = {name: predictions.cells(name)[row].as_py() or "" for name in predictions.columns}
        return stored.describe(cell, shown | edit.cells, labels_spans(predictions))

    def read_rows(
        self, rows: Sequence[int], on_read: Callable[[StoredRows, list[Record]], None]
    ) -> None:
        """Read the cells of rows of the predictions, as edited, and pass them to `on_read`."""
        stored = self.stored
        assert stored is not None
        indices = stored.indices[list(rows)]

        def work() -> list[Record]:
            records = open_dataset(stored.folder).take(indices, stored.spec.columns)
            edits = (stored.edits.rows.get(index, NOT_EDITED) for index in indices.tolist())
            return [
                {name: cell or "" for name, cell in record.items()} | edit.cells
                for record, edit in zip(records, edits, strict=True)
            ]

        background.run(
            self, work, lambda records: on_read(stored, records), self._studio.notices.show
        )

    def correct(self, cells: Mapping[int, Mapping[str, str]]) -> None:
        """Give rows of the predictions other cells, by row and column."""
        assert self.stored is not None
        indices = self.stored.indices
        self._edit({int(indices[row]): dict(new) for row, new in cells.items()})

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
    is_file = info.part == "file" or not info.fingerprint
    if is_file or TASKS[info.task].info.is_pretraining:
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
    return StoredRows(entry.folder, spec, part[rows], edits, has_span_tags(dataset))
