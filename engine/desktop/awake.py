"""Keep the system awake while a run trains.

Linux: logind, or the screen saver service of the desktop if it refuses; macOS: caffeinate; Windows:
the execution state of a thread. The request ends with this process.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.desktop.bus import NoAnswer, call, connect
from engine.desktop.preferences import run_preferences

REASON = "A model is being trained"
PROGRAM = "BERT Studio"
CONTINUOUS, SYSTEM_REQUIRED = 0x80000000, 0x00000001  # flags of SetThreadExecutionState


class Awake:
    """Keeps the system awake from `hold` to `release`; both return at once, in any thread.

    `problem` is the reason why this is not possible here, once known.
    """

    def __init__(self) -> None:
        self.problem = ""
        self.is_held = False
        self._released = threading.Event()
        self._thread: threading.Thread | None = None

    def hold(self) -> None:
        """Inhibit sleep, unless already done, or not possible here."""
        if self._thread is None and not self.problem:
            self._released = threading.Event()
            self._thread = threading.Thread(target=self._keep, args=(self._released,), daemon=True)
            self._thread.start()

    def release(self) -> None:
        """Let the system sleep again."""
        if self._thread is not None:
            self._released.set()
            self._thread = None

    def _keep(self, released: threading.Event) -> None:
        try:
            undo = _inhibit()
        except (OSError, subprocess.SubprocessError) as error:
            self.problem = str(error)
            return
        self.is_held = True
        released.wait()
        undo()
        self.is_held = False


@contextmanager
def awake_while_training(settings: Path) -> Iterator[None]:
    """Keep the system awake during a block, if the preferences say so."""
    awake = Awake()
    if run_preferences(settings).keep_awake:
        awake.hold()
    try:
        yield
    finally:
        awake.release()


def _inhibit() -> Callable[[], object]:
    """Inhibit sleep; returns the function that undoes it. Raises OSError if not possible."""
    if sys.platform == "linux":
        try:
            return _inhibit_by_logind()
        except NoAnswer as refused:
            try:
                return _inhibit_by_desktop()
            except NoAnswer as error:
                raise NoAnswer(f"{refused}; {error}") from error
    if sys.platform == "darwin":
        command = ["caffeinate", "-i", "-w", str(os.getpid())]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL).kill
    if sys.platform == "win32":
        return _inhibit_by_thread()
    raise NoAnswer(f"no known method on {sys.platform}")


def _inhibit_by_logind() -> Callable[[], object]:
    """Take a lock of logind, which lasts while its file descriptor is open."""
    with connect("SYSTEM") as connection:
        (handle,) = call(
            connection,
            "org.freedesktop.login1",
            "/org/freedesktop/login1",
            "org.freedesktop.login1.Manager.Inhibit",
            "ssss",
            ("sleep:idle", PROGRAM, REASON, "block"),
        )
    undo: Callable[[], object] = handle.close
    return undo


def _inhibit_by_desktop() -> Callable[[], object]:
    """Take a lock of the desktop's service, which lasts while we are connected."""
    connection = connect("SESSION")
    try:
        call(
            connection,
            "org.freedesktop.ScreenSaver",
            "/org/freedesktop/ScreenSaver",
            "org.freedesktop.ScreenSaver.Inhibit",
            "ss",
            (PROGRAM, REASON),
        )
    except NoAnswer:
        connection.close()
        raise
    undo: Callable[[], object] = connection.close
    return undo


if sys.platform == "win32":

    def _inhibit_by_thread() -> Callable[[], object]:
        import ctypes

        kernel = ctypes.windll.kernel32
        if not kernel.SetThreadExecutionState(CONTINUOUS | SYSTEM_REQUIRED):
            raise NoAnswer("SetThreadExecutionState refused")
        return lambda: kernel.SetThreadExecutionState(CONTINUOUS)
