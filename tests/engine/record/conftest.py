"""A record in a fresh home, and run folders filled by a worker."""

from collections.abc import Callable, Iterator

import pytest

from engine.files.home import Home
from engine.record.opening import Record, open_record
from engine.runs import launch
from engine.runs.folder import RunFolder
from tests.engine.record.statements import shared_statements
from tests.engine.record.window import Window
from tests.engine.runs import fake_worker, forked

__all__ = ["shared_statements"]


@pytest.fixture
def record(home: Home) -> Iterator[Record]:
    new_record = open_record(home.record, home.backups)
    yield new_record
    new_record.close()


@pytest.fixture
def train(home: Home) -> Callable[[str], RunFolder]:
    """Train a new run folder of the home to the end, in this process."""

    def train_run(name: str) -> RunFolder:
        folder = RunFolder.create(home.runs / name, fake_worker.job())
        assert fake_worker.main(folder) == 0
        return folder

    return train_run


@pytest.fixture
def windows(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Window]]:
    """Open windows; earlier ones count as killed."""
    monkeypatch.setattr(launch, "command", fake_worker.command)
    monkeypatch.setattr(launch, "spawn", forked.spawn)
    started: list[Window] = []

    def open_window() -> Window:
        for earlier in started:
            earlier.manager.release_queue()
        started.append(Window(home))
        return started[-1]

    yield open_window
    for window in started:
        window.manager.end_standby()
        for worker in window.manager.workers.processes():
            worker.kill()
            worker.wait()
        window.record.close()


@pytest.fixture
def window(windows: Callable[[], Window]) -> Window:
    return windows()
