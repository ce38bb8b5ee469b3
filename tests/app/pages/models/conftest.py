"""A Models page on a fresh home with a little imported model."""

from pathlib import Path

import pytest

from app.pages.models.view import ModelsPage
from app.studio import Studio
from tests.app.pages.train.conftest import write_model


@pytest.fixture(autouse=True)
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A trash of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "Trash" / "files"


@pytest.fixture
def little(studio: Studio) -> Path:
    return write_model(studio.home.models / "little")


@pytest.fixture
def page(qtbot, studio: Studio, little: Path) -> ModelsPage:
    """The page in a window, its list read."""
    made = ModelsPage(studio)
    qtbot.addWidget(made)
    made.resize(1200, 800)
    made.show()
    made.arrive(None)
    qtbot.waitUntil(lambda: made.state.models is not None)
    return made
