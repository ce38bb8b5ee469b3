"""Code that one action of the user runs on the GUI thread: calls, files, changes of file.

    python benchmarks/walks.py [start …]

Each walk opens what it needs offscreen and yields; `measure` counts the calls into `app` and
`engine` until it returns.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

Walk = Callable[[Path], Iterator[None]]


class Steps(NamedTuple):
    """Counts of one walk."""

    calls: int
    files: int
    changes: int  # of the file, from one call to the next


def measure(act: Callable[[], object]) -> Steps:
    """Count the calls of Python functions of the product while `act` runs."""
    roots = tuple(f"{PROJECT / name}{os.sep}" for name in ("app", "engine"))
    files: list[str] = []

    def on_event(frame, event, _):  # type: ignore[no-untyped-def]
        if event == "call" and frame.f_code.co_filename.startswith(roots):
            files.append(frame.f_code.co_filename)

    sys.setprofile(on_event)
    try:
        act()
    finally:
        sys.setprofile(None)
    changes = sum(before != after for before, after in pairwise(files))
    return Steps(len(files), len(set(files)), changes)


def wait_until(is_done: Callable[[], bool], seconds: float = 20) -> None:
    from PySide6.QtTest import QTest

    end = time.monotonic() + seconds
    while not is_done():
        assert time.monotonic() < end, "timed out"
        QTest.qWait(10)


def start(home: Path) -> Iterator[None]:
    """Press Start in the last step of the wizard: pre-training from scratch on the sample."""
    from app.notices import Notices
    from app.pages.train.choices import Goal, Step
    from app.pages.train.view import TrainPage
    from app.studio import Studio
    from engine.files.home import Home

    place = Home(home)
    place.make()
    studio = Studio.open(place, Notices())
    page = TrainPage(studio)
    page.show()
    page.requests.load_sample()
    wait_until(lambda: page.state.choices.data is not None)
    page.state.choose_goal(Goal("pretraining", from_scratch=True))
    page._go(Step.REVIEW)
    wait_until(lambda: not page.state.preview.is_reading)
    yield
    page.next.click()
    yield
    page.close()
    studio.close()


def edit(home: Path) -> Iterator[None]:
    """Type a character in Explore, until the attention of all heads is painted."""
    from PySide6.QtCore import QEvent, QObject, Qt
    from PySide6.QtTest import QTest

    from app.notices import Notices
    from app.studio import Studio
    from app.window import MainWindow
    from engine.files.home import Home
    from engine.files.shipped import starter_model

    place = Home(home)
    place.make()
    studio = Studio.open(place, Notices())
    window = MainWindow(studio)
    window.resize(1400, 900)
    window.show()
    window.begin()
    model = starter_model()
    text = "The president spoke to the people of the United States."
    window.go("explore", {"model": str(model), "text": text})
    page: Any = window.pages["explore"]
    wait_until(lambda: page.state.first.checkpoint == model and page.state.is_settled)
    page.bench.show_panel("attention")
    panel = page.panels["attention"]
    maps = panel._state.maps
    wait_until(lambda: maps.thumbnails is not None and not maps.query.is_waiting)
    page.text.setFocus()
    QTest.qWait(3_000)  # timers run out
    before = maps.thumbnails

    class Painted(QObject):
        is_done = False

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            is_new = maps.thumbnails is not before and maps.tokens == page.state.first.tokens
            self.is_done = self.is_done or (event.type() == QEvent.Type.Paint and is_new)
            return False

    painted = Painted()
    panel.overview.grid.installEventFilter(painted)
    yield
    QTest.keyClick(page.text, Qt.Key.Key_S)
    wait_until(lambda: painted.is_done)
    yield
    window.close()
    studio.close()


WALKS: dict[str, Walk] = {"start": start, "edit": edit}


def main() -> None:
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    from PySide6.QtWidgets import QApplication

    from app import theme

    application = QApplication([])
    theme.apply(application, "light")
    for name in sys.argv[1:] or WALKS:
        with tempfile.TemporaryDirectory(prefix="bert-studio-walk-") as folder:
            walk = WALKS[name](Path(folder))
            next(walk)
            steps = measure(lambda walk=walk: next(walk))  # type: ignore[misc]
            next(walk, None)
        print(f"{name}: {steps.calls:,} calls, {steps.files} files, {steps.changes:,} changes")


if __name__ == "__main__":
    main()
