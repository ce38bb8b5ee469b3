"""Watchdog: reports if the GUI thread was blocked for more than a few milliseconds.

While pytest-qt runs an event loop, a timer fires every 30 ms; a late one means that a handler
blocked the loop. Mouse and key events sent by pytest-qt are handled before the call returns, so
these calls are measured as well. Other code of a test is not.

On a busy machine a thread may also wait for a CPU. Linux reports for how long (`schedstat`: time
running and time waiting, in ns), and for how long the host of a virtual machine took its CPUs away
(`steal`, proc(5)); both are subtracted, and so is the longest wait of another thread, which may
have held a lock. The rest is scaled to a quiet machine of 2026 by timing a fixed piece of work.
Stricter tests count the CPU time of the thread alone (`be_strict`).
"""

import faulthandler
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QRectF, Qt, QTimer
from PySide6.QtGui import QPainter, QPixmap
from pytestqt.qt_compat import qt_api
from pytestqt.qtbot import QtBot

BLOCKED = "the window's thread was blocked"  # error that pyproject.toml reruns
STAT = Path("/proc/stat")
TICK = 0.01  # s, the unit of these counters
LIMIT = 0.3  # s; far above the intended few milliseconds, since several tests run in parallel
BEAT = 30  # ms
QUIET = 0.0100  # s that `slowness` measures on a quiet machine
GESTURES = (
    *("mouseClick", "mouseDClick", "mouseMove", "mousePress", "mouseRelease"),
    *("keyClick", "keyClicks", "keyEvent", "keyPress", "keyRelease", "keySequence"),
)


class Watchdog:
    """Measures the intervals between turns of the event loop."""

    def __init__(self) -> None:
        self.blocked: list[str] = []
        self.limit = LIMIT  # s
        self._is_strict = False
        self._schedstat = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._thread = threading.get_ident()
        self._since: tuple[float, float] | None = None  # `_now` at the last beat
        self._stack = ""
        self._waits: dict[str, float] = {}  # of all threads, when `_stack` was saved
        self._stolen = 0.0  # `stolen_time` when the monitor last found the thread on time
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=BEAT)
        self._timer.timeout.connect(self._beat)
        self._stopped = threading.Event()
        self._monitor = threading.Thread(target=self._watch, daemon=True)

    def be_strict(self, limit: float) -> None:
        """Allow only `limit` seconds of the thread's own CPU time from now on."""
        self.limit, self._is_strict = limit * slowness(), True

    def start(self) -> None:
        self._timer.start()
        self._stolen = stolen_time()
        self._monitor.start()

    def stop(self) -> None:
        self._timer.stop()
        self._timer.deleteLater()
        self._stopped.set()
        self._monitor.join()

    @contextmanager
    def watching(self, parts: int = 1) -> Iterator[None]:
        """Measure the block, which may consist of several events."""
        outer, self._since, self._stack = self._since, self._now(), ""
        try:
            yield
        finally:
            now = self._check(parts)
            self._since = None if outer is None else now

    def _now(self) -> tuple[float, float]:
        """The clock, and the time to subtract."""
        clock = time.perf_counter()
        if self._is_strict:
            return clock, clock - time.thread_time()
        try:
            waited = int(self._schedstat.read_bytes().split()[1]) / 1e9
        except (OSError, IndexError):
            waited = 0.0  # not Linux
        return clock, waited

    def _beat(self) -> None:
        if self._since is not None:
            self._since, self._stack = self._check(1), ""

    def _check(self, parts: int) -> tuple[float, float]:
        """Record a block longer than the limit; returns `_now`."""
        assert self._since is not None
        clock, waited = now = self._now()
        blocked = (clock - self._since[0]) - (waited - self._since[1])
        limit = self.limit * parts
        if blocked <= limit:
            return now
        if not self._is_strict:
            blocked -= longest_wait_since(self._waits if self._stack else {})
            blocked -= stolen_time() - self._stolen
            limit *= slowness()
        if blocked > limit:
            stack = self._stack or "between two samples of the monitor\n"
            self.blocked.append(f"{blocked * 1000:.0f} ms, for instance in\n{stack}")
        return self._now()  # `slowness` took a while

    def _watch(self) -> None:
        """Save the stack of the thread while it is late."""
        while not self._stopped.wait(self.limit / 4):
            since = self._since
            late = since is not None and time.perf_counter() - since[0] > self.limit / 2
            if not late:
                self._stolen = stolen_time()
            elif not self._stack:
                self._waits = cpu_waits()
                self._stack = format_stack(self._thread)


