"""Pending row edits, stored in a file until they become a version."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import numpy as np
from pydantic import Field, ValidationError

from engine.config import Spec
from engine.config.codebook import Codebook
from engine.config.dataset import DatasetSpec, SplitName
from engine.data.columns.tags import Span, are_spans, spans_from_tags, tags_from_spans
from engine.data.columns.words import join_words, split_words
from engine.data.datasets.coding import RowCoding
from engine.data.datasets.deriving import Edits
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.files.atomic_write import append_file, disk_errors_for, write_file
from engine.files.regular_file import read_regular

SAMPLE_ROWS = 500
MAX_BYTES = 1 << 30  # of the file


class RowEdit(Spec):
    """Changes to one row."""

    cells: dict[str, str] = Field(default_factory=dict, description="New cells, by column.")
    split: SplitName | None = None
    deleted: bool = False
    coding: dict[str, RowCoding] = Field(
        default_factory=dict, description="Coding of the row, by column."
    )

    @property
    def is_empty(self) -> bool:
        return self == NOT_EDITED

    def merge(self, other: Self) -> Self:
        """Merge a later edit into this one."""
        return self.model_copy(
            update={
                "cells": self.cells | other.cells,
                "split": other.split or self.split,
                "deleted": other.deleted,
                "coding": self.coding | other.coding,
            }
        )


NOT_EDITED = RowEdit()


class PendingEdits(Spec):
    """Edits of the rows of one version, by row index."""

    fingerprint: str = Field(description="Fingerprint of the version whose rows are edited.")
    rows: dict[int, RowEdit] = Field(default_factory=dict)
    codebooks: dict[str, Codebook] = Field(
        default_factory=dict, description="Changed codebooks, by column."
    )

    @property
    def is_empty(self) -> bool:
        return not self.rows and not self.codebooks

    def edits(self) -> Edits:
        """Edits for `derive`."""
        edited = {n: e for n, e in self.rows.items() if not e.deleted}
        return Edits(
            dropped=frozenset(n for n, e in self.rows.items() if e.deleted),
            cells={n: e.cells for n, e in edited.items() if e.cells},
            splits={n: e.split for n, e in edited.items() if e.split is not None},
            coding={n: e.coding for n, e in edited.items() if e.coding},
            codebooks=self.codebooks,
        )

    def write(self, path: Path) -> None:
        """Write the edits atomically; without edits, delete the file."""
        with disk_errors_for(path):
            if self.is_empty:
                path.unlink(missing_ok=True)
                return
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, self._line())

    def append(self, path: Path) -> None:
        """Append the edits to those in the file; an empty RowEdit takes back those of its row."""
        append_file(path, self._line())

    def _line(self) -> bytes:
        return self.model_dump_json(exclude_defaults=True).encode("utf-8") + b"\n"


def read_edits(path: Path, fingerprint: str) -> PendingEdits:
    """Read pending edits; no edits if the file does not exist.

    Later lines of the file replace earlier ones row by row. A last line without an end is one that
    was not written whole, and is left out.

    Raises StudioError if the file is damaged or belongs to other rows.
    """
    try:
        *lines, _ = read_regular(path, MAX_BYTES).split(b"\n")
        parts = [PendingEdits.model_validate_json(line) for line in lines]
    except FileNotFoundError:
        return PendingEdits(fingerprint=fingerprint)
    except (OSError, ValidationError) as error:
        raise StudioError(
            "The unsaved edits in {name} cannot be read.",
            "Delete this file to edit the data set again: {path}.",
            name=path.name,
            path=path,
        ) from error
    if any(part.fingerprint != fingerprint for part in parts):
        raise StudioError(
            "The unsaved edits in {name} belong to another data set.",
            "Delete this file to edit the data set again: {path}.",
            name=path.name,
            path=path,
        )
    rows, codebooks = dict[int, RowEdit](), dict[str, Codebook]()
    for part in parts:
        rows |= part.rows
        codebooks |= part.codebooks
    kept = {row: edit for row, edit in sorted(rows.items()) if not edit.is_empty}
    return PendingEdits(fingerprint=fingerprint, rows=kept, codebooks=codebooks)


def has_span_tags(dataset: Dataset) -> bool:
    """True if the tags mark spans, by the first rows; False if they are classes of words."""
    column = dataset.spec.mapping.tags
    if column is None:
        return False
    cells = (row[column] for row in dataset.page(0, SAMPLE_ROWS))
    tags = {tag for cell in cells for tag in split_words(cell or "")}
    return are_spans(tags) or tags <= {"O"}


def edits_file(root: Path, version: Path, spec: DatasetSpec) -> Path:
    """The file in `root` with the pending edits of a version."""
    return root / f"{version.parent.name}-{version.name}-{spec.fingerprint[:12]}.jsonl"


def set_cells(
    edits: PendingEdits, dataset: Dataset, cells: Mapping[int, Mapping[str, str]]
) -> tuple[PendingEdits, dict[int, dict[str, str]]]:
    """Edits with new cells, by row and column, and the cells before; stored ones need no edit."""
    rows, before = dict(edits.rows), {}
    indices = sorted(cells)
    for row, record in zip(indices, dataset.take(np.array(indices)), strict=True):
        stored = {column: cell or "" for column, cell in record.items()}
        edit = rows.pop(row, RowEdit())
        before[row] = {column: edit.cells.get(column, stored[column]) for column in cells[row]}
        new = {c: text for c, text in {**edit.cells, **cells[row]}.items() if text != stored[c]}
        changed = edit.model_copy(update={"cells": new})
        if not changed.is_empty:
            rows[row] = changed
    return edits.model_copy(update={"rows": rows}), before


def with_tag(tags: Sequence[str], first: int, last: int, name: str, are_spans: bool) -> str:
    """Set the tag of the words from `first` to `last`, both included, and return the cell.

    For span tags, `name` is the type of one span over these words, and overlapping spans are cut;
    "" or "O" removes it. Otherwise it is the tag of each word.
    """
    if not are_spans:
        return join_words([name if first <= n <= last else tag for n, tag in enumerate(tags)])
    kept = [
        part
        for span in spans_from_tags(tags)
        for part in (
            Span(span.type, span.start, min(span.end, first)),
            Span(span.type, max(span.start, last + 1), span.end),
        )
        if part.start < part.end
    ]
    new = [] if name in ("", "O") else [Span(name, first, last + 1)]
    return join_words(
        tags_from_spans(sorted([*kept, *new], key=lambda span: span.start), len(tags), "BIO")
    )
