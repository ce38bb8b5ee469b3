"""`bert-studio changes`: differences between two versions of a stored data set."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from engine.cli.options import AsJson, StoredPath
from engine.cli.stored import require_dataset
from engine.data.datasets.differences import RowDifference, count_differences, differences
from engine.data.datasets.store import Dataset, open_dataset
from engine.errors import StudioError
from engine.files.home import versions_in
from engine.files.table_files import TABLE_WRITERS, check_suffix, write_table
from engine.phrases import phrase
from engine.system.terminal import echo, echo_json

MAX_ROWS = 20  # printed
MAX_CHARACTERS = 60  # per printed cell
CHUNK_ROWS = 2_000  # converted at a time
FIELDS: list[tuple[str, pa.DataType]] = [
    ("change", pa.string()),
    ("line", pa.int64()),
    ("row_before", pa.int64()),
    ("row_after", pa.int64()),
    ("column", pa.string()),
    ("before", pa.string()),
    ("after", pa.string()),
]
SCHEMA = pa.schema(FIELDS)
SPLIT = "split"  # instead of a column name


def changes(
    data: StoredPath,
    since: Annotated[
        int | None,
        typer.Option(min=1, help="The older version. Default: the one that this was made from."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write every changed cell: .csv, .tsv, .jsonl, .parquet or .xlsx."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print the rows and cells that differ between a version and an older one.

    Name a version as in reviews/2; the default is the newest one. Row numbers start at 0.
    """
    if out is not None:
        check_suffix(out, TABLE_WRITERS)
    new = require_dataset(data)
    old = _open_older(new, since)
    rows = differences(old, new)
    if out is not None:
        write_table(out, SCHEMA, _tables(old, new, rows))
    facts = {
        "dataset": new.spec.name,
        "version": new.spec.version,
        "since": old.spec.version,
        "lineage": _lineage(new, old),
        **count_differences(rows)._asdict(),
    }
    if as_json:
        echo_json(
            facts
            | {
                "cells": _cells(old, new, rows[:MAX_ROWS]),
                "file": None if out is None else str(out),
            }
        )
        return
    for step in facts["lineage"]:
        echo(" ".join([_origin(step), *step["changes"]]))
    echo(
        f"{facts['changed']:,} rows changed, {facts['added']:,} added, {facts['removed']:,} removed"
    )
    echo(*map(_line, _cells(old, new, rows[:MAX_ROWS])))
    if len(rows) > MAX_ROWS:
        echo(f"… and {len(rows) - MAX_ROWS:,} more rows")
    if out is not None:
        echo(f"Every changed cell is written to {out}")


def _open_older(new: Dataset, since: int | None) -> Dataset:
    folder = new.folder.absolute().parent
    older = [n for n in versions_in(folder) if n < new.spec.version]
    number = since or new.spec.made_from or max(older, default=None)
    if number is None:
        raise StudioError(
            "Version {n} was imported from files, not made from a version.",
            "There is no older version to compare it with.",
            n=_number(new),
        )
    folder = folder / str(number)
    if not folder.is_dir():
        available = ", ".join(map(str, versions_in(folder.parent)))
        raise StudioError(
            "There is no version {n} of “{name}”.",
            "Its versions are {versions}.",
            n=number,
            name=new.spec.name,
            versions=available or _number(new),
        )
    return open_dataset(folder)


def _number(dataset: Dataset) -> str:
    return str(dataset.spec.version)


def _lineage(new: Dataset, old: Dataset) -> list[dict[str, Any]]:
    """Changes of each version after the older one, up to the newer one."""
    folder = new.folder.absolute().parent
    numbers = [n for n in versions_in(folder) if old.spec.version < n < new.spec.version]
    specs = [open_dataset(folder / str(n)).spec for n in numbers]
    specs += [new.spec] if old.spec.version < new.spec.version else []
    return [
        {"version": spec.version, "made_from": spec.made_from, "changes": list(spec.changes)}
        for spec in specs
    ]


def _origin(step: dict[str, Any]) -> str:
    if step["made_from"] is None:
        return phrase("Version {version} was imported.", version=step["version"])
    return phrase(
        "Version {version} was made from version {made_from}.",
        version=step["version"],
        made_from=step["made_from"],
    )


def _cells(old: Dataset, new: Dataset, rows: list[RowDifference]) -> list[dict[str, Any]]:
    """The changed cells of rows; all cells of a row that exists on one side only."""
    removed = _rows(old, [row.before for row in rows if row.after is None])
    added = _rows(new, [row.after for row in rows if row.before is None])
    cells: list[dict[str, Any]] = []
    for row in rows:
        sides: dict[str, tuple[str | None, str | None]] = {**row.cells}
        if row.split is not None:
            sides[SPLIT] = row.split
        kind = "changed"
        if row.before is None:
            kind, sides = "added", {name: (None, cell) for name, cell in next(added)}
        elif row.after is None:
            kind, sides = "removed", {name: (cell, None) for name, cell in next(removed)}
        facts = {"change": kind, "line": row.line, "row_before": row.before, "row_after": row.after}
        cells += [
            facts | {"column": name, "before": before, "after": after}
            for name, (before, after) in sides.items()
        ]
    return cells


def _rows(dataset: Dataset, numbers: list[int | None]) -> Iterator[list[tuple[str, str]]]:
    for row in dataset.take(np.array(numbers, dtype=np.int64)) if numbers else ():
        yield [(SPLIT, row["_split"]), *((name, row[name]) for name in dataset.spec.columns)]


def _tables(old: Dataset, new: Dataset, differences: list[RowDifference]) -> Iterator[pa.Table]:
    for first in range(0, len(differences), CHUNK_ROWS):
        rows = _cells(old, new, differences[first : first + CHUNK_ROWS])
        yield pa.Table.from_pylist(rows, schema=SCHEMA)


def _line(cell: dict[str, Any]) -> str:
    signs = {"added": "+", "removed": "-", "changed": "~"}
    row = cell["row_before"] if cell["row_after"] is None else cell["row_after"]
    texts = [" ".join(text.split()) for text in (cell["before"], cell["after"]) if text is not None]
    shown = [t if len(t) <= MAX_CHARACTERS else f"{t[:MAX_CHARACTERS]}…" for t in texts]
    return f"{signs[cell['change']]} row {row}, {cell['column']}: {' → '.join(shown)}"