def stolen_time() -> float:
    """Seconds for which the host took CPUs of this machine away; 0 if it is unknown."""
    try:
        with STAT.open("rb") as file:
            return int(file.readline().split()[8]) * TICK
    except OSError:
        return 0.0


def cpu_waits() -> dict[str, float]:
    """Seconds each thread of this process has waited for a CPU, by thread id."""
    result = {}
    for task in Path("/proc/self/task").glob("*"):
        with suppress(OSError, IndexError):  # the thread has ended
            result[task.name] = int((task / "schedstat").read_bytes().split()[1]) / 1e9
    return result


def longest_wait_since(before: dict[str, float]) -> float:
    """Longest CPU wait of another thread since `before`, in s; 0 if `before` is empty."""
    own_id = str(threading.get_native_id())
    now = cpu_waits() if before else {}
    return max((now[t] - before[t] for t in now.keys() & before.keys() - {own_id}), default=0.0)


def slowness() -> float:
    """Time to paint some texts relative to a quiet machine, at least 1.

    The slowest of several tries: sharing CPU caches slows in bursts.
    """
    page = QPixmap(400, 400)
    times = []
    for _ in range(8):
        start = time.thread_time()
        page.fill(Qt.GlobalColor.white)
        painter = QPainter(page)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for number in range(300):
            box = QRectF(number % 20 * 20, number // 20 * 20, 40, 20)
            painter.drawRoundedRect(box, 4, 4)
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{number:x}")
        painter.end()
        times.append(time.thread_time() - start)
    return max(1.0, max(times) / QUIET)


def format_stack(thread: int, frames: int = 6) -> str:
    """Innermost frames of a thread, last call last, and the last frame of all others.

    Frames are not stored: they would keep their variables alive, and a painter that outlives its
    paint event crashes the process.
    """
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        text = file.read()
    prefix = f"0x{thread:016x} "
    parts = [part.splitlines() for part in text.split("hread ") if part.startswith("0x")]
    result = next((lines for lines in parts if lines[0].startswith(prefix)), [])
    others = [lines[1] for lines in parts if lines is not result and len(lines) > 1]
    own_frames = [line for line in reversed(result[1 : 1 + frames]) if line]
    return "\n".join([*own_frames, "  other threads:", *others, ""])


@contextmanager
def watch_event_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watchdog]:
    """Watch every event loop and every gesture of pytest-qt in the block."""
    dog = Watchdog()
    run_loop = qt_api.exec

    def watched_loop(target: Any, *args: Any, **kwargs: Any) -> Any:
        with dog.watching():
            return run_loop(target, *args, **kwargs)

    def watch_gesture(gesture: Callable[..., Any], name: str) -> Callable[..., Any]:
        def perform(*args: Any, **kwargs: Any) -> Any:
            text = args[1] if name == "keyClicks" and len(args) > 1 else " "
            with dog.watching(max(1, len(text))):
                return gesture(*args, **kwargs)

        return perform

    monkeypatch.setattr(qt_api, "exec", watched_loop)
    for name in GESTURES:
        monkeypatch.setattr(QtBot, name, staticmethod(watch_gesture(getattr(QtBot, name), name)))
    dog.start()
    try:
        yield dog
    finally:
        dog.stop()


def is_off() -> bool:
    """True if times are meaningless: under a debugger or a profiler."""
    return sys.gettrace() is not None or bool(os.environ.get("BERT_STUDIO_NO_WATCHDOG"))
