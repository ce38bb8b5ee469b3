"""Columnar files: Parquet and Arrow (file, stream, Feather 2).

Cells become text: lists, records and maps as JSON, null as an empty cell. Class indices of the
`datasets` library become class names.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from engine.config.dataset import Reading
from engine.data.formats.archives import unpacked
from engine.data.formats.batches import Batch
from engine.data.formats.lines import Lines
from engine.data.formats.rows import Content, Format, Remarks, Row, unique_names
from engine.errors import BadFile
from engine.files.regular_file import check_regular
from engine.phrases import phrase

BATCH_ROWS = 5_000
MAX_PART_BYTES = 64_000_000  # of the texts of a batch
MAX_COLUMN_BYTES = 4 * 1024**3  # of a column in a row group, unpacked
MAX_BATCH_BYTES = 4 * 1024**3  # of a batch of an Arrow file, unpacked
READ_ERRORS = (OSError, ValueError, LookupError, TypeError, ArithmeticError, pa.ArrowException)
PARQUET_MAGIC, ARROW_MAGIC, FEATHER_MAGIC = b"PAR1", b"ARROW1", b"FEA1"
STREAM_MAGIC = b"\xff\xff\xff\xff"  # start of a stream
INDEX_PREFIX = "__index_level_"  # of pandas index columns
UNKNOWN_CLASS = -1  # of unlabelled rows, as in the test sets of GLUE


def open_parquet(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """Columns and rows of a Parquet file; rows are numbered from 1.

    Raises BadFile if it is damaged or unpacks to too much.
    """

    def batches() -> Iterator[pa.RecordBatch]:
        texts = [f.name for f in schema if _is_text(f.type)]  # dictionaries, in case they repeat
        with _read(lines.path) as file, pq.ParquetFile(file, read_dictionary=texts) as table:
            _check_sizes(lines.path, table.metadata)
            total, done = max(table.metadata.num_rows, 1), 0
            for batch in table.iter_batches(BATCH_ROWS):
                done += len(batch)
                batch.validate(full=True)
                yield batch
                lines.tick(lines.size * done // total)

    with _read(lines.path) as file, pq.ParquetFile(file) as table:
        schema = _check_schema(table.schema_arrow)
    return _content(lines, schema, batches, remarks)


def open_arrow(lines: Lines, _reading: Reading, remarks: Remarks) -> Content:
    """Columns and rows of an Arrow file or stream; rows are numbered from 1. Raises BadFile."""

    def batches() -> Iterator[pa.RecordBatch]:
        with _read(lines.path) as file, _open_reader(file) as reader:
            batches = (
                map(reader.get_batch, range(reader.num_record_batches))
                if isinstance(reader, pa.RecordBatchFileReader)
                else reader
            )
            for batch in batches:
                if batch.nbytes > MAX_BATCH_BYTES:
                    raise _too_large_error(lines.path)
                batch.validate(full=True)
                for start in range(0, len(batch), BATCH_ROWS):
                    yield batch.slice(start, BATCH_ROWS)
                lines.tick(min(file.tell(), lines.size))

    with _read(lines.path) as file, _open_reader(file) as reader:
        schema = _check_schema(reader.schema)
    return _content(lines, schema, batches, remarks)


@contextmanager
def _read(path: Path) -> Iterator[Any]:
    """Open a file, converting errors of Arrow to BadFile.

    Arrow does not get a Python file: its threads may release the buffers during interpreter
    shutdown, which aborts the process.
    """
    with unpacked(path) as local_path, pa.OSFile(str(check_regular(local_path)), "rb") as file:
        try:
            yield file
        except READ_ERRORS as error:
            raise BadFile(
                path,
                phrase("it is damaged or incomplete, so its rows cannot be read."),
                phrase("Download or copy it again."),
            ) from error


def _check_schema(schema: pa.Schema) -> pa.Schema:
    """Return the schema. Raises ValueError if column names are not text."""
    assert len(schema.names) == len(schema)
    return schema


def _open_reader(file: Any) -> Any:
    start = file.read(8)
    file.seek(0)
    if start.startswith(ARROW_MAGIC):
        return pa.ipc.open_file(file)
    return pa.ipc.open_stream(file)


def _check_sizes(path: Path, metadata: pq.FileMetaData) -> None:
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for column in range(row_group.num_columns):
            if row_group.column(column).total_uncompressed_size > MAX_COLUMN_BYTES:
                raise _too_large_error(path)


def _too_large_error(path: Path) -> BadFile:
    return BadFile(
        path,
        phrase("a group of its rows unpacks to more than {size} GiB.", size=MAX_COLUMN_BYTES >> 30),
        phrase("Save it again with smaller groups of rows."),
    )


def _content(
    lines: Lines,
    schema: pa.Schema,
    batches: Callable[[], Iterator[pa.RecordBatch]],
    remarks: Remarks,
) -> Content:
    classes = _class_names(schema)
    selected = [n for n, field in enumerate(schema) if _is_supported(field, remarks)]
    if not selected:
        raise BadFile(
            lines.path,
            phrase("it has no columns with texts or numbers."),
            phrase("Choose another file."),
        )
    columns = unique_names([schema.field(n).name for n in selected], lines, remarks)

    def rows() -> Iterator[Row]:
        number = 0
        for batch in batches():
            cells = [
                _cells(batch.column(n), name, classes.get(schema.field(n).name), remarks, number)
                for n, name in zip(selected, columns, strict=True)
            ]
            for row in zip(*cells, strict=True):
                number += 1
                yield Row(number, row)

    def column_batches() -> Iterator[Batch]:
        number = 0
        for batch in batches():
            for part in _parts(batch.select(selected)):
                cells = [
                    _string_array(column, name, classes.get(schema.field(n).name), remarks, number)
                    for n, name, column in zip(selected, columns, part.columns, strict=True)
                ]
                yield Batch(np.arange(number + 1, number + 1 + len(part), dtype=np.int64), cells)
                number += len(part)

    if lines.head_only:
        return Content(columns, islice(rows(), BATCH_ROWS))
    return Content(columns, rows(), column_batches())


def _parts(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split batches whose texts would not fit in memory.

    A dictionary entry may be a long text that thousands of rows share.
    """
    if not len(batch):
        return
    if len(batch) > 1 and sum(map(_text_bytes, batch.columns)) > MAX_PART_BYTES:
        half = len(batch) // 2
        yield from _parts(batch.slice(0, half))
        yield from _parts(batch.slice(half))
    else:
        yield batch


