"""How fluent the window stays while a model is applied to a long file in the background.

    python benchmarks/applying_window.py WORK [--rows 1000000]

The window is offscreen, with its real workers. The starter with a head is applied to made-up texts
as “Apply to a file…” does it; meanwhile the window goes from page to page and types into Explore,
again and again. A timer that wants to ring every 5 ms tells how long the event loop was held:
the longest pause, and that which 99 % of the pauses do not exceed, first without and then with the
worker. On a busy machine both say little.
"""

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from applying import fine_tuned, texts
from PySide6.QtCore import QObject, QTimer
from PySide6.QtTest import QTest

from app.notices import Notices
from app.pages.explore.view import ExplorePage
from app.shell.opening import make_application
from app.studio import Studio
from app.using.applying_state import ApplyingState
from app.window import MainWindow
from engine.files.home import Home

EVERY = 5  # ms between two rings of the timer
BETWEEN = 150  # ms between two things that the user does
SETTLING = 8_000  # ms after the start, in which pages are made early
ALONE = 10.0  # s in which the window is used without the worker
PAGES = ("data", "runs", "explore", "models", "home")


class Pauses(QObject):
    """How much later than asked the event loop came, in ms."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[float] = []
        self._last = time.perf_counter()
        self._timer = QTimer(self)
        self._timer.setInterval(EVERY)
        self._timer.timeout.connect(self._ring)
        self._timer.start()

    def forget(self) -> None:
        self.found.clear()
        self._last = time.perf_counter()

    def sentence(self) -> str:
        found = np.array(self.found)
        return (
            f"{len(found):,} rings, longest pause {found.max():.0f} ms, "
            f"99 % below {np.quantile(found, 0.99):.1f} ms, {(found > 50).sum()} over 50 ms"
        )

    def _ring(self) -> None:
        now = time.perf_counter()
        self.found.append((now - self._last) * 1000 - EVERY)
        self._last = now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    work = asked.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    model, file = fine_tuned(work), texts(work / "window.csv", asked.rows)
    app = make_application([])
    home = Home(work / "home")
    home.make()
    studio = Studio.open(home, Notices())
    window = MainWindow(studio)
    window.resize(1280, 800)
    window.show()
    window.begin()
    QTest.qWait(SETTLING)
    for _ in range(2):
        used(window)
    pauses = Pauses()
    end = time.perf_counter() + ALONE
    while time.perf_counter() < end:
        used(window)
    print(f"alone: {pauses.sentence()}", flush=True)

    state = ApplyingState(studio, model, "Starter", "text_classification", window)
    state.open(file)
    while state.first is None:
        QTest.qWait(BETWEEN)
        if state.problem is not None:
            sys.exit(f"{state.problem.problem} {state.problem.advice}")
    state.set_form(".parquet")
    began = time.perf_counter()
    state.start()
    pauses.forget()
    while state.is_running:
        used(window)
    seconds = time.perf_counter() - began
    if state.applied is None:
        sys.exit(str(state.problem))
    print(
        f"while {state.applied.rows:,} rows are predicted in {seconds:.0f} s: {pauses.sentence()}"
    )
    window.close()
    studio.close()
    app.processEvents()


def used(window: MainWindow) -> None:
    """Go once through the pages, and type a word into Explore."""
    for page in PAGES:
        window.go(page)
        QTest.qWait(BETWEEN)
    window.go("explore")
    explore = window.pages["explore"]
    assert isinstance(explore, ExplorePage)
    explore.text.clear()
    for letter in "fluent":
        QTest.keyClicks(explore.text, letter)
        QTest.qWait(BETWEEN // 5)


if __name__ == "__main__":
    main()
