"""What is done early: once nothing has moved since the look before, and then piece by piece."""

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication

from app.early import EarlyWorks


@pytest.fixture
def still(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Nobody does anything."""
    monkeypatch.setattr(QCursor, "pos", lambda: QPoint(1, 1))
    for name in ("activeModalWidget", "activePopupWidget", "focusWidget"):
        monkeypatch.setattr(QApplication, name, lambda: None)
    monkeypatch.setattr(QApplication, "mouseButtons", lambda: Qt.MouseButton.NoButton)
    return monkeypatch


def test_the_first_look_begins_where_nothing_has_moved_since_the_start(
    still: pytest.MonkeyPatch,
) -> None:
    done = list[int]()
    early = EarlyWorks(iter([lambda: done.append(1)]))
    early.begin()
    early._look()
    assert done == [1] and early.is_over


def test_who_moves_meanwhile_is_waited_for(still: pytest.MonkeyPatch) -> None:
    done = list[int]()
    early = EarlyWorks(iter([lambda: done.append(1)]))
    early.begin()
    still.setattr(QCursor, "pos", lambda: QPoint(2, 1))
    early._look()
    assert not done
    early._look()
    assert done == [1]
