"""Write rows as a table for other programs: CSV, TSV, JSON Lines, Parquet, Excel.

Rows come as Arrow tables, a few thousand at a time, and are never all in memory. Files are
written atomically. Texts that a spreadsheet would run as formulas are escaped.
"""

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from engine.errors import StudioError
from engine.files.atomic_write import atomic_file
from engine.files.spreadsheet import escape_cell
from engine.phrases import phrase

BATCH_ROWS = 2_000  # rows that are Python objects at a time
EXCEL_ROWS = 1_048_575  # below the header
EXCEL_COLUMNS = 16_384
EXCEL_CHARACTERS = 32_767  # of a cell

Tables = Iterable[pa.Table]


def write_table(path: Path, schema: pa.Schema, tables: Tables, raw: bool = False) -> None:
    """Write the rows of all `tables`, which have this schema, in the format of the suffix of
    `path`.

    Lists and structs are nested in JSON Lines and Parquet, and are JSON in a cell elsewhere. With
    `raw`, cells of CSV and TSV are not escaped.

    Raises StudioError if the suffix is unknown, the rows do not fit into the format, or writing
    fails.
    """
    write = TABLE_WRITERS[check_suffix(path, TABLE_WRITERS)]
    with atomic_file(path, shared=True) as file:
        write(file, schema, tables, raw)


def check_suffix(path: Path, suffixes: Iterable[str]) -> str:
    """The suffix of `path` in lower case. Raises StudioError if it is none of `suffixes`."""
    if path.suffix.lower() not in (allowed := list(suffixes)):
        raise StudioError(
            "The name {out} ends with none of {suffixes}.",
            "Choose one of them.",
            out=path.name,
            suffixes=", ".join(allowed),
        )
    return path.suffix.lower()


def iter_records(tables: Tables) -> Iterator[dict[str, Any]]:
    """Every row by column name; numbers that are not finite become None."""
    for table in tables:
        for first in range(0, table.num_rows, BATCH_ROWS):
            for row in table.slice(first, BATCH_ROWS).to_pylist():
                yield {name: _finite(value) for name, value in row.items()}


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def format_cell(value: Any) -> Any:
    """Format lists, dicts and booleans as JSON."""
    is_json = isinstance(value, list | dict | bool)
    return json.dumps(value, ensure_ascii=False) if is_json else value


def _write_delimited(delimiter: str) -> "Writer":
    # TSV has every cell in quotes, as readers take only some quotes for a part of the text
    quoting: Literal[0, 1] = csv.QUOTE_ALL if delimiter == "\t" else csv.QUOTE_MINIMAL

    def write(file: Path, schema: pa.Schema, tables: Tables, raw: bool) -> None:
        with open(file, "w", encoding="utf-8", newline="") as out:
            writer = csv.writer(  # noqa: TID251 - cells are escaped here
                out, delimiter=delimiter, quoting=quoting
            )
            writer.writerow(schema.names if raw else map(escape_cell, schema.names))
            for row in iter_records(tables):
                cells = map(format_cell, row.values())
                writer.writerow(cells if raw else map(escape_cell, cells))

    return write


def _write_lines(file: Path, _: pa.Schema, tables: Tables, __: bool) -> None:
    with open(file, "w", encoding="utf-8", newline="\n") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in iter_records(tables))


def _write_parquet(file: Path, schema: pa.Schema, tables: Tables, _: bool) -> None:
    with pq.ParquetWriter(file, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


def _write_excel(file: Path, schema: pa.Schema, tables: Tables, _: bool) -> None:
    """Write one sheet with its first row frozen. Texts are never interpreted."""
    from xlsxwriter import Workbook

    if len(schema) > EXCEL_COLUMNS:
        raise _size_error(
            phrase("There are {count:,} columns, more than a sheet holds.", count=len(schema))
        )
    options = {
        "constant_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    with Workbook(file, options) as book:
        sheet = book.add_worksheet()
        sheet.freeze_panes(1, 0)
        _write_excel_row(sheet, 0, schema.names, schema.names)
        for number, row in enumerate(iter_records(tables), 1):
            if number > EXCEL_ROWS:
                raise _size_error(
                    phrase(
                        "There are more than {rows:,} rows, which is all that a sheet holds.",
                        rows=EXCEL_ROWS,
                    )
                )
            _write_excel_row(sheet, number, list(row.values()), schema.names)


def _write_excel_row(sheet: Any, number: int, cells: Sequence[Any], names: Sequence[str]) -> None:
    for column, cell in enumerate(cells):
        if isinstance(cell, list | dict):
            cell = format_cell(cell)
        if isinstance(cell, str) and len(cell) > EXCEL_CHARACTERS:
            raise _size_error(
                phrase(
                    "The text in row {row}, column “{column}”, has {count:,} characters, and a "
                    "cell holds {most:,}.",
                    row=number,
                    column=names[column],
                    count=len(cell),
                    most=EXCEL_CHARACTERS,
                )
            )
        if isinstance(cell, bool):
            sheet.write_boolean(number, column, cell)
        elif isinstance(cell, int | float):
            sheet.write_number(number, column, cell)
        elif cell:
            sheet.write_string(number, column, cell)


def _size_error(why: str) -> StudioError:
    return StudioError(
        "The rows do not fit into an Excel file. {why}", "Choose CSV or Parquet.", why=why
    )


Writer = Callable[[Path, pa.Schema, Tables, bool], None]
TABLE_WRITERS: dict[str, Writer] = {
    ".csv": _write_delimited(","),
    ".tsv": _write_delimited("\t"),
    ".jsonl": _write_lines,
    ".parquet": _write_parquet,
    ".xlsx": _write_excel,
}
