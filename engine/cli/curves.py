"""Export the curves of runs for TensorBoard and MLflow, once or while they train."""

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from engine.cli.options import Runs
from engine.runs.curve_files import CurveFiles
from engine.runs.folder import RunFolder
from engine.runs.mlflow import MLflowFiles
from engine.runs.tensorboard import TensorBoardFiles
from engine.system.terminal import echo

FORMS: dict[str, type[CurveFiles]] = {"tensorboard": TensorBoardFiles, "mlflow": MLflowFiles}
FOLLOW_SECONDS = 2.0  # between updates


def export_curves(
    runs: Runs,
    to: Annotated[Path, typer.Option(help="The folder for TensorBoard or MLflow.")],
    form: Annotated[
        Literal["tensorboard", "mlflow"],
        typer.Option("--format", help="The program that reads the curves."),
    ] = "tensorboard",
    follow: Annotated[
        bool, typer.Option("--follow", help="Add new points until the runs have ended.")
    ] = False,
) -> None:
    """Write the curves of runs as TensorBoard files or MLflow runs.

    With --follow, points are added while a run trains, also after a resume.
    """
    folders = [RunFolder(folder.absolute()) for folder in runs]
    for run in folders:
        run.job()
    outputs = [FORMS[form](run, to.absolute()) for run in folders]
    if not follow:
        for files in outputs:
            files.write_all()
    while follow:
        ended = [not files.run.has_worker() for files in outputs]  # before the last lines are read
        for files, is_finished in zip(outputs, ended, strict=True):
            files.catch_up(is_finished)
        if all(ended):
            break
        time.sleep(FOLLOW_SECONDS)
    for files in outputs:
        echo(files.folder)
