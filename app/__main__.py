"""The program: the window, or a headless command if there are arguments.

Heavy modules are imported only after the arguments are known.
"""

import builtins
import gc
import os
import sys
from importlib import import_module

from engine.system.terminal import echo_error

NO_DISPLAY = (
    "bert-studio: there is no display for the window. Use the headless commands instead: "
    "bert-studio tour shows all of them at work, bert-studio --help lists them."
)


COMMANDS = {  # added to those of the engine; they need the record or charts
    "rebuild": "app.rebuilding:rebuild",
    "queue": "app.queueing:queue",
    "export-runs": "app.run_files:export_runs",
    "import-runs": "app.run_files:import_runs",
    "report": "app.reporting:report",
}


def main(arguments: list[str] | None = None) -> int:
    """Run a command line and return the exit code."""
    # pydantic searches every package for plugins
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "true")
    arguments = sys.argv[1:] if arguments is None else arguments
    match arguments:
        case ["--engine-worker", *rest]:  # the packaged program starts itself as its worker
            return int(import_module("engine.worker.__main__").main(rest))
        case ["--queue-runner"]:
            return int(import_module("engine.record.runner").main())
        case []:
            return open_window()
        case _:
            return run_command(arguments)


def run_command(arguments: list[str]) -> int:
    """Run a headless command of the engine or of the window."""
    return int(import_module("engine.cli").main(arguments, COMMANDS))


def has_display() -> bool:
    """Return True if there is a display for Qt."""
    names = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM")
    return sys.platform != "linux" or any(os.environ.get(name) for name in names)


def open_window() -> int:
    """Open the window of the user's home, or bring the running one to the front."""
    if not has_display():
        echo_error(NO_DISPLAY)
        return 1
    gc.disable()  # loading modules leaves no garbage; app.shell.garbage takes over later
    try:
        restore_import()
        from app.background import ensure_exit
        from app.shell.opening import run_window
    except ImportError as error:  # a system library of Qt is missing
        echo_error(
            f"bert-studio: the window cannot start: {error}. In a checkout, python dev.py installs "
            "what is missing; bert-studio --help lists what works without a window."
        )
        return 1
    return ensure_exit(run_window())


def restore_import() -> None:
    """Restore Python's import in place of PySide's, which reads the source of every module.

    PySide searches it for a request to switch naming styles, which this program never makes.
    """
    import_module("PySide6.QtCore")
    builtins.__import__ = getattr(builtins, "__orig_import__", builtins.__import__)


if __name__ == "__main__":
    sys.exit(main())