def _text_bytes(column: Any) -> int:
    """Size of all texts of a column without dictionary encoding; 0 for other types."""
    if pa.types.is_dictionary(column.type) and _is_text(column.type.value_type):
        lengths = pc.binary_length(column.dictionary).cast(pa.int64()).take(column.indices)
    elif _is_text(column.type):
        lengths = pc.binary_length(column).cast(pa.int64())
    else:
        return 0
    return pc.sum(lengths).as_py() or 0


def _string_array(
    column: Any, name: str, classes: list[str] | None, remarks: Remarks, before: int
) -> "pa.Array[Any]":
    """Like `_cells`, but as an array; text columns without nulls are only cast."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    nulls = column.null_count
    if pa.types.is_dictionary(column.type):
        nulls += column.dictionary.null_count
    if _is_text(kind) and classes is None and not nulls:
        return cast("pa.Array[Any]", column.cast(kind).cast(pa.string()))
    return pa.array(_cells(column, name, classes, remarks, before), type=pa.string())


def _is_supported(field: "pa.Field[Any]", remarks: Remarks) -> bool:
    if field.name.startswith(INDEX_PREFIX):
        return False
    if _holds_bytes(field.type):
        remarks.add_note(
            phrase("The column “{name}” holds bytes and was left out.", name=field.name[:60])
        )
        return False
    return True


def _holds_bytes(kind: Any) -> bool:
    """True for binary data such as images and audio."""
    if pa.types.is_nested(kind):
        return any(_holds_bytes(kind.field(n).type) for n in range(kind.num_fields))
    if pa.types.is_dictionary(kind):
        return _holds_bytes(kind.value_type)
    checks = ("is_binary", "is_large_binary", "is_binary_view", "is_fixed_size_binary")
    return any(getattr(pa.types, check)(kind) for check in checks)


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _cells(
    column: "pa.Array[Any]", name: str, classes: list[str] | None, remarks: Remarks, before: int
) -> list[str]:
    """Cells of a column as text; `before` rows precede them."""
    values: list[Any]
    if pa.types.is_dictionary(column.type):
        entries = column.dictionary.to_pylist(maps_as_pydicts="lossy")  # type: ignore[attr-defined]
        indices = column.indices.to_pylist()  # type: ignore[attr-defined]
        values = [None if index is None else entries[index] for index in indices]
    else:
        values = column.to_pylist(maps_as_pydicts="lossy")  # the last value of a key, as in Parquet
    if column.null_count:
        first = values.index(None) if None in values else 0
        for number in range(column.null_count):
            remark = phrase("“{key}” is null, read as an empty cell", key=name)
            remarks.count(remark, before + first + 1 if number == 0 else before + 1)
    if classes is not None:
        values = [_class_name(value, classes) for value in values]
    if all(type(value) is str for value in values):
        return values
    return [_cell(value) for value in values]


def _class_name(value: Any, classes: list[str]) -> Any:
    if isinstance(value, list):
        return [_class_name(item, classes) for item in value]
    if type(value) is not int:
        return value
    if value == UNKNOWN_CLASS:
        return ""
    return classes[value] if 0 <= value < len(classes) else value


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return "" if value != value else repr(value)
        case datetime():
            return value.isoformat(sep=" ")
        case date() | time():
            return value.isoformat()
        case list() | dict() | tuple():
            return json.dumps(value, ensure_ascii=False, default=str)
        case _:
            return str(value)


def _class_names(schema: pa.Schema) -> dict[str, list[str]]:
    """Class names of each class column, from the JSON metadata of the `datasets` library."""
    try:
        metadata = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))
        features = metadata["info"]["features"]
        classes = {str(name): _feature_names(feature) for name, feature in features.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: names for name, names in classes.items() if names}


def _feature_names(feature: Any) -> list[str]:
    while isinstance(feature, list) or (isinstance(feature, dict) and "feature" in feature):
        feature = feature[0] if isinstance(feature, list) else feature["feature"]
    if not isinstance(feature, dict) or feature.get("_type") != "ClassLabel":
        return []
    names = feature.get("names", [])
    return names if all(isinstance(name, str) for name in names) else []


def recognise_parquet(_path: Path, start: bytes) -> Reading | None:
    return Reading(format=PARQUET.name) if start.startswith(PARQUET_MAGIC) else None


def recognise_arrow(path: Path, start: bytes) -> Reading | None:
    """Recognise an Arrow file, stream or Feather 2. Raises BadFile for Feather 1."""
    if start.startswith(FEATHER_MAGIC):
        raise BadFile(
            path,
            phrase("this is a Feather file of the first version, which is no longer read."),
            phrase("Save it as Parquet, or as Feather of the second version."),
        )
    is_arrow = start.startswith((ARROW_MAGIC, STREAM_MAGIC))
    return Reading(format=ARROW.name) if is_arrow else None


PARQUET = Format(
    "parquet", "Parquet", (".parquet", ".pq"), open_parquet, recognise=recognise_parquet, options=()
)
ARROW = Format(
    "arrow", "Arrow", (".arrow", ".feather"), open_arrow, recognise=recognise_arrow, options=()
)
