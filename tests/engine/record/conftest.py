"""A record in a fresh home, and run folders filled by a worker."""

from collections.abc import Callable, Iterator

import pytest

from engine.files.home import Home
from engine.record.opening import Record, open_record
from engine.runs import launch
from engine.runs.folder import RunFolder
from tests.engine.record.window import Window
from tests.engine.runs import fake_worker


@pytest.fixture
def record(home: Home) -> Iterator[Record]:
    opened = open_record(home.record, home.backups)
    yield opened
    opened.close()


@pytest.fixture
def trained(home: Home) -> Callable[[str], RunFolder]:
    """Train a new run folder of the home to the end, in this process."""

    def train(name: str) -> RunFolder:
        folder = RunFolder.create(home.runs / name, fake_worker.job())
        assert fake_worker.main(folder) == 0
        return folder

    return train


@pytest.fixture
def windows(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Window]]:
    """Open windows; earlier ones count as killed."""
    monkeypatch.setattr(launch, "command", fake_worker.command)
    opened: list[Window] = []

    def open_one() -> Window:
        for before in opened:
            before.manager.release_queue()
        opened.append(Window(home))
        return opened[-1]

    yield open_one
    for window in opened:
        window.manager.end_standby()
        for worker in window.manager.workers.processes():
            worker.kill()
            worker.wait()
        window.record.close()


@pytest.fixture
def window(windows: Callable[[], Window]) -> Window:
    return windows()
