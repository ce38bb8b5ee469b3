"""`bert-studio estimate`: corrected proportions and means over machine-coded rows."""

import math
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

from engine.cli.options import AsJson, choice_option, with_options
from engine.cli.rows import READING, recognise_file, single_file
from engine.cli.stored import find_version
from engine.config.task import score_text
from engine.data.columns.periods import PERIODS
from engine.data.table_columns import TableColumns
from engine.errors import StudioError
from engine.files.table_files import TABLE_WRITERS, check_suffix, write_table
from engine.phrases import phrase
from engine.results.estimate_table import (
    EstimateRequest,
    EstimateRow,
    estimate_lines,
    estimate_table,
    random_rows,
)
from engine.results.intervals import Interval
from engine.system.terminal import echo, echo_error, echo_json


def estimate(
    file: Annotated[
        Path,
        typer.Argument(help="File with machine codes and hand codes, or a stored data set."),
    ],
    predicted: Annotated[str, typer.Option(help="Column with the machine codes of all rows.")],
    hand: Annotated[
        str, typer.Option(help="Column with the hand codes; other rows have an empty cell.")
    ],
    proportion_of: Annotated[
        str | None,
        typer.Option(
            help="Estimate the proportion of this label. The machine codes may be its "
            "probabilities. Default: the proportion of each label, or the mean of numbers."
        ),
    ] = None,
    mean: Annotated[bool, typer.Option("--mean", help="Estimate the mean of numbers.")] = False,
    by: Annotated[
        str | None,
        typer.Option(help="Column of dates or others: an estimate for each period, or each value."),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(help="Column with groups: an estimate for each, and the differences."),
    ] = None,
    sampling_probability: Annotated[
        str | None,
        typer.Option(
            help="Column with the probability with which each hand-coded row was drawn, if these "
            "differ."
        ),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(help="Column with the true codes, if known, to compare the estimates with."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the table: .csv, .tsv, .jsonl, .parquet or .xlsx."),
    ] = None,
    as_json: AsJson = False,
    **extra: Any,
) -> None:
    """Estimate proportions or means over machine-coded rows, corrected by rows coded by hand.

    Prints 95 % intervals, the estimates from the machine codes alone, and how many hand-coded rows
    would halve the interval.
    """
    if proportion_of is not None and mean:
        raise StudioError(
            "A proportion and a mean were asked for.", "Use --proportion-of or --mean."
        )
    if out is not None:
        check_suffix(out, TABLE_WRITERS)
    request = EstimateRequest(
        *(predicted, hand, proportion_of, mean, by, extra["period"], compare),
        *(sampling_probability, truth),
    )
    version = find_version(file)
    reading = None
    if version is None:
        file = single_file(file)
        reading = recognise_file(file, READING.select(extra), {}).reading
    given = TableColumns.open(version or file, reading)
    cells = given.read(request.columns, lambda: False)
    is_random = random_rows(given.coding, request.hand, len(cells[request.hand]))
    table = estimate_table(cells, request, is_random)
    lines = estimate_lines(table)
    if out is not None:
        rows = pa.Table.from_pylist(lines)
        write_table(out, rows.schema, [rows])
    for note in table.notes:
        echo_error(f"note: {note}")
    if as_json:
        echo_json({"estimates": lines, "notes": [str(note) for note in table.notes]})
        return
    for row in table.rows:
        echo(_sentence(row, table.is_share))
    if out is not None:
        echo(f"Written to {out}")


def _sentence(row: EstimateRow, is_share: bool) -> str:
    what = phrase("“{label}”", label=row.label) if row.label else phrase("mean")
    names = [row.period, row.group if row.minus is None else f"{row.group} − {row.minus}"]
    place = ", ".join(filter(None, names)) or str(phrase("all rows"))
    found, sign = row.estimate, "+" if row.minus is not None else ""
    text = phrase(
        "{place}, {what}: {corrected}; machine codes alone {naive}; {coded:,} of {rows:,} rows "
        "coded by hand",
        place=place,
        what=what,
        corrected=_format(found.corrected, is_share, sign),
        naive=score_text(found.naive.value, is_share, sign),
        coded=found.coded,
        rows=found.rows,
    )
    if not math.isnan(row.truth):
        value = score_text(row.truth, is_share, sign)
        text = phrase("{text}; true value {value}", text=text, value=value)
    if found.halving is not None:
        return str(phrase("{text}, {n:,} would halve the interval", text=text, n=found.halving))
    if row.minus is not None or math.isnan(found.variance) or found.coded == found.rows:
        return str(text)
    return str(phrase("{text}; coding all rows would not halve the interval", text=text))


def _format(figure: Interval, is_share: bool, sign: str) -> str:
    if math.isnan(figure.low):
        return str(phrase("unknown"))
    value, low, high = (score_text(end, is_share, sign) for end in figure)
    return str(phrase("{value} ({low} to {high})", value=value, low=low, high=high))


estimate_command = with_options(
    estimate,
    [
        choice_option("period", PERIODS, "month", "Length of the periods of --by."),
        *READING.parameters(),
    ],
)
