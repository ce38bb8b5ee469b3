"""Predict all rows of a file with a fine-tuned model."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from engine.cli import options
from engine.cli.progress import ProgressLine
from engine.cli.rows import INPUT_COLUMNS, READING, recognise_file, require_mapping, single_file
from engine.messages.applying import Apply, FileInput
from engine.messages.question import Working
from engine.system.terminal import echo, echo_error


def predict(
    file: Annotated[Path, typer.Argument(help="A file with a column of texts.")],
    model: options.Model,
    out: Annotated[
        Path, typer.Option(help="Output file: .csv, .tsv, .jsonl, .parquet, .xlsx, .conll or .npy.")
    ],
    max_length: options.MaxLength = None,
    batch_size: options.BatchSize = 32,
    precision: options.PrecisionOption = "exact",
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help=(
                "Add a column “unsure”: probability below this; of "
                "several labels or tags the least certain one counts."
            ),
        ),
    ] = None,
    raw: Annotated[
        bool,
        typer.Option(
            "--raw",
            help=(
                "CSV and TSV: write cells unchanged. Without it, cells that a spreadsheet would "
                "run as a formula get a leading apostrophe."
            ),
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Continue an interrupted prediction of the same file to the same output.",
        ),
    ] = False,
    **extra: Any,
) -> None:
    """Write every row of a file with all its columns and the predictions of a fine-tuned model.

    A prediction column whose name is already used gets the prefix “predicted_”. Unfinished
    predictions are cached next to the output file until it is complete.
    """
    from engine.applying.apply import apply
    from engine.applying.chunks import chunk_folder
    from engine.tasks.predicting import Predictor

    chosen = INPUT_COLUMNS.select(extra)
    file = single_file(file)
    recognition = recognise_file(file, READING.select(extra), chosen)
    mapping = require_mapping(file, recognition, chosen)
    predictor = Predictor(model, max_length, batch_size, precision == "exact")
    options.print_loading_notes(predictor.loading)
    options.print_precision(predictor.computed, precision)
    question = Apply(
        checkpoint=model.absolute(),
        given=FileInput(path=file.absolute(), reading=recognition.reading, mapping=mapping),
        out=out.absolute(),
        threshold=threshold,
        raw=raw,
        max_length=max_length,
        batch_size=batch_size,
        exact=precision == "exact",
        resume=resume,
    )
    try:
        with ProgressLine(sys.stderr) as line:
            done = apply(question, predictor, lambda working: line.draw(_progress_text(working)))
    except BaseException:
        if (cached := chunk_folder(question.out)).is_dir():
            echo_error(f"The predictions so far are in {cached.name}; add --resume to continue.")
        raise
    for note in done.notes:
        echo_error(f"note: {note}")
    unsure = "" if done.unsure is None else f", {done.unsure} of them unsure"
    echo(f"{done.rows} rows written to {out}{unsure}")


def _progress_text(working: Working) -> str:
    percent = f", {working.done / working.total:.0%}" if working.total else ""
    return f"{working.stage}{percent}"


predict_command = options.with_options(
    predict, [*READING.parameters(), *INPUT_COLUMNS.parameters()]
)
