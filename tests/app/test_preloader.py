"""Early tasks: modules at once, pages while idle, each in small pieces."""

from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication

from app.preloader import Preloader


@pytest.fixture
def still(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Simulates an idle user."""
    monkeypatch.setattr(QCursor, "pos", lambda: QPoint(1, 1))
    for name in ("activeModalWidget", "activePopupWidget", "focusWidget"):
        monkeypatch.setattr(QApplication, name, lambda: None)
    monkeypatch.setattr(QApplication, "mouseButtons", lambda: Qt.MouseButton.NoButton)
    return monkeypatch


@pytest.fixture
def done() -> list[str]:
    """Finished tasks, in order."""
    return []


@pytest.fixture
def early(done: list[str]) -> Preloader:
    modules = [partial(done.append, "module")]
    pages = [partial(done.append, "page")]
    return Preloader(iter(modules), iter(pages))


def test_modules_are_loaded_immediately_and_pages_while_idle(still, early, done):
    still.setattr("app.preloader.freeze_modules", lambda: done.append("kept"))
    early.begin()
    early._on_tick()
    assert done == ["module", "kept"] and not early.is_over
    early._on_tick()
    assert done == ["module", "kept", "page"] and early.is_over


def test_pages_but_not_modules_wait_for_activity(still, early, done):
    early.begin()
    early._on_tick()
    still.setattr(QCursor, "pos", lambda: QPoint(2, 1))
    early._on_tick()
    assert done == ["module"]
    early._on_tick()
    assert done == ["module", "page"]
