import gc
import threading
import weakref
from collections.abc import Iterator
from typing import ClassVar

import pytest
from PySide6.QtCore import QObject, QTimer
from pytestqt.qtbot import QtBot

from app.shell.garbage import Collector, collect_and_freeze, freeze_modules

USUAL_THRESHOLD = (700, 10, 10)  # of Python; tests/conftest.py raises it


@pytest.fixture
def collector(qtbot: QtBot) -> Iterator[Collector]:
    was_enabled, threshold = gc.isenabled(), gc.get_threshold()
    gc.set_threshold(*USUAL_THRESHOLD)
    owner = QObject()
    yield Collector(owner)
    del owner
    gc.set_threshold(*threshold)
    (gc.enable if was_enabled else gc.disable)()


class Cycle(QObject):
    """Refers to itself, so that only the cycle collector frees it."""

    freed_in: ClassVar[list[int]] = []

    def __init__(self) -> None:
        super().__init__()
        self.me = self
        self.timer = QTimer(self, interval=1000)
        self.timer.start()

    def __del__(self) -> None:
        self.freed_in.append(threading.get_ident())


def test_cycles_are_freed_on_the_main_thread_only(collector, qtbot):
    Cycle.freed_in.clear()
    Cycle()
    allocating = threading.Thread(target=lambda: [[i] for i in range(100_000)])
    allocating.start()
    allocating.join()
    assert Cycle.freed_in == []
    survivors = [[i] for i in range(2_000)]
    qtbot.waitUntil(lambda: bool(Cycle.freed_in))
    assert set(Cycle.freed_in) == {threading.get_ident()}
    assert len(survivors) == 2_000


def test_surviving_objects_are_scanned_at_most_once(collector):
    for freeze, freed in ((freeze_modules, []), (collect_and_freeze, [threading.get_ident()])):
        Cycle.freed_in.clear()
        cycle = weakref.ref(Cycle())
        survivors = [[i] for i in range(2_000)]
        frozen = gc.get_freeze_count()
        freeze()
        assert Cycle.freed_in == freed, freeze
        assert gc.get_freeze_count() >= frozen + len(survivors)
        if (survivor := cycle()) is not None:
            del survivor.me


@pytest.mark.parametrize("freeze", [freeze_modules, collect_and_freeze])
def test_a_modern_python_keeps_its_own_collector(monkeypatch, freeze):
    monkeypatch.setattr(gc, "isenabled", lambda: True)
    frozen = gc.get_freeze_count()
    freeze()
    assert gc.get_freeze_count() <= frozen, "none more; others may be freed"
