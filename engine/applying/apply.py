"""From a file to a file with predictions, row by row, at a memory that does not grow with it."""

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from engine.applying.chunks import Chunks, kept_rows
from engine.applying.columns import (
    CERTAINTY,
    SAID,
    check_threshold,
    chunk_of,
    outer_names,
    written,
    written_schema,
)
from engine.applying.conll import WRITERS, write
from engine.data.datasets.rows import Rows
from engine.data.formats.reading import TableReader, read
from engine.errors import BadFile, StudioError
from engine.files.table_files import check_suffix, format_cell, iter_records
from engine.messages.applying import Applied, Apply, FirstPredicted, PredictFirst
from engine.messages.question import Working
from engine.phrases import phrase
from engine.system.memory import trim_memory
from engine.tasks.predicting import Predictor

CHUNK_ROWS = 4_096  # rows that are predicted at once, and then kept
SHOWN_CHARACTERS = 500  # of a cell of the first rows

Emit = Callable[[Working], object]


class Stretch(NamedTuple):
    """Some rows of a file: all cells by column, and the lines they stand in."""

    cells: dict[str, list[str]]
    lines: list[int]


def apply(wanted: Apply, predictor: Predictor, emit: Emit = lambda _: None) -> Applied:
    """Carry out an Apply with a predictor of its checkpoint; `emit` hears of every batch.

    Raises:
        BadFile: with the line, when the rows before it are kept.
        StudioError: where file, model, threshold and form do not fit one another.
    """
    check_suffix(wanted.out, WRITERS)
    _refuse_itself(wanted)
    progress = _Progress(wanted, emit)
    table = read(wanted.given.path, wanted.given.reading, progress.read)
    chunks = Chunks.begin(wanted)
    for stretch in stretches(table, CHUNK_ROWS, chunks.rows):
        progress.begin(chunks.rows, len(stretch.lines))
        rows = Rows.of(wanted.given.mapping, stretch.cells, stretch.lines)
        chunk = chunk_of(stretch.cells, predictor.predict(rows, progress.predicted))
        check_threshold(chunk, wanted.threshold)
        chunks.add(chunk)
        trim_memory()
    if not chunks.rows:
        raise _no_rows(wanted.given.path)
    emit(Working(to=wanted.number, stage=phrase("Writing the result")))
    return _finish(wanted, chunks, predictor)


def predict_first(question: PredictFirst, predictor: Predictor) -> FirstPredicted:
    """What Apply would write in the first rows. Raises StudioError as it would."""
    wanted = question.asked
    check_suffix(wanted.out, WRITERS)
    _refuse_itself(wanted)
    table = read(wanted.given.path, wanted.given.reading, glance=True)
    first = next(stretches(table, question.rows), None)
    if first is None:
        raise _no_rows(wanted.given.path)
    rows = Rows.of(wanted.given.mapping, first.cells, first.lines)
    chunk = chunk_of(first.cells, predictor.predict(rows))
    check_threshold(chunk, wanted.threshold)
    shown = written(chunk, wanted.threshold)
    return FirstPredicted(
        to=question.number,
        columns=tuple(shown.column_names),
        rows=tuple(tuple(map(_shown, row.values())) for row in iter_records([shown])),
        predicted=shown.num_columns - len(table.columns),
        kept=kept_rows(wanted),
    )


def stretches(table: TableReader, rows: int, skipped: int = 0) -> Iterator[Stretch]:
    """The rows of a table without the first `skipped`, so many at a time."""
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
                below = pc.less(chunk[CERTAINTY], pa.scalar(wanted.threshold, pa.float64()))
                unsure += below.to_pylist().count(True)
            yield written(chunk, wanted.threshold)

    write(wanted.out, written_schema(schema, wanted.threshold), tables(), wanted.raw)
    names = outer_names(schema)
    answer = Applied(
        to=wanted.number,
        out=wanted.out,
        rows=chunks.rows,
        prediction=next(outer for inner, outer in names.items() if inner.startswith(SAID)),
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
    """Tells how many rows are predicted, and how far that is in the bytes of the file."""

    def __init__(self, wanted: Apply, emit: Emit) -> None:
        self._wanted, self._emit = wanted, emit
        self._rows = self._new = 0
        self._first = self._last = self._read = self._size = 0  # bytes

    def read(self, done: int, total: int) -> None:
        self._read, self._size = done, total

    def begin(self, rows: int, new: int) -> None:
        """So many `rows` are done, and `new` ones are read and will now be predicted."""
        self._rows, self._new = rows, new
        self._first, self._last = self._last, self._read

    def predicted(self, done: int, total: int) -> None:
        share = done / max(total, 1)
        stage = phrase("{n:,} row(s) predicted", n=self._rows + round(share * self._new))
        reached = round(self._first + share * (self._last - self._first))
        self._emit(Working(to=self._wanted.number, stage=stage, done=reached, total=self._size))
