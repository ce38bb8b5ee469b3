"""The program: the window, or with arguments one of the headless commands.

Nothing heavy is imported here before it is known what is asked for.
"""

import builtins
import gc
import os
import sys
from importlib import import_module

from engine.system.terminal import remark

NO_SCREEN = (
    "bert-studio: there is no display for the window. Use the headless commands instead: "
    "bert-studio tour shows all of them at work, bert-studio --help lists them."
)


COMMANDS = {  # beside those of the engine: they open the record, or draw
    "rebuild": "app.rebuilding:rebuild",
    "queue": "app.queueing:queue",
    "export-runs": "app.run_files:export_runs",
    "import-runs": "app.run_files:import_runs",
    "report": "app.reporting:report",
}


def main(arguments: list[str] | None = None) -> int:
    """Carry out a command line and give the exit code."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")  # it looks into each package for some
    given = sys.argv[1:] if arguments is None else arguments
    match given:
        case ["--engine-worker", *rest]:  # the packaged program starts itself as its worker
            return int(import_module("engine.worker.__main__").main(rest))
        case ["--queue-runner"]:
            return int(import_module("engine.record.runner").main())
        case []:
            return open_window()
        case _:
            return command(given)


def command(arguments: list[str]) -> int:
    """A headless command, of the engine or of the window's side."""
    return int(import_module("engine.cli").main(arguments, COMMANDS))


def has_screen() -> bool:
    """Whether Qt will find something to draw on."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)


def open_window() -> int:
    """Open the window of the user's home, or bring the one that is open to the front."""
    if not has_screen():
        remark(NO_SCREEN)
        return 1
    gc.disable()  # while modules are loaded, which leaves none; then app.shell.garbage takes over
    try:
        import_as_usual()
        from app.background import give_up
        from app.shell.opening import run_window
    except ImportError as error:  # a system library that Qt needs
        remark(
            f"bert-studio: the window cannot start: {error}. In a checkout, python dev.py installs "
            "what is missing; bert-studio --help lists what works without a window.",
        )
        return 1
    return give_up(run_window())


def import_as_usual() -> None:
    """Take off the import of PySide, which reads the source of every module that is loaded.

    It looks there for a wish to have other names for what Qt has, which is made nowhere here.
    """
    import_module("PySide6.QtCore")
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)


if __name__ == "__main__":
    sys.exit(main())
