"""`bert-studio report`: the headless command that draws pictures as the window does."""

import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import StudioError
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.terminal import say

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication


def report(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    out: Annotated[Path, typer.Option(help="The file to write: .html or .pdf.")],
) -> None:
    """Write the report of a run with its pictures: scores, slices, mistakes, how to repeat it."""
    folder = RunFolder(run.absolute())
    folder.job()  # says what is wrong with the folder before Qt is loaded
    try:
        _make_application()
    except ImportError as error:  # a system library that Qt needs
        raise StudioError(
            phrase("The pictures of a report cannot be drawn here: {error}.", error=error),
            phrase("Install the library, or save the report in the window of another machine."),
        ) from error
    from app.using.report import write_report

    write_report(folder, out.absolute())
    say(f"Saved as {out}.")


@cache
def _make_application() -> "QApplication":
    """What Qt needs before anything can be drawn; on Linux no screen is needed, nor looked for."""
    from PySide6.QtWidgets import QApplication

    from app import resources

    there = QApplication.instance()
    if isinstance(there, QApplication):
        return there
    arguments = ["bert-studio"]
    if sys.platform == "linux":
        arguments += ["-platform", "offscreen"]
    app = QApplication(arguments)
    resources.load(app)
    return app
