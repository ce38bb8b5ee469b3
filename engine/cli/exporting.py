"""Export a checkpoint to the format of another program."""

from pathlib import Path
from typing import Annotated

import typer

from engine.cli.options import ModelFolder
from engine.config.export import Form, Precision
from engine.files.home import Home
from engine.messages import now
from engine.messages.exporting import Export
from engine.phrases import phrase
from engine.runs.exports import ExportNote, log_export
from engine.system.terminal import echo, echo_error


def export(
    checkpoint: ModelFolder,
    to: Annotated[Path, typer.Option(help="A folder that does not exist yet.")],
    texts: Annotated[
        Path | None, typer.Option(help="Verify the export on the first rows of this file, too.")
    ] = None,
    form: Annotated[
        Form,
        typer.Option(
            "--format",
            help=phrase(
                "hf: Hugging Face with safetensors; tf1: Google's TensorFlow 1 files; onnx: a "
                "graph for programs without torch."
            ),
        ),
    ] = "hf",
    precision: Annotated[
        Precision,
        typer.Option(
            help=phrase(
                "Number format of the weights: float16 and bfloat16 with hf, int8 with onnx."
            )
        ),
    ] = "float32",
) -> None:
    """Export a checkpoint, reload it in a clean process, and compare the predictions.

    The folder is created only after the export has been verified; it contains a report.
    """
    from engine.export.exporting import REPORT_TEXT
    from engine.export.exporting import export as run_export

    done = run_export(
        Export(
            checkpoint=checkpoint.absolute(),
            into=to.absolute(),
            form=form,
            precision=precision,
            texts=None if texts is None else texts.absolute(),
        ),
        emit=lambda working: echo_error(f"{working.stage} …"),
    )
    entry = ExportNote(
        at=now(),
        checkpoint=checkpoint.absolute(),
        folder=done.folder,
        form=form,
        precision=precision,
    )
    log_export(Home(), entry)
    for note in done.report.notes:
        echo_error(f"note: {note}")
    for comparison in done.report.comparisons:
        echo(comparison.sentence())
    echo(f"{done.bytes / 1e6:.1f} MB written to {done.folder}; see {REPORT_TEXT} in it.")
