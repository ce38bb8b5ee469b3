"""Derive a version from an older one: drop or edit rows, or split them again."""

from collections.abc import Callable, Iterator
from collections.abc import Mapping as Table
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.config.codebook import Codebook
from engine.config.dataset import SPLITS, Cleaning, DatasetSpec, Mapping, Split, SplitName
from engine.data.columns.joined import JoinedColumn, can_join
from engine.data.columns.text_spans import SpanCounts
from engine.data.columns.words import join_list
from engine.data.datasets.coding import Coding, read_coding, renumber, write_coding
from engine.data.datasets.collecting import NO_CLEANING
from engine.data.datasets.decisions import decision_changes
from engine.data.datasets.history import row_changes, split_again_phrase
from engine.data.datasets.importing import (
    is_overlap_note,
    is_split_note,
    label_notes,
    overlap_notes,
    split_rows,
    write_version,
)
from engine.data.datasets.row_writer import CELL_NOTES, UNASSIGNED, RowWriter
from engine.data.datasets.store import READ_ROWS, Dataset, open_dataset
from engine.data.formats.batches import Batch, rows_to_batch, to_texts
from engine.data.formats.rows import Remarks
from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder
from engine.files.regular_file import check_regular
from engine.phrases import Phrase, phrase
from engine.progress import Cancelled, ProgressCallback, no_progress


@dataclass(frozen=True)
class Edits:
    """Changes to single rows, by row index in the old version."""

    dropped: AbstractSet[int] = frozenset()
    cells: Table[int, Table[str, str]] = field(default_factory=dict)
    """New cells, by row and column."""
    splits: Table[int, SplitName] = field(default_factory=dict)
    coding: Coding = field(default_factory=dict)
    codebooks: Table[str, Codebook] = field(default_factory=dict)
    """New codebooks, by column."""
    coded_column: str | None = None
    """A new, empty column that becomes the label column."""
    coders: Table[str, tuple[str, ...]] = field(default_factory=dict)
    """New columns of coders, by the column that they coded."""
    changes: tuple[Phrase, ...] = ()
    """Changes in words that the cells do not show."""


def derive(
    folder: Path,
    target: Path,
    version: int,
    cleaning: Cleaning = NO_CLEANING,
    edits: Edits | None = None,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
    split: Split | None = None,
) -> DatasetSpec:
    """Write the version in `folder` to `target`, cleaned and edited, or split again by `split`.

    Rows keep their order, splits and lines unless edited; the source files are not read. `progress`
    is called with rows.

    Raises:
        StudioError: if the version cannot be read, no training row is left, a new split is that of
            the version, or spans are to be coded in joined texts.
        BadFile: if the column of a new split does not hold splits.
        Cancelled: soon after `cancelled()` is true.
    """
    old, edits = open_dataset(folder), edits or Edits()
    columns, mapping, changes = old.spec.columns, old.spec.mapping, edits.changes
    own, coders = old.spec.coded_column or "", dict(old.spec.target_coders)
    for column, names in edits.coders.items():
        columns = (*columns, *names)
        if column == own:
            mapping = mapping.model_copy(update={"coders": (*mapping.coders, *names)})
        else:
            coders[column] = (*coders.get(column, ()), *names)
    if edits.coded_column is not None:
        columns = (*columns, edits.coded_column)
        book = edits.codebooks.get(edits.coded_column, Codebook())
        if book.kind == "spans" and {*mapping.texts} & {*mapping.templates}:
            raise StudioError(
                "Spans cannot be marked in texts that are joined from several columns.",
                "Import the file again with one column as the text.",
            )
        if mapping.coders:
            coders[own] = mapping.coders
        mapping = Mapping.coded(mapping.texts, edits.coded_column, book.kind)
        changes = (phrase("Column “{column}” added for coding.", column=edits.coded_column[:60]),)
    codes_spans = edits.coded_column is not None and mapping.tags == edits.coded_column
    remarks, kept = Remarks(), [np.zeros(0, dtype=np.int64)]
    spans = SpanCounts()
    path = next((path for paths in old.spec.sources.values() for path in paths), folder)
    with atomic_folder(target) as partial:
        file = partial / "rows.parquet"
        with RowWriter(file, columns, mapping, split or Split(), cleaning) as writer:
            writer.begin(path, remarks, Remarks())
            for rows, batch, splits in _batches(old, columns, edits):
                progress(int(rows[0]), len(old))
                if cancelled is not None and cancelled():
                    raise Cancelled
                mask = writer.filled_rows(batch, Remarks())
                if mask is not None:
                    rows, batch, splits = rows[mask], batch.filter(mask), splits[mask]
                if codes_spans:  # they are in natural texts
                    text = columns.index(mapping.text)
                    texts = map(join_list, to_texts(batch.cells[text]))
                    batch.cells[text] = pa.array(texts, pa.string())
                kept.append(rows)
                writer.append(batch, splits if split is None else UNASSIGNED)
                if mapping.tags is not None:
                    for cell in to_texts(batch.cells[columns.index(mapping.tags)]):
                        spans.add(cell)
        collected = writer.finish(old.spec.source_sha256, [], spans)
        splits, split_notes = collected.splits, list[str]()
        if split is not None:
            changes = (split_again_phrase(split),)
            splits, split_notes = split_rows(collected, (), split)
            _check_split(splits, old.splits)
        if not (splits == SPLITS.index("train")).any():
            raise StudioError("No training row is left.", "Complete the rows in the file.")
        old_label_notes = label_notes(old.spec.labels or old.spec.spans)  # recomputed
        notes = dict.fromkeys(
            (
                *(
                    n
                    for n in old.spec.notes
                    if n not in old_label_notes
                    and not _mentions(n, CELL_NOTES)
                    and not is_overlap_note(n)
                    and not (split is not None and is_split_note(n))
                ),
                *remarks.sentences(),
                *split_notes,
                *overlap_notes(collected),
                *label_notes(collected.labels or collected.spans),
            )
        )
        old_cleaning = old.spec.cleaning
        update = {
            "version": version,
            "made_from": old.spec.version,
            "changes": changes
            + _codebook_changes(old.spec, edits)
            + decision_changes(old, edits)
            + row_changes(old, np.concatenate(kept), splits, _column_reader(collected.rows)),
            "columns": columns,
            "mapping": mapping,
            "target_coders": coders,
            "notes": tuple(notes),
            "codebooks": {**old.spec.codebooks, **edits.codebooks},
            "cleaning": Cleaning(
                no_label=old_cleaning.no_label,
                skip_empty=tuple(dict.fromkeys((*old_cleaning.skip_empty, *cleaning.skip_empty))),
                spellings=old_cleaning.spellings | cleaning.spellings,
            ),
        }
        coding = read_coding(folder)
        for row, new in edits.coding.items():
            coding[row] = {**coding.get(row, {}), **new}
        write_coding(partial, renumber(coding, np.concatenate(kept).tolist()))
        if split is not None:
            paths = tuple(path for paths in old.spec.sources.values() for path in paths)
            update |= {"split": split, "sources": {"all": paths}}
        spec = old.spec.model_copy(update=update)
        return write_version(partial, spec, collected, splits, cancelled)


