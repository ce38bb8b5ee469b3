"""Unsaved edits of one version, with undo. No widgets."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from app import background
from app.pages.data.dataset.state import DatasetState
from app.studio import RowEdits, Studio
from app.widgets.forms.label_keys import MAX_KEYS
from engine.config.dataset import SPLITS, DatasetSpec, SplitName
from engine.data.columns.label_sets import (
    count_label_sets,
    join_labels,
    parse_flag,
    parse_label_sets,
)
from engine.data.columns.numbers import is_scale
from engine.data.datasets.deriving import derive
from engine.data.datasets.editing import (
    PendingEdits,
    RowEdit,
    edits_file,
    has_span_tags,
    read_edits,
    set_cells,
)
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.files.home import next_version

NOT_EDITED = RowEdit()

Rows = Mapping[int, RowEdit]


class EditsState(QObject):
    """The unsaved edits of a version.

    Signals:
        changed: `rows` changed.
        saving: True when a version is being created, False at the end.
        saved: folder of the version created from the edits.
        restored: index of the first row whose edit was undone.
    """

    changed = Signal()
    saving = Signal(bool)
    saved = Signal(Path)
    restored = Signal(int)

    def __init__(self, studio: Studio, data: DatasetState) -> None:
        super().__init__(data)
        self._studio, self._data = studio, data
        self.rows: dict[int, RowEdit] = {}  # edited rows, by index
        self.stack = QUndoStack(self)
        self.stack.indexChanged.connect(self._on_command)
        self.is_saving = False
        self.last_saved: PendingEdits | None = None  # edits of the last version saved
        self._can_write = False  # True once the stored edits were read
        studio.rows_edited.connect(self._on_rows_edited)
        program = QCoreApplication.instance()
        if program is not None:
            program.aboutToQuit.connect(self.write)

    # ── edits ────────────────────────────────────────────────────────────────────────────────

    @property
    def spec(self) -> DatasetSpec:
        return self._data.spec

    @property
    def dataset(self) -> Dataset:
        assert self._data.dataset is not None
        return self._data.dataset

    @property
    def file(self) -> Path:
        """File of the unsaved edits."""
        return edits_file(self._studio.home.edits, self._data.folder, self.spec)

    @property
    def can_edit(self) -> bool:
        """True if a next version can be created: a data set of this home is open."""
        home = self._studio.home.datasets
        return self._data.dataset is not None and self._data.folder.is_relative_to(home)

    def open(self) -> None:
        """Read unsaved edits of an earlier session."""
        try:
            edits = read_edits(self.file, self.spec.fingerprint)
        except StudioError as error:
            self._studio.notices.show(error)
            return
        self._can_write = True
        self.rows = dict(edits.rows)
        self.write()  # without a line that was not written whole
        if self.rows:
            self.changed.emit()

    def write(self) -> None:
        """Write all edits to their file, which has each of them already, in fewer lines."""
        if self._can_write and not self.is_saving:
            try:
                self.pending().write(self.file)
            except StudioError as error:
                self._studio.notices.show(error)

    def pending(self) -> PendingEdits:
        return PendingEdits(fingerprint=self.spec.fingerprint, rows=dict(sorted(self.rows.items())))

    def cell(self, row: int, column: str, stored: str) -> str:
        """Current content of a cell; `stored` is its content in the version."""
        return self.rows.get(row, NOT_EDITED).cells.get(column, stored)

    def full_cell(self, row: int, column: str) -> str:
        """Current content of a cell, not truncated."""
        return self.cell(row, column, self._stored([row], column)[0])

    # ── editing ──────────────────────────────────────────────────────────────────────────────

    def set_cells(self, rows: Sequence[int], column: str, cells: Sequence[str]) -> None:
        stored = self._stored(rows, column)
        after: dict[int, RowEdit] = {}
        for row, cell, old in zip(rows, cells, stored, strict=True):
            before = self.rows.get(row, NOT_EDITED)
            others = {name: text for name, text in before.cells.items() if name != column}
            new = others if cell == old else others | {column: cell}
            after[row] = before.model_copy(update={"cells": new})
        self._do(after, self.tr("Edit “{0}”").format(column[:60]))

    def set_label(self, rows: Sequence[int], label: str) -> None:
        """Set the label of rows; “” removes it. If a row may have several labels, toggle this one.

        Toggling adds it to the rows without it, or removes it if all rows have it.
        """
        mapping = self.spec.mapping
        if label in mapping.flags:
            before = [self.cell(n, label, c) for n, c in self._pairs(rows, label)]
            cell = "0" if all(parse_flag(old, label) for old in before) else "1"
            self.set_cells(rows, label, [cell] * len(rows))
        elif mapping.label is not None and self.has_sets and label:
            column = mapping.label
            sets = parse_label_sets(self.cell(n, column, c) for n, c in self._pairs(rows, column))
            has_all = all(label in labels for labels in sets)
            without = [[name for name in labels if name != label] for labels in sets]
            new = [labels if has_all else [*labels, label] for labels in without]
            self.set_cells(rows, column, [join_labels(labels) for labels in new])
        elif mapping.label is not None:
            self.set_cells(rows, mapping.label, [label] * len(rows))

    def _on_rows_edited(self, change: RowEdits) -> None:
        """Take edits of this version that were made on another page."""
        if change.folder != self._data.folder or not self._can_write:
            return
        change.is_refused = self.is_saving
        if not self.is_saving:
            after, change.undone = set_cells(self.pending(), self.dataset, change.cells)
            edits = {row: after.rows.get(row, NOT_EDITED) for row in change.cells}
            self._do(edits, self.tr("Correct labels"))

    def restore_label(self, row: int) -> None:
        column = self.spec.mapping.label
        if column is not None and column in self.rows.get(row, NOT_EDITED).cells:
            self.set_cells([row], column, self._stored([row], column))

    def delete(self, rows: Sequence[int]) -> None:
        """Exclude rows from the next version; include them again if all are excluded."""
        current = [self.rows.get(row, NOT_EDITED) for row in rows]
        is_deleted = not all(edit.deleted for edit in current)
        edits = (edit.model_copy(update={"deleted": is_deleted}) for edit in current)
        text = self.tr("Delete rows") if is_deleted else self.tr("Restore rows")
        self._do(dict(zip(rows, edits, strict=True)), text)

    def move(self, rows: Sequence[int], split: SplitName) -> None:
        """Move rows to another split."""
        after = {}
        for row in rows:
            is_same = SPLITS[self.dataset.splits[row]] == split
            before = self.rows.get(row, NOT_EDITED)
            after[row] = before.model_copy(update={"split": None if is_same else split})
        self._do(after, self.tr("Move rows"))

    def discard(self) -> None:
        """Discard all edits; this can be undone."""
        self._do(dict.fromkeys(self.rows, NOT_EDITED), self.tr("Discard edits"))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels to choose from, those with a key first; none if labels are numbers."""
        spec = self.spec
        if spec.mapping.tags is not None:
            return tuple(name for name in spec.spans if name != "O")
        if spec.mapping.flags:
            return spec.mapping.flags
        if spec.mapping.label is None or is_scale(spec.labels):
            return ()
        counts = count_label_sets(spec.labels) or spec.labels
        names = sorted(filter(None, counts), key=counts.__getitem__, reverse=True)
        return (*sorted(names[:MAX_KEYS]), *names[MAX_KEYS:])

    @cached_property
    def has_span_tags(self) -> bool:
        """True if the tags mark spans; False if they are classes of words."""
        return has_span_tags(self.dataset)

    @property
    def has_sets(self) -> bool:
        """True if a cell may hold several labels."""
        return count_label_sets(self.spec.labels) is not None

    # ── the next version ─────────────────────────────────────────────────────────────────────

    @property
    def next_number(self) -> int:
        return next_version(self._data.folder.parent)

    def save(self) -> None:
        """Create the next version from the edits; `saved` emits its folder."""
        if self.is_saving or not self.rows:
            return
        folder, number = self._data.folder, self.next_number
        target, edits = folder.parent / str(number), self.pending().edits()

        def work() -> Path:
            derive(folder, target, number, edits=edits)
            return target

        self._set_saving(True)
        background.run(self, work, self._on_saved, self._on_save_failed)

    def _on_saved(self, folder: Path) -> None:
        self._set_saving(False)
        self.last_saved = self.pending()
        self.rows = {}
        self.stack.clear()
        self.write()
        self.changed.emit()
        self._studio.datasets_changed.emit()
        self.saved.emit(folder)

    def _on_save_failed(self, error: BaseException) -> None:
        self._set_saving(False)
        self._studio.notices.show(error)

    def _set_saving(self, saving: bool) -> None:
        self.is_saving = saving
        self.saving.emit(saving)

    # ── undo ─────────────────────────────────────────────────────────────────────────────────

    def apply(self, rows: Rows) -> None:
        """Replace the edits of rows, also in the file; called by the commands of the undo stack."""
        if self._can_write:
            try:
                PendingEdits(fingerprint=self.spec.fingerprint, rows=dict(rows)).append(self.file)
            except StudioError as error:
                self._studio.notices.show(error)
        for row, edit in rows.items():
            if edit.is_empty:
                self.rows.pop(row, None)
            else:
                self.rows[row] = edit

    def _on_command(self, _: int) -> None:
        self.changed.emit()

    def _do(self, after: Rows, text: str) -> None:
        if self.is_saving:
            return
        before = {row: self.rows.get(row, NOT_EDITED) for row in after}
        if before != dict(after):
            self.stack.push(_Edit(self, before, after, text))

    def _pairs(self, rows: Sequence[int], column: str) -> list[tuple[int, str]]:
        return list(zip(rows, self._stored(rows, column), strict=True))

    def _stored(self, rows: Sequence[int], column: str) -> list[str]:
        if len(rows) == 1:
            return [row[column] or "" for row in self.dataset.take(np.array(rows), [column])]
        cells = self.dataset.column(column)
        return [cells[row].as_py() or "" for row in rows]


class _Edit(QUndoCommand):
    """Undo command: edits of some rows and their previous edits."""

    def __init__(self, state: EditsState, before: Rows, after: Rows, text: str) -> None:
        super().__init__(text)
        self._state, self._before, self._after = state, before, after

    def redo(self) -> None:
        self._state.apply(self._after)

    def undo(self) -> None:
        self._state.apply(self._before)
        self._state.restored.emit(min(self._before))
