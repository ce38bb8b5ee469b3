"""How fluent the window stays while a large table is imported, scrolled, searched and sorted.

    python benchmarks/importing_window.py WORK [--rows 1000000]

The window is offscreen and real. A CSV as that of `importing.py` is opened on the Data page, whose
rows are counted and checked, imported, scrolled to and fro, searched, sorted and filtered. A timer
that wants to ring every 5 ms tells how long the event loop was held in each part, by the clock and
by the processor time of the window's thread alone, which other programs disturb little. Where it
was held for more than 50 ms, its stack at that moment is printed.
"""

import argparse
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from applying_window import Pauses
from importing import write_rows
from PySide6.QtCore import QTimer
from PySide6.QtTest import QTest

from app.notices import Notices
from app.pages.data.dataset.state import Query
from app.pages.data.view import DataPage
from app.shell.opening import make_application
from app.studio import Studio
from app.window import MainWindow
from engine.files.home import Home

SETTLING = 8_000  # ms after the start, in which pages are made early
BETWEEN = 30  # ms between two things that the user does
HELD = 0.05  # s
DEPTH = 6  # functions of a stack
LONGEST = 600.0  # s that a part may take
BAR = 100  # ms that scrolling, searching, sorting and filtering may hold the window


class Watch(threading.Thread):
    """How long the window's thread computed between two rings, in ms, and its stack meanwhile."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.main = threading.get_ident()
        self.found: list[float] = []
        self._last = time.thread_time()
        self.rung = time.perf_counter()
        self.seen: dict[str, int] = {}
        self.timer = QTimer()
        self.timer.setInterval(5)
        self.timer.timeout.connect(self._ring)
        self.timer.start()

    def forget(self) -> None:
        self.found.clear()
        self.seen.clear()
        self._last = time.thread_time()

    def sentence(self) -> str:
        found = np.array(self.found)
        return f"it computed for {found.max():.0f} ms at most, {(found > 50).sum()} over 50 ms"

    def _ring(self) -> None:
        now = time.thread_time()
        self.found.append((now - self._last) * 1000)
        self.rung, self._last = time.perf_counter(), now

    def run(self) -> None:
        while True:
            time.sleep(0.01)
            if time.perf_counter() - self.rung <= HELD:
                continue
            places, frame = list[str](), sys._current_frames().get(self.main)
            while frame is not None and len(places) < DEPTH:
                places.append(f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
                frame = frame.f_back
            frame = None  # what is held of a painter would be held with it
            place = " < ".join(places)
            self.seen[place] = self.seen.get(place, 0) + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    asked = parser.parse_args()
    work = asked.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    file = work / f"rows-{asked.rows}.csv"
    if not file.exists():
        write_rows(file, asked.rows)
    app = make_application([])
    home = Home(work / f"home-{os.getpid()}")
    home.make()
    studio = Studio.open(home, Notices())
    window = MainWindow(studio)
    window.resize(1280, 800)
    window.show()
    window.begin()
    QTest.qWait(SETTLING)
    window.go("data")
    page = window.pages["data"]
    assert isinstance(page, DataPage)
    pauses, watch = Pauses(), Watch()
    watch.start()

    longest = dict[str, float]()  # ms, of each part

    def part(name: str, until: Callable[[], object], act: Callable[[], object] | None) -> None:
        pauses.forget()
        watch.forget()
        end = time.perf_counter() + LONGEST
        while not until() and time.perf_counter() < end:
            if act is not None:
                act()
            QTest.qWait(BETWEEN)
        longest[name] = max(pauses.found)
        print(f"{name}: {pauses.sentence()}; {watch.sentence()}", flush=True)
        for place, times in sorted(watch.seen.items(), key=lambda one: -one[1])[:4]:
            print(f"    {times} × {place}", flush=True)

    state = page.importing.state
    page.import_from([file])
    part("opening and counting", lambda: state.count.found is not None, None)
    if state.obstacle():
        sys.exit(state.obstacle())
    state.start_import()
    part("importing", lambda: page.dataset is not None, None)
    view = page.dataset
    assert view is not None

    def shown() -> int:
        return len(view.state.numbers) if view.table.model() is not None else 0

    part("opening the data set", lambda: shown() == asked.rows, None)
    bar, steps = view.table.verticalScrollBar(), iter(range(120))

    def scroll() -> None:
        bar.setValue((bar.value() + bar.maximum() * 37 // 100) % max(bar.maximum(), 1))

    part("scrolling", lambda: next(steps, None) is None, scroll)
    view.search.setText("word2999")
    part("searching", lambda: 0 < shown() < asked.rows, None)
    view.search.clear()
    part("taking it back", lambda: shown() == asked.rows, None)

    def sort(column: str) -> None:
        clicks = iter([view.model.section_of(column)])
        header = view.table.horizontalHeader()

        def click() -> None:
            for section in clicks:
                header.sectionClicked.emit(section)

        def is_sorted() -> bool:
            orders = view.state.orders
            return bool(orders) and orders[0].column == column and not view.state.is_seeking

        part(f"sorting by {column}", is_sorted, click)

    sort("text")
    sort("label")
    steps = iter(range(40))
    part("scrolling what is sorted", lambda: next(steps, None) is None, scroll)
    view.state.seek(Query("", None, "neutral", None))
    part("filtering", lambda: 0 < shown() < asked.rows, None)
    begun = ("opening and counting", "importing", "opening the data set")
    used = [name for name in longest if name not in begun]
    worst = max(used, key=longest.__getitem__)
    held, most = "held" if longest[worst] <= BAR else "not held", f"{longest[worst]:.0f} ms"
    print(f"bar of {BAR} ms once the page is open: {held}; longest pause {most} ({worst})")
    window.close()
    studio.close()
    app.processEvents()


if __name__ == "__main__":
    main()
