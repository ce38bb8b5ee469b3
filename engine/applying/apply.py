"""Predict a file, or rows of a data set, into another file, in constant memory."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.lib import format as npy
from numpy.typing import NDArray

from engine.applying.chunks import Chunks, given_file, stored_rows
from engine.applying.summary import Predicted, least_certain, take_rows
from engine.checkpoints.info import checkpoint_info
from engine.config.dataset import Mapping as ColumnMapping
from engine.config.tasks import get_head
from engine.data.columns.joined import columns_of_stored
from engine.data.datasets.relabelling import ROW
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.conll import EMPTY, NO_BREAK_SPACE
from engine.data.formats.reading import TableReader, read
from engine.errors import BadFile, StudioError
from engine.files.atomic_write import atomic_file
from engine.files.table_files import (
    TABLE_WRITERS,
    Tables,
    check_suffix,
    format_cell,
    iter_records,
    write_table,
)
from engine.messages.applying import (
    Applied,
    Apply,
    FileInput,
    FirstPredicted,
    PredictFirst,
    StoredInput,
)
from engine.messages.question import Working
from engine.phrases import phrase
from engine.progress import ProgressCallback, no_progress
from engine.results.predictions import CELL
from engine.system.memory import keep_freed_memory, trim_memory
from engine.tasks.describing import DescribedPredictor
from engine.tasks.hierarchical_classification import NODE, NODE_PROBABILITY
from engine.tasks.predicting import Predictor

CHUNK_ROWS = 4_096  # rows of a chunk
MAX_CHARACTERS = 500  # per cell of the preview
MAX_LEAST = 200  # least certain rows of an answer

Emit = Callable[[Working], object]
AnyPredictor = Predictor | DescribedPredictor


class RowBlock(NamedTuple):
    """Consecutive rows: cells by column, and their lines."""

    cells: dict[str, list[str]]
    lines: list[int]


def apply(request: Apply, predictor: AnyPredictor, emit: Emit = lambda _: None) -> Applied:
    """Run an Apply with a predictor of its checkpoint; `emit` is called for every batch.

    Raises:
        BadFile: with the line; the rows before it are saved.
        StudioError: if file, model, threshold and format do not match.
    """
    check_suffix(request.out, WRITERS)
    _check_target(request)
    keep_freed_memory()
    progress = _Progress(request, emit)
    given = _open(request, predictor, progress.read)
    chunks = Chunks.begin(request)
    for part in given.blocks(max(1, CHUNK_ROWS // predictor.passes), chunks.rows):
        progress.begin(chunks.rows, len(part.lines))
        rows = Rows.from_columns(given.mapping, part.cells, part.lines)
        chunk = build_chunk(part.cells, predictor.predict(rows, progress.on_predicted))
        check_threshold(chunk, request.threshold)
        chunks.add(chunk)
        trim_memory()
    if not chunks.rows:
        raise _no_rows_error(request)
    emit(Working(to=request.number, stage=phrase("Writing the result")))
    return _finish(request, chunks, predictor, given.notes())


def predict_first(question: PredictFirst, predictor: AnyPredictor) -> FirstPredicted:
    """Preview what Apply would write for the first rows. Raises StudioError as it would."""
    apply_question = question.apply
    check_suffix(apply_question.out, WRITERS)
    _check_target(apply_question)
    given = _open(apply_question, predictor, head_only=True)
    first = next(given.blocks(question.rows, 0), None)
    if first is None:
        raise _no_rows_error(apply_question)
    rows = Rows.from_columns(given.mapping, first.cells, first.lines)
    chunk = build_chunk(first.cells, predictor.predict(rows))
    check_threshold(chunk, apply_question.threshold)
    shown = format_chunk(chunk, apply_question.threshold)
    return FirstPredicted(
        to=question.number,
        columns=tuple(shown.column_names),
        rows=_preview_rows(shown),
        predicted=shown.num_columns - len(first.cells),
        cached=stored_rows(apply_question),
    )


class _Given(NamedTuple):
    """The rows to predict; `blocks` yields so many at a time, after some that are skipped.

    `notes` are those of the file, complete after its last row.
    """

    mapping: ColumnMapping
    blocks: Callable[[int, int], Iterator[RowBlock]]
    notes: Callable[[], tuple[str, ...]] = tuple


def _open(
    request: Apply,
    predictor: AnyPredictor,
    progress: ProgressCallback = no_progress,
    head_only: bool = False,
) -> _Given:
    given = request.given
    if isinstance(given, FileInput):
        table = read(given.path, given.reading, progress, head_only=head_only)
        return _Given(given.mapping, partial(iter_blocks, table), lambda: table.notes)
    dataset = open_dataset(given.data.folder).with_target(given.data.target)
    indices = dataset.select(given.rows, predictor.task)
    spec = dataset.spec
    texts = {} if request.described else checkpoint_info(request.checkpoint).texts
    mapping, note = columns_of_stored(texts, spec.mapping, spec.columns)
    if spec.has_text_spans:  # the words are those of the text
        mapping = mapping.model_copy(update={"tags": None})
    blocks = partial(_stored_blocks, dataset, indices, progress)
    return _Given(mapping, blocks, lambda: (note,) if note else ())


def _stored_blocks(
    dataset: Dataset,
    indices: NDArray[np.int64],
    progress: ProgressCallback,
    rows: int,
    skipped: int,
) -> Iterator[RowBlock]:
    """Rows of a stored version with all columns, and one with their indices."""
    columns = dataset.spec.columns
    number = _unused_name(ROW, columns)
    for first in range(skipped, len(indices), rows):
        part = indices[first : first + rows]
        records = dataset.take(part)
        cells = {number: [str(index) for index in part.tolist()]}
        cells |= {name: [record[name] or "" for record in records] for name in columns}
        progress(first + len(part), len(indices))
        yield RowBlock(cells, [record["_line"] for record in records])


def iter_blocks(table: TableReader, rows: int, skipped: int = 0) -> Iterator[RowBlock]:
    """The rows of a table after the first `skipped`, `rows` at a time."""
    rows_left = islice(table, skipped, None)
    while block := list(islice(rows_left, rows)):
        columns = zip(*(row.cells for row in block), strict=True)
        cells = {name: list(column) for name, column in zip(table.columns, columns, strict=True)}
        yield RowBlock(cells, [row.line for row in block])


def _finish(
    request: Apply, chunks: Chunks, predictor: AnyPredictor, notes: tuple[str, ...]
) -> Applied:
    schema, unsure = chunks.schema, 0
    names = outer_names(schema)
    inner, outer = next(pair for pair in names.items() if pair[0].startswith(PREDICTED))
    predicted = Predicted(get_head(predictor.task.kind))
    certainties = []

    def tables() -> Iterator[pa.Table]:
        nonlocal unsure
        for chunk in chunks:
            predicted.add(chunk[inner])
            certainties.append(chunk[CERTAINTY])
            if request.threshold is not None:
                below = pc.less(chunk[CERTAINTY], pa.scalar(request.threshold, pa.float64()))
                unsure += below.to_pylist().count(True)
            yield format_chunk(chunk, request.threshold)

    metadata = {"precision": predictor.computed}
    if predictor.agreement is not None:
        metadata["agreement"] = str(predictor.agreement.phrase)
    out_schema = output_schema(schema, request.threshold).with_metadata(metadata)  # for Parquet
    write(request.out, out_schema, tables(), request.raw)
    limit = MAX_LEAST if request.threshold is None else min(unsure, MAX_LEAST)
    positions = least_certain(certainties, limit)
    least = format_chunk(take_rows(chunks, positions), None)
    distribution = predicted.distribution()
    answer = Applied(
        to=request.number,
        out=request.out,
        rows=chunks.rows,
        prediction=outer,
        counts=distribution.counts,
        is_binned=distribution.is_binned,
        unsure=None if request.threshold is None else unsure,
        columns=tuple(least.column_names),
        least=_preview_rows(least),
        positions=tuple(positions),
        computed=predictor.computed,
        notes=(*notes, *predictor.notes()),
    )
    chunks.remove()
    return answer


def _no_rows_error(request: Apply) -> StudioError:
    if isinstance(request.given, StoredInput):
        return StudioError(
            phrase("Every row has a label.")
            if request.given.rows == "unlabelled"
            else phrase("The data set has no such rows."),
            "Choose other rows of the data set.",
        )
    return BadFile(
        request.given.path, phrase("There are no rows in it."), phrase("Choose a file with rows.")
    )


def _check_target(request: Apply) -> None:
    if request.out.exists() and request.out.samefile(given_file(request)):
        raise StudioError(
            "{name} is the file that is read.",
            "Choose another name for the result.",
            name=request.out.name,
        )


def _preview_rows(table: pa.Table) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(map(_preview_cell, row.values())) for row in iter_records([table]))


def _preview_cell(value: object) -> str:
    text = "" if value is None else str(format_cell(value))
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


class _Progress:
    """Progress in rows predicted and bytes of the file."""

    def __init__(self, request: Apply, emit: Emit) -> None:
        self._request, self._emit = request, emit
        self._rows = self._new = 0
        self._first = self._last = self._read = self._size = 0  # bytes

    def read(self, done: int, total: int) -> None:
        self._read, self._size = done, total

    def begin(self, rows: int, new: int) -> None:
        """Report `rows` done and `new` ones read."""
        self._rows, self._new = rows, new
        self._first, self._last = self._last, self._read

    def on_predicted(self, done: int, total: int) -> None:
        fraction = done / max(total, 1)
        stage = phrase("{n:,} row(s) predicted", n=self._rows + round(fraction * self._new))
        reached = round(self._first + fraction * (self._last - self._first))
        self._emit(Working(to=self._request.number, stage=stage, done=reached, total=self._size))


SUFFIX = ".conll"
VECTORS = ".npy"
WRITERS = (*TABLE_WRITERS, SUFFIX, VECTORS)
PREDICTED = "said:"
CERTAINTY = "certainty"  # of each prediction, float64 from 0 to 1, or null
UNSURE = "unsure"
SURE = "sure_label"  # the deepest sure node of labels with levels
DIGITS = 6  # decimal places


def build_chunk(
    cells: Mapping[str, Sequence[str]], records: Sequence[Mapping[str, Any]]
) -> pa.Table:
    """A chunk from the cells of its rows and their prediction records."""
    parts = dict.fromkeys(part for row in records for part in row)
    columns: dict[str, pa.Array[Any]] = {
        CELL + name: pa.array(column, pa.string()) for name, column in cells.items()
    }
    columns |= {
        PREDICTED + part: pa.array([_rounded(row.get(part)) for row in records]) for part in parts
    }
    columns[CERTAINTY] = pa.array([certainty(row) for row in records], pa.float64())
    return pa.table(columns)


def certainty(record: Mapping[str, Any]) -> float | None:
    """Probability of a prediction, the smallest of several; None if there is none."""
    if "probability" in record:
        probability: float | None = record["probability"]
        return probability
    if "probabilities" in record:
        return min(record["probabilities"] or (), default=None)
    probabilities = [p for part, p in record.items() if part.startswith("p(") and p is not None]
    return min((max(p, 1 - p) for p in probabilities), default=None)


def outer_names(schema: pa.Schema) -> dict[str, str]:
    """Final names of the columns, in order.

    A predicted column with a name of the file is prefixed with “predicted_”.
    """
    cells = [name for name in schema.names if name.startswith(CELL)]
    used = {name.removeprefix(CELL) for name in cells}
    names = [name for name in schema.names if name.startswith(PREDICTED)]
    return {name: name.removeprefix(CELL) for name in cells} | {
        name: _unused_name(name.removeprefix(PREDICTED), used) for name in names
    }


def output_schema(schema: pa.Schema, threshold: float | None) -> pa.Schema:
    return format_chunk(schema.empty_table(), threshold).schema


def format_chunk(chunk: pa.Table, threshold: float | None) -> pa.Table:
    """A chunk with its final names, marked below the threshold."""
    names = outer_names(chunk.schema)
    table = chunk.select(list(names)).rename_columns(list(names.values()))
    if threshold is None:
        return table
    marks = pc.less(chunk[CERTAINTY], pa.scalar(threshold, pa.float64()))
    table = table.append_column(_unused_name(UNSURE, table.column_names), marks)
    nodes = _sure_nodes(chunk, threshold)
    return (
        table
        if nodes is None
        else table.append_column(_unused_name(SURE, table.column_names), nodes)
    )


def _sure_nodes(chunk: pa.Table, threshold: float) -> "pa.ChunkedArray[Any] | None":
    """The deepest node of each row whose probability reaches the threshold, “” for none.

    None if the labels have no levels.
    """
    nodes, level = None, 1
    while (name := PREDICTED + NODE.format(level)) in chunk.column_names:
        probabilities = chunk[PREDICTED + NODE_PROBABILITY.format(level)]
        is_sure = pc.greater_equal(probabilities, pa.scalar(threshold, pa.float64()))
        nodes = pc.if_else(is_sure, chunk[name], pa.scalar("") if nodes is None else nodes)
        level += 1
    return nodes


def check_threshold(chunk: pa.Table, threshold: float | None) -> None:
    """Raise StudioError if there is a threshold but the model has no probabilities."""
    if threshold is None or chunk[CERTAINTY].null_count < chunk.num_rows:
        return
    predicted = (chunk[name] for name in chunk.column_names if name.startswith(PREDICTED))
    if any(value for column in predicted for value in column.to_pylist()):
        raise StudioError(
            "This model predicts without probabilities, so no row can be unsure.",
            "Leave out the threshold.",
        )


def _unused_name(name: str, used: Container[str]) -> str:
    while name in used:
        name = f"predicted_{name}"
    return name


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    return value


def write(path: Path, schema: pa.Schema, tables: Tables, raw: bool) -> None:
    """Write rows and predictions in the format of the suffix; see `write_table`."""
    if path.suffix.lower() == VECTORS:
        _write_vectors(path, schema, tables)
        return
    if path.suffix.lower() != SUFFIX:
        write_table(path, schema, tables, raw)
        return
    problem = phrase("The model does not predict tags, and .conll files hold nothing else.")
    advice = phrase("Choose another suffix, or a token classification model.")
    words, tags = (_list_column(schema, part, problem, advice) for part in ("words", "tags"))
    with atomic_file(path, shared=True) as file, open(file, "w", encoding="utf-8") as out:
        between = ""
        for row in iter_records(tables):
            if row[words]:
                out.write(between + "".join(_lines(row[words], row[tags])))
                between = "\n"


def _list_column(schema: pa.Schema, part: str, problem: str, advice: str) -> str:
    """The last column with this name, which has the prediction. Raises StudioError if there is
    none."""
    columns = [
        field.name
        for field in schema
        if field.name.removeprefix("predicted_") == part and pa.types.is_list(field.type)
    ]
    if not columns:
        raise StudioError(problem, advice)
    return str(columns[-1])


def _lines(words: Iterable[str], tags: Iterable[str]) -> Iterable[str]:
    """Format words and tags: white space becomes a no-break space, an empty word “_”."""
    for word, tag in zip(words, tags, strict=True):
        yield f"{NO_BREAK_SPACE.join(word.split()) or EMPTY}\t{tag}\n"


def _write_vectors(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    """Write the predicted vectors as float32 [N, D]. Raises StudioError if there are none."""
    name = _list_column(
        schema,
        "vector",
        phrase("No vectors are predicted, and .npy files hold nothing else."),
        phrase("Choose another suffix; or a sentence encoder, and no second text."),
    )
    rows, size = 0, 0
    with atomic_file(path, shared=True) as file, open(file, "wb") as out:
        for table in tables:
            lists: pa.ListArray[Any] = table[name].combine_chunks()  # type: ignore[assignment]
            flat = lists.flatten().to_numpy().astype(np.float32)
            if not rows:
                size = len(flat) // max(len(lists), 1)
                _write_header(out, 0, size)
            rows += len(lists)
            out.write(flat.tobytes())
        out.seek(0)
        _write_header(out, rows, size)  # same length: NumPy pads the header


def _write_header(out: BinaryIO, rows: int, size: int) -> None:
    header = {"descr": "<f4", "fortran_order": False, "shape": (rows, size)}
    npy.write_array_header_1_0(out, header)
