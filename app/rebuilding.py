"""`bert-studio rebuild`: rebuild the record from the run folders."""

from typing import Annotated

import typer

from engine.files.home import Home
from engine.system.terminal import echo


def rebuild(
    set_aside: Annotated[
        bool,
        typer.Option(
            "--set-aside",
            help="Keep the present database under another name, even one of a newer version.",
        ),
    ] = False,
) -> None:
    """Rebuild the run database from the run folders.

    Names, notes and stars are kept if the old database or a backup of it can be read.
    """
    from engine.record.rebuild import rebuild as rebuild_record  # slow; only this command needs it

    home = Home()
    count = rebuild_record(home, set_aside)
    echo(f"The record in {home.root} has {count} runs.")
