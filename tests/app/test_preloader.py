"""Preloading: modules immediately, pages while the user is idle."""

from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication

from app.preloader import Preloader


@pytest.fixture
def idle_user(qapp: QApplication, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Simulate an idle user."""
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
def preloader(done: list[str]) -> Preloader:
    modules = [partial(done.append, "module")]
    pages = [partial(done.append, "page")]
    return Preloader(iter(modules), iter(pages))


def test_modules_are_loaded_immediately_and_pages_while_idle(idle_user, preloader, done):
    idle_user.setattr("app.preloader.freeze_modules", lambda: done.append("frozen"))
    preloader.begin()
    preloader._on_tick()
    assert done == ["module", "frozen"] and not preloader.is_done
    preloader._on_tick()
    assert done == ["module", "frozen", "page"] and preloader.is_done


def test_pages_but_not_modules_wait_for_activity(idle_user, preloader, done):
    preloader.begin()
    preloader._on_tick()
    idle_user.setattr(QCursor, "pos", lambda: QPoint(2, 1))
    preloader._on_tick()
    assert done == ["module"]
    preloader._on_tick()
    assert done == ["module", "page"]
