"""Fixtures for tests of the window: its looks, and a real studio on a fresh home."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication

from app import resources, theme
from app.garbage import Collector
from app.notices import Notices
from app.studio import Studio
from engine.home import Home


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    """The application with its own fonts, styles and the light theme."""
    resources.load(qapp)
    Collector(qapp)
    theme.apply(qapp, "light")
    return qapp


@pytest.fixture
def studio(qtbot: Any, home: Home) -> Iterator[Studio]:
    """A studio with a real record, dispatcher and explorer; neither has begun."""
    opened = Studio.open(home, Notices())
    yield opened
    opened.close()


@pytest.fixture
def looks(qapp: QApplication) -> Iterator[Callable[[theme.Choice], None]]:
    """`looks("dark")` changes the theme; it is light again afterwards."""
    yield lambda choice: theme.apply(qapp, choice)
    theme.apply(qapp, "light")
