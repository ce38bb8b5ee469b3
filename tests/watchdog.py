"""Tells when the window's thread was blocked: nothing there may take more than a few milliseconds.

While pytest-qt runs an event loop, a timer beats every 10 ms; a late beat means that some handler
held the loop. Mouse and keyboard events that pytest-qt sends are handled before the call returns,
so their calls are measured as well. What a test does outside of these is its own affair.

On a busy machine a thread may also wait for a processor. Linux says how long it did
(`schedstat`: time on a processor, time waiting for one, in ns), and how long the host of a virtual
machine gave its processors to others (`steal`, proc(5)); both parts are taken off, and so is the
longest wait of another thread meanwhile, since that one may have held what this one needed. What
is late then is held against a quiet machine of 2026: a fixed piece of work tells how much slower
this one is. A test that is stricter than that counts only the time that the thread itself worked
(`be_strict`).
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

BLOCKED = "the window's thread was blocked"  # whose errors pyproject.toml has run again
STAT = Path("/proc/stat")
TICK = 0.01  # s, as Linux counts there
LIMIT = 0.3  # s; far above the few milliseconds that are wanted: several tests run at a time
BEAT = 10  # ms
QUIET = 0.0100  # s that `slowness` needs on a quiet machine
GESTURES = (
    *("mouseClick", "mouseDClick", "mouseMove", "mousePress", "mouseRelease"),
    *("keyClick", "keyClicks", "keyEvent", "keyPress", "keyRelease", "keySequence"),
)


class Watchdog:
    """Measures the stretches in which the event loop ran and did not come round."""

    def __init__(self) -> None:
        self.blocked: list[str] = []
        self.limit = LIMIT  # s
        self._is_strict = False
        self._schedstat = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._thread = threading.get_ident()
        self._since: tuple[float, float] | None = None  # times at the last beat: `_now`
        self._stack = ""
        self._waits: dict[str, float] = {}  # of all threads, when `_stack` was kept
        self._timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=BEAT)
        self._timer.timeout.connect(self._beat)
        self._over = threading.Event()
        self._witness = threading.Thread(target=self._look, daemon=True)

    def be_strict(self, limit: float) -> None:
        """From now on allow only `limit` seconds, of the thread's own work."""
        self.limit, self._is_strict = limit * slowness(), True

    def start(self) -> None:
        self._timer.start()
        self._witness.start()

    def stop(self) -> None:
        self._timer.stop()
        self._timer.deleteLater()
        self._over.set()
        self._witness.join()

    @contextmanager
    def watching(self, parts: int = 1) -> Iterator[None]:
        """Measure from here to the end of the block; it may consist of several events."""
        outer, self._since, self._stack = self._since, self._now(), ""
        try:
            yield
        finally:
            self._judge(parts)
            self._since = None if outer is None else self._now()

    def _now(self) -> tuple[float, float]:
        """The clock, and of all time the part that counts for nothing."""
        clock = time.perf_counter()
        if self._is_strict:
            return clock, clock - time.thread_time()
        try:
            waited = int(self._schedstat.read_bytes().split()[1]) / 1e9 + stolen()
        except (OSError, IndexError):
            waited = 0.0  # another system
        return clock, waited

    def _beat(self) -> None:
        if self._since is not None:
            self._judge(1)
            self._since, self._stack = self._now(), ""

    def _judge(self, parts: int) -> None:
        assert self._since is not None
        clock, waited = self._now()
        held = (clock - self._since[0]) - (waited - self._since[1])
        limit = self.limit * parts
        if held > limit and not self._is_strict:
            held -= longest_wait_since(self._waits if self._stack else {})
            limit *= slowness()
        if held > limit:
            where = self._stack or "between two looks of the witness\n"
            self.blocked.append(f"{held * 1000:.0f} ms, for instance in\n{where}")

    def _look(self) -> None:
        """Keep the stack of a thread that is late, while it is: afterwards nobody knows it."""
        while not self._over.wait(self.limit / 4):
            since = self._since
            late = since is not None and time.perf_counter() - since[0] > self.limit / 2
            if late and not self._stack:
                self._waits = waits()
                self._stack = stack_of(self._thread)


def stolen() -> float:
    """Seconds for which the host had given processors of this machine to others."""
    with STAT.open("rb") as file:
        return int(file.readline().split()[8]) * TICK


def waits() -> dict[str, float]:
    """Seconds for which each thread of this process has waited for a processor, by its number."""
    found = {}
    for task in Path("/proc/self/task").glob("*"):
        with suppress(OSError, IndexError):  # it has ended meanwhile
            found[task.name] = int((task / "schedstat").read_bytes().split()[1]) / 1e9
    return found


def longest_wait_since(before: dict[str, float]) -> float:
    """Seconds; 0 where nothing is known of before."""
    own = str(threading.get_native_id())
    now = waits() if before else {}
    return max((now[t] - before[t] for t in now.keys() & before.keys() - {own}), default=0.0)


def slowness() -> float:
    """How many times as long as on a quiet machine the painting of some texts takes now: 1 or more.

    The slowest of some goes: who shares the processor's memory with others is slowed by fits.
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


def stack_of(thread: int, frames: int = 6) -> str:
    """The innermost frames of another thread, the last call last, and the last of all others.

    The frames themselves are not touched: who holds one keeps its variables alive, and a painter
    that outlives its paint event ends the process.
    """
    with tempfile.TemporaryFile("w+") as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        text = file.read()
    head = f"0x{thread:016x} "
    parts = [part.splitlines() for part in text.split("hread ") if part.startswith("0x")]
    found = next((lines for lines in parts if lines[0].startswith(head)), [])
    others = [lines[1] for lines in parts if lines is not found and len(lines) > 1]
    own = [line for line in reversed(found[1 : 1 + frames]) if line]
    return "\n".join([*own, "  other threads:", *others, ""])


@contextmanager
def on_guard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watchdog]:
    """A watchdog over every event loop and every gesture of pytest-qt in the block."""
    dog = Watchdog()
    run_loop = qt_api.exec

    def watched_loop(thing: Any, *rest: Any, **named: Any) -> Any:
        with dog.watching():
            return run_loop(thing, *rest, **named)

    def watched(gesture: Callable[..., Any], name: str) -> Callable[..., Any]:
        def perform(*given: Any, **named: Any) -> Any:
            text = given[1] if name == "keyClicks" and len(given) > 1 else " "
            with dog.watching(max(1, len(text))):
                return gesture(*given, **named)

        return perform

    monkeypatch.setattr(qt_api, "exec", watched_loop)
    for name in GESTURES:
        monkeypatch.setattr(QtBot, name, staticmethod(watched(getattr(QtBot, name), name)))
    dog.start()
    try:
        yield dog
    finally:
        dog.stop()


def is_off() -> bool:
    """Whether times mean nothing here: under a debugger, or a profiler."""
    return sys.gettrace() is not None or bool(os.environ.get("BERT_STUDIO_NO_WATCHDOG"))
