"""The watchdog reports code that blocks the GUI thread, and nothing else."""

import time

from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QPushButton

from tests.watchdog import LIMIT, watch_event_loops


def block():
    time.sleep(2 * LIMIT)


def test_a_handler_that_blocks_the_loop_is_reported(qtbot, monkeypatch, watchdog):
    with watch_event_loops(monkeypatch) as dog:
        QTimer.singleShot(0, block)
        qtbot.wait(50)
    assert len(dog.blocked) == 1
    assert "in block" in dog.blocked[0]
    watchdog.blocked.clear()


def test_a_blocking_click_is_reported(qtbot, monkeypatch, watchdog):
    button = QPushButton("Go")
    qtbot.addWidget(button)
    button.clicked.connect(block)
    with watch_event_loops(monkeypatch) as dog:
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert "in block" in dog.blocked[0]
    watchdog.blocked.clear()


def test_a_cpu_wait_of_another_thread_is_subtracted(qtbot, monkeypatch, watchdog):
    """It may have held a lock that the GUI thread needed."""
    start = time.perf_counter()
    monkeypatch.setattr("tests.watchdog.cpu_waits", lambda: {"1": time.perf_counter() - start})
    with watch_event_loops(monkeypatch) as dog:
        QTimer.singleShot(0, block)
        qtbot.wait(50)
    assert dog.blocked == []
    watchdog.blocked.clear()


def test_an_idle_loop_and_a_slow_test_are_not_reported(qtbot, monkeypatch):
    with watch_event_loops(monkeypatch) as dog:
        qtbot.wait(10)
        block()
        qtbot.wait(round(2000 * LIMIT))
    assert dog.blocked == []
