"""The application as a person sees it: its fonts, its icons, the light theme."""

import pytest
from PySide6.QtWidgets import QApplication

from app import resources, theme


@pytest.fixture(scope="session")
def qapp(qapp: QApplication) -> QApplication:
    resources.load(qapp)
    theme.apply(qapp, "light")
    return qapp
