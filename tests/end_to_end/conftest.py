"""The application with its fonts, icons and light theme."""

from collections.abc import Iterator

import pytest
from PySide6.QtWidgets import QApplication

from app import resources, theme
from app.preloader import Preloader
from app.shell.garbage import Collector


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    resources.load(qapp)
    Collector(qapp)  # otherwise other threads could free Qt's objects
    theme.apply(qapp, "light")
    return qapp


@pytest.fixture(autouse=True)
def watchdog() -> None:
    """Off: workers use all cores here, and the tests of pages watch the event loop."""


@pytest.fixture(scope="module")
def no_preloading() -> Iterator[None]:
    """Create only the pages that are shown."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Preloader, "begin", lambda preloader: None)
        yield
