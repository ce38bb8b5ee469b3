"""`bert-studio agreement`: agreement between the coders of a stored data set."""

import getpass
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from engine.cli.options import AsJson, StoredPath, Target
from engine.cli.stored import make_version, print_version, require_dataset
from engine.data.columns.coders import Codings
from engine.data.datasets.coding import RowCoding, read_coding
from engine.data.datasets.decisions import dataset_codings, majority_decisions
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import Dataset
from engine.errors import StudioError
from engine.files.table_files import TABLE_WRITERS, check_suffix, write_table
from engine.phrases import join, phrase
from engine.results.agreement import TITLES, AgreementRow, AgreementTable, agreement
from engine.results.intervals import Interval
from engine.system.terminal import echo, echo_json

MAX_LABELS = 20  # printed
BY_MAJORITY = "by majority"  # note on a decision
FIELDS: dict[str, pa.DataType] = {
    "part": pa.string(),
    "label": pa.string(),
    "coders": pa.string(),
    "rows": pa.int64(),
    "disputed": pa.int64(),
    "coefficient": pa.string(),
    "value": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
}
SCHEMA = pa.schema(FIELDS)


def agreement_command(
    data: StoredPath,
    coders: Annotated[
        str | None,
        typer.Option(
            metavar="<A,B,…>",
            help="Columns with the labels of the coders. Default: the coders of the data set.",
        ),
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            metavar="<A,B,…>",
            help="All labels from the lowest to the highest: adds weighted kappa and ordinal "
            "alpha. Labels that are numbers have their order.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write all figures: .csv, .tsv, .jsonl, .parquet or .xlsx."),
    ] = None,
    disputed: Annotated[
        Path | None,
        typer.Option(help="Write the rows on which coders disagree, with their notes."),
    ] = None,
    by_majority: Annotated[
        bool,
        typer.Option(
            "--by-majority",
            help="Make a version in which rows in dispute have their most frequent label, or the "
            "mean of numbers; print no agreement.",
        ),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the intervals.")] = 0,
    target: Target = None,
    as_json: AsJson = False,
) -> None:
    """Print the agreement between coders with 95 % intervals: overall, by label, by pair.

    Each coder has a column with labels. Row numbers start at 0.
    """
    for file in filter(None, (out, disputed)):
        check_suffix(file, TABLE_WRITERS)
    dataset = require_dataset(data).with_target(target)
    if by_majority:
        if coders or order or out or disputed:
            raise StudioError(
                "With --by-majority, no agreement is measured.",
                "Leave out --coders, --order, --out and --disputed, or use two commands.",
            )
        print_version(_decide(dataset), as_json)
        return
    codings = dataset_codings(dataset, tuple(coders.split(",")) if coders else ())
    if order is not None:
        codings = codings.in_order(order.split(","))
    table = agreement(codings, seed)
    if out is not None:
        lines = pa.Table.from_pylist([*_lines(table)], schema=SCHEMA)
        write_table(out, lines.schema, [lines])
    if disputed is not None:
        rows = _disputed_rows(dataset, codings, table.overall)
        write_table(disputed, rows.schema, [rows])
    if as_json:
        echo_json(
            {
                "coders": list(codings.coders),
                "kind": codings.kind,
                "overall": _facts(table.overall),
                "labels": {row.name: _facts(row) for row in table.labels},
                "pairs": [_facts(row) for row in table.pairs],
                "note": table.note,
            }
        )
        return
    echo(*_texts(join(", ", list(codings.coders)), table.overall))
    for row in table.labels[:MAX_LABELS]:
        echo(*_texts(f"“{row.name}”", row))
    if len(table.labels) > MAX_LABELS:
        echo(f"… and {len(table.labels) - MAX_LABELS:,} more labels")
    if table.note:
        echo(table.note)
    for row in table.pairs:
        echo(*_texts(join(", ", list(row.coders)), row))
    for file in filter(None, (out, disputed)):
        echo(f"Written to {file}")


def _decide(dataset: Dataset) -> Dataset:
    """Make a version with the decisions of the majority in the name of the user."""
    decisions = majority_decisions(dataset)
    (column,) = dataset.spec.mapping.label_columns
    cells = {row: {column: cell} for row, cell in decisions.items()}
    entry = RowCoding(coder=getpass.getuser(), at=datetime.now(UTC), note=BY_MAJORITY)
    coding = {row: {column: entry} for row in cells}
    edits = Edits(cells=cells, coding=coding)
    return make_version(dataset, partial(derive, dataset.folder, edits=edits))


def _lines(table: AgreementTable) -> Iterator[dict[str, Any]]:
    parts = {"overall": (table.overall,), "label": table.labels, "pair": table.pairs}
    for part, rows in parts.items():
        for row in rows:
            facts = {
                "part": part,
                "label": row.name,
                "coders": ", ".join(row.coders),
                "rows": row.coded,
                "disputed": len(row.disputed),
            }
            for name, figure in row.figures.items():
                yield facts | {"coefficient": name} | _interval_facts(figure)


def _facts(row: AgreementRow) -> dict[str, Any]:
    return {
        "coders": list(row.coders),
        "rows": row.coded,
        "disputed": len(row.disputed),
        **{name: _interval_facts(figure) for name, figure in row.figures.items()},
    }


def _interval_facts(figure: Interval) -> dict[str, float | None]:
    """A figure and its interval; null if undefined."""
    return {name: None if math.isnan(end) else end for name, end in figure._asdict().items()}


def _texts(name: str, row: AgreementRow) -> list[str]:
    if not row.coded:
        return [str(phrase("{name}: no row has labels of two coders", name=name))]
    figures = [f"  {TITLES[key]}: {_format(figure)}" for key, figure in row.figures.items()]
    return [f"{name}: {row.coded:,} rows, {len(row.disputed):,} disputed", *figures]


def _format(figure: Interval) -> str:
    if math.isnan(figure.value):
        return str(phrase("undefined, as all labels are the same"))
    return f"{figure.value:.4f} (95 % interval {figure.low:.4f} to {figure.high:.4f})"


def _disputed_rows(dataset: Dataset, codings: Codings, row: AgreementRow) -> pa.Table:
    """The rows in dispute: number, texts, the codes, and the note of each coder."""
    rows, mapping, coding = row.disputed, dataset.spec.mapping, read_coding(dataset.folder)
    columns: dict[str, Any] = {"row": pa.array(rows, pa.int64())}
    for name in (*mapping.texts, *codings.coders):
        columns[name] = dataset.column(name).take(rows)
    for name in codings.coders:
        entries = [coding.get(index, {}).get(name) for index in rows.tolist()]
        notes = [entry.note if entry else "" for entry in entries]
        if any(notes):
            columns[f"{name}: note"] = pa.array(notes, pa.string())
    return pa.table(columns)
