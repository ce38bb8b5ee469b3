"""A Models page on a fresh home with a small imported model."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from app.pages.models.view import ModelsPage
from app.studio import Studio
from engine.config.dataset import StoredData
from engine.files.atomic_write import MANIFEST
from engine.files.home import free_folder
from engine.messages.events import Ended, Prepared, Saved, Started, measured
from engine.record.follow import record_folder
from engine.runs.folder import RunFolder
from tests.app.pages.train.conftest import write_model
from tests.engine.runs import fake_worker


@pytest.fixture
def little(studio: Studio) -> Path:
    return write_model(studio.home.models / "little")


@pytest.fixture
def copy_run(studio: Studio, little: Path) -> Callable[..., None]:
    """`copy_run("name", score=0.7)` adds a run with one checkpoint, at step 20."""

    def make(name: str, score: float, data: str = "speeches") -> None:
        source = StoredData(folder=studio.home.datasets / data / "1")
        job = fake_worker.job(name).model_copy(update={"data": source})
        folder = RunFolder.create(free_folder(studio.home.runs, name), job)
        shutil.copytree(little, folder.checkpoint(20))
        (folder.checkpoint(20) / MANIFEST).write_text('{"files": {}}')
        checkpoint = folder.checkpoint(20).relative_to(folder.path).as_posix()
        fields = {"steps": 20, "parameters": 9, "examples": 9, "device": "cpu", "threads": 1}
        for event in (
            Started(pid=1),
            Prepared.model_validate({**fields, "best_metric": "validation_accuracy"}),
            measured("validation_accuracy", 20, score),
            Saved(step=20, folder=checkpoint, best=True),
            Ended(outcome="finished", step=20),
        ):
            folder.append(event)
        with studio.record.session() as session:
            record_folder(session, folder, job)

    return make


@pytest.fixture
def page(qtbot, studio: Studio, little: Path) -> ModelsPage:
    """The page in a window, its list read."""
    page = ModelsPage(studio)
    qtbot.addWidget(page)
    page.resize(1200, 800)
    page.show()
    page.arrive(None)
    qtbot.waitUntil(lambda: page.state.models is not None)
    return page
