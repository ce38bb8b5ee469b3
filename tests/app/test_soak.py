"""Memory, open files and threads of the window do not grow in a long session; needs --long.

The session opens pages, a data set and the palette, ends runs and closes notices.
"""

import gc
import os
import threading
import time

import psutil
import pytest
from PySide6.QtCore import Qt

from app.notices import Notices
from app.sample import sample_entry
from app.window import MainWindow
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker

MINUTES = float(os.environ.get("BERT_STUDIO_SOAK", "4"))
GROWTH = 50_000_000  # bytes


def measure(process: psutil.Process) -> tuple[int, int, int]:
    """Bytes of memory, open files and threads when idle."""
    gc.collect()
    return process.memory_info().rss, process.num_fds(), threading.active_count()


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not hasattr(psutil.Process, "num_fds"), reason="needs num_fds")
def test_memory_does_not_grow_in_a_long_session(qtbot, studio):
    entry = sample_entry(studio.home)
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show()
    studio.settings.set("ask_on_close", False)
    notices: Notices = studio.notices
    process, rounds, samples = psutil.Process(), 0, list[tuple[int, int, int]]()
    end = time.monotonic() + MINUTES * 60
    while time.monotonic() < end:
        rounds += 1
        folder = RunFolder.create(studio.home.runs / f"run-{rounds}", fake_worker.job())
        fake_worker.main(folder)
        for key in window.entries:
            window.go(key, entry.folder if key == "data" else None)
            qtbot.wait(30)
        qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        qtbot.wait(10)
        if window._palette is not None:
            window._palette.close()
        notices.error(f"Problem {rounds}.", "Do something.")
        while notices.shown:
            notices.close(notices.shown[0])
        qtbot.wait(30)
        if rounds % 5 == 0:
            samples.append(measure(process))
    first, last = samples[len(samples) // 3], samples[-1]
    print(f"{rounds} rounds in {MINUTES:g} minutes: first third and end {first}, {last}")
    assert last[0] - first[0] < GROWTH
    assert last[1] <= first[1] and last[2] <= first[2]
