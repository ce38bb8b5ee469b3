"""A finished run for the tests that read it."""

import pytest

from engine.runs.folder import RunFolder
from engine.worker.train import main as work
from tests.engine.training import small


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run of 30 steps with the checkpoints of steps 10 and 20."""
    folder = tmp_path_factory.mktemp("finished")
    run = small.new_run(
        folder / "run", small.classifying(folder, steps=30, keep_every=10, dropout=0.1)
    )
    assert work(run.path) == 0
    return run