def _codebook_changes(old: DatasetSpec, edits: Edits) -> tuple[Phrase, ...]:
    """Name the codebooks that are new or other than before, and count their labels."""
    return tuple(
        phrase(
            "Codebook of “{column}” changed: {n:,} label(s).", column=column[:60], n=len(book.codes)
        )
        for column, book in edits.codebooks.items()
        if book != old.codebooks.get(column)
    )


def _check_split(splits: NDArray[np.int8], old: NDArray[np.int8]) -> None:
    """Raise StudioError if no row moves."""
    if np.array_equal(splits, old):
        raise StudioError(
            "Every row is already in this split.", "Choose other fractions, a column or a seed."
        )


def _column_reader(rows: Path) -> Callable[[str], Any]:
    """Read a column of the rows in a file."""
    return lambda name: pq.read_table(check_regular(rows), columns=[name]).column(0)


def _mentions(note: str, phrases: tuple[str, ...]) -> bool:
    """True if a note contains one of these phrases."""
    args = note.args.values() if isinstance(note, Phrase) else ()
    return note in phrases or any(isinstance(arg, str) and _mentions(arg, phrases) for arg in args)


def _batches(
    dataset: Dataset, columns: tuple[str, ...], edits: Edits
) -> Iterator[tuple[NDArray[np.int64], Batch, NDArray[np.int8]]]:
    """Edited rows in batches: indices, int64 [rows], the rows, and their splits, int8 [rows]."""
    mapping, known = dataset.spec.mapping, dataset.spec.columns
    flags, templates = {*mapping.flags}, [n for n in mapping.templates if can_join(n, known)]
    joined = [JoinedColumn(name, known) for name in templates]
    for first in range(0, len(dataset), READ_ROWS):
        indices, lines, rows, splits = [], [], [], []
        for index, row in enumerate(dataset.page(first, READ_ROWS), start=first):
            if index in edits.dropped:
                continue
            edited = edits.cells.get(index, {})
            cells = row | dict(edited)
            blank = {name for name in flags if not (cells[name] or "").strip()}
            if blank and blank != flags and not flags.isdisjoint(edited):
                cells |= dict.fromkeys(blank, "0")  # it had no label before
            for text in joined:
                if not edited.keys().isdisjoint(text.columns) and text.name not in edited:
                    cells[text.name] = text.join([cells[name] for name in text.columns])
            indices.append(index)
            lines.append(row["_line"])
            rows.append(tuple(cells.get(name, "") for name in columns))
            splits.append(SPLITS.index(edits.splits.get(index, row["_split"])))
        if rows:
            yield (
                np.array(indices, dtype=np.int64),
                rows_to_batch(lines, rows),
                np.array(splits, dtype=np.int8),
            )
