from PySide6.QtCore import QObject

from app.timers import debounced, repeated


def test_a_slot_runs_once_after_the_last_start_or_until_stopped(qtbot):
    owner, calls = QObject(), list[int]()
    timer = debounced(owner, 0, lambda: calls.append(1))
    timer.start()
    timer.start()
    qtbot.waitUntil(lambda: bool(calls))
    assert calls == [1]
    assert not timer.isActive()
    timer = repeated(owner, 0, lambda: calls.append(1))
    timer.start()
    qtbot.waitUntil(lambda: len(calls) > 2)
    assert timer.isActive()
    timer.stop()
