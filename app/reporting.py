"""`bert-studio report`: the report of a run, with figures drawn as in the window."""

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.cli.options import Runs
from engine.desktop.preferences import run_preferences
from engine.errors import StudioError
from engine.files.home import Home
from engine.results.several import ComparedRun
from engine.runs.folder import RunFolder
from engine.system.terminal import echo

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication


def report(
    runs: Runs,
    out: Annotated[Path, typer.Option(help="The file to write: .html or .pdf.")],
) -> None:
    """Write the report of a run with its pictures: scores, slices, mistakes, how to reproduce it.

    For several runs: their settings, curves, scores with intervals and tests against the first one,
    environments.
    """
    folders = [RunFolder(run.absolute()) for run in runs]
    jobs = [folder.job() for folder in folders]  # reports problems before Qt is loaded
    try:
        _make_application()
    except ImportError as error:  # a system library of Qt is missing
        raise StudioError(
            "The pictures of a report cannot be drawn here: {error}.",
            "Install the library, or save the report in the window of another machine.",
            error=error,
        ) from error
    from app.using.report import gather, gather_comparison, write_report

    compared = [
        ComparedRun(str(folder.path), job.name, folder.path)
        for folder, job in zip(folders, jobs, strict=True)
    ]
    signature = run_preferences(Home().settings)
    write_report(
        lambda: gather_comparison(compared) if folders[1:] else gather(folders[0]),
        out.absolute(),
        signature,
    )
    echo(f"Saved as {out}.")


@cache
def _make_application() -> "QApplication":
    """The application, needed for drawing; on Linux without a display."""
    from PySide6.QtWidgets import QApplication

    from app import resources

    existing = QApplication.instance()
    if isinstance(existing, QApplication):
        return existing
    arguments = ["bert-studio"]
    if sys.platform == "linux":
        arguments += ["-platform", "offscreen"]
    app = QApplication(arguments)
    resources.load(app)
    return app
