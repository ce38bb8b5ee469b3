"""A tiny checkpoint with every head, loaded and as a folder."""

from pathlib import Path

import pytest

from engine.models.checkpoint import Checkpoint, load
from engine.models.heads import Heads
from tests.engine.models.small import folder

EVERY = Heads(masked_words=True, outputs=3)


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("models") / "tiny", EVERY)


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> Checkpoint:
    return load(tiny_folder)
