"""`bert-studio export-data`: export a stored data set for other programs."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli.options import AsJson, StoredPath, Target, choice_option, with_options
from engine.cli.progress import ProgressLine
from engine.cli.stored import require_dataset
from engine.config.dataset import SplitName
from engine.data.writers import WRITERS
from engine.data.writers.export import Export
from engine.data.writers.writer import Writer, write_export
from engine.errors import StudioError
from engine.phrases import phrase
from engine.system.terminal import echo, echo_error, echo_json


def export_data(
    data: StoredPath,
    to: Annotated[
        Path,
        typer.Option(help="Output file, or a new folder; its suffix is the default format."),
    ],
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="<A,B,…>",
            help=(
                "Columns to write: those of the source, and row, line and split. Default: all. "
                "Texts, labels and tags are always part of formats of annotation tools."
            ),
        ),
    ] = None,
    part: Annotated[SplitName | None, typer.Option(help="Only the rows of one split.")] = None,
    per_split: Annotated[
        bool,
        typer.Option("--per-split", help="Write a folder with a file for each split."),
    ] = False,
    target: Target = None,
    as_json: AsJson = False,
    **extra: Any,
) -> None:
    """Export a stored data set as a table, or for annotation tools and other programs.

    A note says what the format cannot hold.
    """
    dataset = require_dataset(data).with_target(target)
    writer = _choose_writer(to, extra["format"])
    chosen = Export.choose(dataset, part or "all", columns.split(",") if columns else None)
    if note := writer.note(chosen, per_split):
        echo_error(f"note: {note}")
    with ProgressLine(sys.stderr) as line:
        chosen = chosen.with_progress(
            lambda done, total: line.draw(f"Writing: {done:,} of {total:,} rows")
        )
        write_export(chosen, writer, to, per_split)
    counts = {split: len(rows.rows) for split, rows in chosen.splits.items()}
    if as_json:
        echo_json({"file": str(to), "format": writer.name, "rows": counts, "note": note})
        return
    rows = ", ".join(f"{count:,} {split}" for split, count in counts.items())
    echo(f"{rows} rows written to {to}")


def _choose_writer(path: Path, name: str | None) -> Writer:
    """The named format, else the first one with the suffix of a path. Raises StudioError."""
    if name is not None:
        return WRITERS[name]
    fits = (w for w in WRITERS.values() if w.suffix and path.name.lower().endswith(w.suffix))
    longest = max(fits, key=lambda writer: len(writer.suffix), default=None)
    if longest is None:
        raise StudioError(
            "The suffix of {out} belongs to no format.",
            phrase("Choose one with --format: {names}.", names=", ".join(WRITERS)),
            out=path.name,
        )
    return longest


export_data_command = with_options(
    export_data,
    [choice_option("format", WRITERS, None, "The format. Default: that of the suffix. One of:")],
)
