"""The application as a person sees it: its fonts, its icons, the light theme."""

import pytest
from PySide6.QtWidgets import QApplication

from app import resources, theme
from app.shell.garbage import Collector


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    resources.load(qapp)
    Collector(qapp)  # else Python would free Qt's objects on whichever thread looks
    theme.apply(qapp, "light")
    return qapp


@pytest.fixture(autouse=True)
def watchdog() -> None:
    """Off in stories, whose workers take all cores: the tests of the pages watch the window."""
