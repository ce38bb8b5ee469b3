"""Predict a file row by row into another file, in constant memory."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from engine.applying import writing
from engine.applying.chunks import Chunks, kept_rows
from engine.data.datasets.rows import Rows
from engine.data.formats.reading import TableReader, read
from engine.errors import BadFile, StudioError
from engine.files.table_files import check_suffix, format_cell, iter_records
from engine.messages.applying import Applied, Apply, FirstPredicted, PredictFirst
from engine.messages.question import Working
from engine.phrases import phrase
from engine.system.memory import trim_memory
from engine.tasks.predicting import Predictor

CHUNK_ROWS = 4_096  # rows of a chunk
SHOWN_CHARACTERS = 500  # of a cell in the preview

Emit = Callable[[Working], object]


class Stretch(NamedTuple):
    """Consecutive rows of a file: cells by column, and their lines."""

    cells: dict[str, list[str]]
    lines: list[int]


def apply(wanted: Apply, predictor: Predictor, emit: Emit = lambda _: None) -> Applied:
    """Run an Apply with a predictor of its checkpoint; `emit` is called for every batch.

    Raises:
        BadFile: with the line; the rows before it are saved.
        StudioError: if file, model, threshold and format do not match.
    """
    check_suffix(wanted.out, writing.WRITERS)
    _refuse_itself(wanted)
    progress = _Progress(wanted, emit)
    table = read(wanted.given.path, wanted.given.reading, progress.read)
    chunks = Chunks.begin(wanted)
    for stretch in stretches(table, CHUNK_ROWS, chunks.rows):
        progress.begin(chunks.rows, len(stretch.lines))
        rows = Rows.of(wanted.given.mapping, stretch.cells, stretch.lines)
        chunk = writing.chunk_of(stretch.cells, predictor.predict(rows, progress.predicted))
        writing.check_threshold(chunk, wanted.threshold)
        chunks.add(chunk)
        trim_memory()
    if not chunks.rows:
        raise _no_rows(wanted.given.path)
    emit(Working(to=wanted.number, stage=phrase("Writing the result")))
    return _finish(wanted, chunks, predictor)


def predict_first(question: PredictFirst, predictor: Predictor) -> FirstPredicted:
    """Preview what Apply would write for the first rows. Raises StudioError as it would."""
    wanted = question.asked
    check_suffix(wanted.out, writing.WRITERS)
    _refuse_itself(wanted)
    table = read(wanted.given.path, wanted.given.reading, glance=True)
    first = next(stretches(table, question.rows), None)
    if first is None:
        raise _no_rows(wanted.given.path)
    rows = Rows.of(wanted.given.mapping, first.cells, first.lines)
    chunk = writing.chunk_of(first.cells, predictor.predict(rows))
    writing.check_threshold(chunk, wanted.threshold)
    shown = writing.written(chunk, wanted.threshold)
    return FirstPredicted(
        to=question.number,
        columns=tuple(shown.column_names),
        rows=tuple(tuple(map(_shown, row.values())) for row in iter_records([shown])),
        predicted=shown.num_columns - len(table.columns),
        kept=kept_rows(wanted),
    )


def stretches(table: TableReader, rows: int, skipped: int = 0) -> Iterator[Stretch]:
    """The rows of a table after the first `skipped`, `rows` at a time."""
    every = islice(table, skipped, None)
    while some := list(islice(every, rows)):
        columns = zip(*(row.cells for row in some), strict=True)
        cells = {name: list(column) for name, column in zip(table.columns, columns, strict=True)}
        yield Stretch(cells, [row.line for row in some])


def _finish(wanted: Apply, chunks: Chunks, predictor: Predictor) -> Applied:
    schema, unsure = chunks.schema, 0

    def tables() -> Iterator[pa.Table]:
        nonlocal unsure
        for chunk in chunks:
            if wanted.threshold is not None:
                below = pc.less(chunk[writing.CERTAINTY], pa.scalar(wanted.threshold, pa.float64()))
                unsure += below.to_pylist().count(True)
            yield writing.written(chunk, wanted.threshold)

    writing.write(
        wanted.out, writing.written_schema(schema, wanted.threshold), tables(), wanted.raw
    )
    names = writing.outer_names(schema)
    answer = Applied(
        to=wanted.number,
        out=wanted.out,
        rows=chunks.rows,
        prediction=next(outer for inner, outer in names.items() if inner.startswith(writing.SAID)),
        unsure=None if wanted.threshold is None else unsure,
        computed=predictor.computed,
        notes=predictor.notes(),
    )
    chunks.remove()
    return answer


def _no_rows(path: Path) -> BadFile:
    return BadFile(path, phrase("There are no rows in it."), phrase("Choose a file with rows."))


def _refuse_itself(wanted: Apply) -> None:
    if wanted.out.exists() and wanted.out.samefile(wanted.given.path):
        raise StudioError(
            phrase("{name} is the file that is read.", name=wanted.out.name),
            phrase("Choose another name for the result."),
        )


def _shown(value: object) -> str:
    text = "" if value is None else str(format_cell(value))
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


class _Progress:
    """Progress in rows predicted and bytes of the file."""

    def __init__(self, wanted: Apply, emit: Emit) -> None:
        self._wanted, self._emit = wanted, emit
        self._rows = self._new = 0
        self._first = self._last = self._read = self._size = 0  # bytes

    def read(self, done: int, total: int) -> None:
        self._read, self._size = done, total

    def begin(self, rows: int, new: int) -> None:
        """Report `rows` done and `new` ones read."""
        self._rows, self._new = rows, new
        self._first, self._last = self._last, self._read

    def predicted(self, done: int, total: int) -> None:
        share = done / max(total, 1)
        stage = phrase("{n:,} row(s) predicted", n=self._rows + round(share * self._new))
        reached = round(self._first + share * (self._last - self._first))
        self._emit(Working(to=self._wanted.number, stage=stage, done=reached, total=self._size))
