"""Unsaved edits of one version, with undo. No widgets."""

import getpass
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QCoreApplication, QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from app import background
from app.pages.data.dataset.editing.reserved import ReservedRows
from app.pages.data.dataset.state import DatasetState
from app.studio import RowEdits, Studio
from app.widgets.forms.label_keys import MAX_KEYS, assign_keys
from engine.config.codebook import Code, Codebook, CodingKind
from engine.config.dataset import SPLITS, DatasetSpec, SplitName
from engine.data.columns.label_sets import (
    count_label_sets,
    join_labels,
    parse_flag,
    parse_label_sets,
)
from engine.data.columns.numbers import is_scale
from engine.data.columns.text_spans import (
    NO_SPANS,
    TextSpan,
    format_spans,
    moved_spans,
    read_spans,
)
from engine.data.datasets.codebooks import codebook_of, recode
from engine.data.datasets.coding import RowCoding
from engine.data.datasets.deriving import derive
from engine.data.datasets.drawing import Draw
from engine.data.datasets.editing import (
    NOT_EDITED,
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

NOT_CODED = RowCoding()

Rows = Mapping[int, RowEdit]
Codebooks = Mapping[str, Codebook]


class Change(NamedTuple):
    """New edits of some rows, and changed codebooks."""

    rows: dict[int, RowEdit]
    codebooks: dict[str, Codebook]


class LabelChanges(NamedTuple):
    """Rows labelled, and without their label."""

    labelled: NDArray[np.int64]
    removed: NDArray[np.int64]


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
        self.codebooks: dict[str, Codebook] = {}  # changed ones, by column
        self.draws: dict[int, Draw] = {}  # rows listed to be coded
        self.reserved = ReservedRows(data, studio.notices)
        self.has_control = False  # the control sample is the test set; other rows leave it
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
        self.rows, self.codebooks = dict(edits.rows), self._changed(edits.codebooks)
        self.write()  # without a line that was not written whole
        if not edits.is_empty:
            self.changed.emit()

    def write(self) -> None:
        """Write all edits to their file, which has each of them already, in fewer lines."""
        if self._can_write and not self.is_saving:
            try:
                self.pending().write(self.file)
            except StudioError as error:
                self._studio.notices.show(error)

    def pending(self) -> PendingEdits:
        return PendingEdits(
            fingerprint=self.spec.fingerprint,
            rows=dict(sorted(self.rows.items())),
            codebooks=self.codebooks,
        )

    @property
    def is_edited(self) -> bool:
        """True if there is anything to save."""
        return bool(self.rows or self.codebooks)

    def cell(self, row: int, column: str, stored: str) -> str:
        """Current content of a cell; `stored` is its content in the version."""
        return self.rows.get(row, NOT_EDITED).cells.get(column, stored)

    def full_cell(self, row: int, column: str) -> str:
        """Current content of a cell, not truncated."""
        return self.cell(row, column, self._stored([row], column)[0])

    def spans(self, row: int) -> list[TextSpan]:
        """The spans of a row now, in the order of their cell."""
        return read_spans(self.full_cell(row, self.column)) or []

    # ── editing ──────────────────────────────────────────────────────────────────────────────

    def set_cells(self, rows: Sequence[int], column: str, cells: Sequence[str]) -> None:
        stored = self._stored(rows, column)
        after: dict[int, RowEdit] = {}
        for row, cell, old in zip(rows, cells, stored, strict=True):
            before = self.rows.get(row, NOT_EDITED)
            others = {name: text for name, text in before.cells.items() if name != column}
            new = others if cell == old else others | {column: cell}
            if column == self.spec.mapping.text and self.spec.has_text_spans:
                new = self._moved(row, new, self.cell(row, column, old), cell)
            after[row] = before.model_copy(update={"cells": new})
            if column in self.spec.mapping.label_columns:
                is_restored = cell == old and row not in self.draws
                if is_restored and not self.coding(row).is_marked:
                    kept = {name: e for name, e in before.coding.items() if name != self.column}
                    after[row] = after[row].model_copy(update={"coding": kept})
                else:
                    after[row] = self._coded(row, after[row], skipped=False)
                after |= self._met_rows(row)
        self._do(after, self.tr("Edit “{0}”").format(column[:60]))

    def _moved(self, row: int, cells: dict[str, str], old: str, new: str) -> dict[str, str]:
        """The edited cells of a row whose text changes, with its spans at their new places."""
        spans = self.spans(row)
        return cells | ({self.column: format_spans(moved_spans(spans, old, new))} if spans else {})

    def set_spans(self, row: int, spans: Sequence[TextSpan]) -> None:
        """Set all spans of a row."""
        self.set_cells([row], self.column, [format_spans(spans)])

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
            as_list = self.codebook is not None
            self.set_cells(rows, column, [join_labels(labels, as_list) for labels in new])
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
            before = self.rows.get(row, NOT_EDITED)
            after[row] = before.model_copy(update={"split": self._split_edit(row, split)})
        self._do(after, self.tr("Move rows"))

    def discard(self) -> None:
        """Discard all edits; this can be undone."""
        stored = {name: codebook_of(self.spec, name) for name in self.codebooks}
        before = {name: book for name, book in stored.items() if book is not None}
        self._do(dict.fromkeys(self.rows, NOT_EDITED), self.tr("Discard edits"), before)

    # ── coding ───────────────────────────────────────────────────────────────────────────────

    @property
    def column(self) -> str:
        """The column whose coding is kept; “” if rows have no labels."""
        return next(iter(self.spec.mapping.label_columns), "")

    @property
    def codebook(self) -> Codebook | None:
        """The codebook of the label column; None if none was written."""
        return self.codebooks.get(self.column) or self.spec.codebooks.get(self.column)

    def coding(self, row: int) -> RowCoding:
        """The coding of a row in the label column."""
        edit = self.rows.get(row, NOT_EDITED).coding.get(self.column)
        return edit or self._data.coding.get(row, {}).get(self.column, NOT_CODED)

    @property
    def coded_rows(self) -> set[int]:
        """Rows with coding in the label column."""
        new = {row for row, edit in self.rows.items() if self.column in edit.coding}
        return new | {row for row, columns in self._data.coding.items() if self.column in columns}

    @property
    def has_suggestions(self) -> bool:
        """True if the packet of these rows has labels for the coder to see."""
        coding = (columns.get(self.column, NOT_CODED) for columns in self._data.coding.values())
        return self.spec.packet is not None and any(entry.suggestion for entry in coding)

    def label_changes(self) -> "LabelChanges":
        """The unsaved changes that concern lists of rows to label."""
        columns, coded = self.spec.mapping.label_columns, self.spec.coded_column
        new = {row: edit.cells for row, edit in self.rows.items()}
        labelled = [row for row, cells in new.items() if any(cells.get(name) for name in columns)]
        removed = [row for row, cells in new.items() if coded and cells.get(coded) == ""]
        return LabelChanges(*(np.array(rows, dtype=np.int64) for rows in (labelled, removed)))

    def skipped_rows(self) -> NDArray[np.int64]:
        """Rows that the coder skipped, int64 [N]."""
        rows = [row for row in self.coded_rows if self.coding(row).skipped]
        return np.array(rows, dtype=np.int64)

    def training_labels(self) -> dict[int, str]:
        """Unsaved labels outside the control sample, by row; yes/no columns as a list of labels."""
        columns, flags = self.spec.mapping.label_columns, self.spec.mapping.flags
        rows = [
            row
            for row, edit in self.rows.items()
            if any(name in edit.cells for name in columns) and not self.coding(row).control
        ]
        if not flags or not rows:
            return {row: self.rows[row].cells[self.column] for row in rows}
        labels: dict[int, list[str]] = {row: [] for row in rows}
        for name in flags:
            for row, stored in self._pairs(rows, name):
                if parse_flag(self.cell(row, name, stored), name):
                    labels[row].append(name)
        return {row: join_labels(names, as_list=True) for row, names in labels.items()}

    def accept(self, row: int, suggestion: str) -> None:
        """Set a suggested label, set of labels or tags."""
        mapping = self.spec.mapping
        if mapping.flags:
            labels = parse_label_sets([suggestion])[0]
            self.stack.beginMacro(self.tr("Accept a suggestion"))
            for name in mapping.flags:
                self.set_cells([row], name, ["1" if name in labels else "0"])
            self.stack.endMacro()
        elif self.codebook is None and mapping.label is not None and self.has_sets:
            labels = parse_label_sets([suggestion])[0]
            self.set_cells([row], mapping.label, [join_labels(labels)])
        elif self.column:
            self.set_cells([row], self.column, [suggestion])

    def has_label(self, row: int, suggestion: str) -> bool:
        """True if the new label of a row is the suggested one."""
        cells, flags = self.rows[row].cells, self.spec.mapping.flags
        if not flags and not self.has_sets:
            return cells.get(self.column) == suggestion
        chosen = [name for name in flags if parse_flag(cells.get(name, ""), name)]
        new = chosen if flags else parse_label_sets([cells.get(self.column, "")])[0]
        return {*new} == {*parse_label_sets([suggestion])[0]}

    def rows_with(self, labels: Sequence[str]) -> NDArray[np.int64]:
        """Rows that have one of the labels now, int64 [N], ascending."""
        none = dict.fromkeys(labels, "")
        kept = recode(self.dataset, self.column, none, self.pending(), self.kind)
        return np.array([*kept], dtype=np.int64)

    def unlabelled(self) -> NDArray[np.int64]:
        """Rows without a label now, int64 [N], ascending."""
        changes = self.label_changes()
        stored = np.union1d(self.dataset.unlabelled(), changes.removed)
        return np.setdiff1d(stored, changes.labelled)

    def mark(self, rows: Sequence[int], text: str, **marks: object) -> None:
        """Skip, flag or annotate rows: fields of `RowCoding`; `text` names it for Undo."""
        after = dict[int, RowEdit]()
        for row in rows:
            after[row] = self._coded(row, self.rows.get(row, NOT_EDITED), **marks)
            after |= self._met_rows(row)
        self._do(after, text)

    def finish_set(self, row: int) -> None:
        """Store that no label applies to a row that has none yet, nor to a part of it."""
        if self.codebook is not None and not self.full_cell(row, self.column):
            self.set_cells([row], self.column, [NO_SPANS])

    def change_codebook(self, codebook: Codebook, renamed: Mapping[str, str]) -> None:
        """Replace the codebook, and rename labels in all rows, also those of coders; “” removes a
        label."""
        column, after = self.column, dict[int, RowEdit]()
        for name in (column, *self.spec.mapping.coders) if renamed and column else ():
            cells = recode(self.dataset, name, renamed, self.pending(), self.kind)
            rows = sorted(cells)
            for row, old in zip(rows, self._stored(rows, name), strict=True):
                before = after.get(row) or self.rows.get(row, NOT_EDITED)
                others = {key: text for key, text in before.cells.items() if key != name}
                new = others if cells[row] == old else others | {name: cells[row]}
                after[row] = before.model_copy(update={"cells": new})
        self._do(after, self.tr("Change the codebook"), {column: codebook})

    def count_labels(self) -> dict[str, int]:
        """Number of rows with each label now, edits included."""
        column = self.spec.mapping.label
        if self.kind == "spans":
            return self._count_span_labels()
        if column is None:
            return {}
        counts = dict(self.spec.labels)
        edited = [row for row, edit in self.rows.items() if column in edit.cells]
        for row, old in zip(edited, self._stored(edited, column) if edited else (), strict=True):
            new = self.rows[row].cells[column]
            counts[old.strip()] = counts.get(old.strip(), 0) - 1
            counts[new] = counts.get(new, 0) + 1
        counts = {label: rows for label, rows in counts.items() if rows > 0}
        if not self.has_sets:
            return counts
        totals = dict[str, int]()
        for labels, rows in zip(parse_label_sets(counts), counts.values(), strict=True):
            totals |= {label: totals.get(label, 0) + rows for label in labels}
        return totals

    def _count_span_labels(self) -> dict[str, int]:
        """Number of rows that have a span with each label."""
        cells = dict(enumerate(self.dataset.column(self.column).to_pylist()))
        cells |= {
            n: edit.cells[self.column] for n, edit in self.rows.items() if self.column in edit.cells
        }
        found = ({span.label for span in read_spans(cell or "") or ()} for cell in cells.values())
        return dict(Counter(label for labels in found for label in labels))

    @property
    def coder(self) -> str:
        """Who codes: the coder of the packet, else that of the settings."""
        packet = self.spec.packet
        if packet is not None:
            return packet.coder
        return self._studio.settings.preferences.coder or getpass.getuser()

    def _coded(self, row: int, edit: RowEdit, **marks: object) -> RowEdit:
        """The edit with who coded the row, when, and how it came up."""
        before, draw = self.coding(row), self.draws.get(row)
        marks |= {"coder": self.coder, "at": datetime.now(UTC)}
        is_new = before.at is None and self.spec.packet is None  # the rows of a packet were drawn
        if draw is not None and is_new:
            marks |= {"drawn": draw.drawn, "chance": draw.chance}
        elif is_new and self._data.query is not None and self._data.query.text:
            marks |= {"drawn": "search"}
        if draw is not None and draw.control:
            marks |= {"control": True}
        after = before.model_copy(update=marks)
        update = {"coding": {**edit.coding, self.column: after}, "split": edit.split}
        if after.control:
            update["split"] = self._split_edit(row, "test")
        elif self.has_control and SPLITS[self.dataset.splits[row]] == "test":
            update["split"] = "train"
        return edit.model_copy(update=update)

    def _split_edit(self, row: int, split: SplitName) -> SplitName | None:
        """The edit that moves a row to a split; None if it is in this one already."""
        return None if SPLITS[self.dataset.splits[row]] == split else split

    def _met_rows(self, row: int) -> dict[int, RowEdit]:
        """The rows that join the control sample with this one."""
        after = dict[int, RowEdit]()
        for other in self.draws[row].also if row in self.draws else ():
            edit, before = self.rows.get(other, NOT_EDITED), self.coding(other)
            control = before.model_copy(update={"control": True})
            coding = {**edit.coding, self.column: control}
            update = {"coding": coding, "split": self._split_edit(other, "test")}
            after[other] = edit.model_copy(update=update)
        return after

    @property
    def keys(self) -> dict[str, Code]:
        """The labels that have a key, by key."""
        codebook = self.codebook
        codes = (
            [Code(label=label) for label in self.labels] if codebook is None else codebook.active
        )
        return assign_keys(codes, codebook is not None and codebook.kind == "number")

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels to choose from, those with a key first; none if labels are numbers."""
        spec = self.spec
        if self.codebook is not None:
            return tuple(code.label for code in self.codebook.active)
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
    def kind(self) -> CodingKind:
        """Kind of the codes in the label column."""
        if self.codebook is not None:
            return self.codebook.kind
        return "label" if count_label_sets(self.spec.labels) is None else "labels"

    @property
    def has_sets(self) -> bool:
        """True if a cell may hold several labels."""
        return self.kind == "labels"

    # ── the next version ─────────────────────────────────────────────────────────────────────

    @property
    def next_number(self) -> int:
        return next_version(self._data.folder.parent)

    def save(self, column: str | None = None, codebook: Codebook | None = None) -> None:
        """Create the next version from the edits; `saved` emits its folder.

        With a name, it has a new, empty column to code with this codebook.
        """
        if self.is_saving or not (self.is_edited or column):
            return
        folder, number = self._data.folder, self.next_number
        target, edits = folder.parent / str(number), self.pending().edits()
        if column is not None and codebook is not None:
            codebooks = {**edits.codebooks, column: codebook}
            edits = replace(edits, coded_column=column, codebooks=codebooks)

        def work() -> Path:
            derive(folder, target, number, edits=edits)
            return target

        self._set_saving(True)
        background.run(self, work, self._on_saved, self._on_save_failed)

    def _on_saved(self, folder: Path) -> None:
        self._set_saving(False)
        self.last_saved = self.pending()
        self.rows, self.codebooks = {}, {}
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

    def apply(self, rows: Rows, codebooks: Codebooks) -> None:
        """Replace edits, also in the file; called by the commands of the undo stack."""
        if self._can_write:
            edits = PendingEdits(
                fingerprint=self.spec.fingerprint, rows=dict(rows), codebooks=dict(codebooks)
            )
            try:
                edits.append(self.file)
            except StudioError as error:
                self._studio.notices.show(error)
        self.codebooks = self._changed({**self.codebooks, **codebooks})
        for row, edit in rows.items():
            if edit.is_empty:
                self.rows.pop(row, None)
            else:
                self.rows[row] = edit

    def _changed(self, codebooks: Codebooks) -> dict[str, Codebook]:
        """Those that differ from the version."""
        return {
            column: codebook
            for column, codebook in codebooks.items()
            if codebook != codebook_of(self.spec, column)
        }

    def _on_command(self, _: int) -> None:
        self.changed.emit()

    def _do(self, after: Rows, text: str, codebooks: Codebooks | None = None) -> None:
        if self.is_saving:
            return
        codebooks = codebooks or {}
        old = {
            name: self.codebooks.get(name) or codebook_of(self.spec, name) or Codebook()
            for name in codebooks
        }
        before = Change({row: self.rows.get(row, NOT_EDITED) for row in after}, old)
        change = Change(dict(after), dict(codebooks))
        if before != change:
            self.stack.push(_Edit(self, before, change, text))

    def _pairs(self, rows: Sequence[int], column: str) -> list[tuple[int, str]]:
        return list(zip(rows, self._stored(rows, column), strict=True))

    def _stored(self, rows: Sequence[int], column: str) -> list[str]:
        if len(rows) == 1:
            return [row[column] or "" for row in self.dataset.take(np.array(rows), [column])]
        cells = self.dataset.column(column)
        return [cells[row].as_py() or "" for row in rows]


class _Edit(QUndoCommand):
    """Undo command: a change and what was before."""

    def __init__(self, state: EditsState, before: Change, after: Change, text: str) -> None:
        super().__init__(text)
        self._state, self._before, self._after = state, before, after

    def redo(self) -> None:
        self._state.apply(*self._after)

    def undo(self) -> None:
        self._state.apply(*self._before)
        if self._before.rows:
            self._state.restored.emit(min(self._before.rows))
