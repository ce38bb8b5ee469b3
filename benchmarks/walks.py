"""Python calls of one user action on the GUI thread: calls, files, changes of file.

Each walk opens what it needs offscreen and yields; the calls into `app` and `engine` are counted
until it yields again.
"""

import os
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import harness
from benchmarks.harness import PROJECT, wait_until

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


def start(home: Path) -> Iterator[None]:
    """Press Start in the last step of the wizard: pre-training from scratch on the sample."""
    from app.pages.train.choices import Goal, Step
    from app.pages.train.view import TrainPage

    with harness.offscreen_studio(home) as studio:
        page = TrainPage(studio)
        page.show()
        page.requests.load_sample()
        wait_until(lambda: page.state.choices.data is not None)
        page.state.choose_goal(Goal("pretraining", from_scratch=True))
        page._open_step(Step.REVIEW)
        wait_until(lambda: not page.state.preview.is_reading)
        yield
        page.next.click()
        yield
        page.close()


def edit(home: Path) -> Iterator[None]:
    """Type a character in Explore, until the attention of all heads is painted."""
    from PySide6.QtCore import QEvent, QObject, Qt
    from PySide6.QtTest import QTest

    from engine.files.shipped import starter_model

    with harness.offscreen_window(home, 0) as (_, window):
        model = starter_model()
        text = "The president spoke to the people of the United States."
        window.go("explore", {"model": str(model), "text": text})
        page: Any = window.pages["explore"]
        wait_until(lambda: page.state.first.checkpoint == model and page.state.is_settled)
        page.bench.show_panel("attention")
        panel = page.bench.docks["attention"].panel
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


WALKS: dict[str, Walk] = {"start": start, "edit": edit}


def main(arguments: list[str]) -> None:
    parser = harness.parser("walks", __doc__)
    parser.add_argument("walks", nargs="*", metavar="WALK", help=f"of {', '.join(WALKS)}")
    options = parser.parse_args(arguments)
    for name in options.walks or WALKS:
        with harness.work_folder() as folder:
            walk = WALKS[name](folder)
            next(walk)
            steps = measure(lambda walk=walk: next(walk))  # type: ignore[misc]
            next(walk, None)
        print(f"{name}: {steps.calls:,} calls, {steps.files} files, {steps.changes:,} changes")
