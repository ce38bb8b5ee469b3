"""A machine without cached measurements, and processes whose children train."""

from collections.abc import Iterator

import pytest

from engine.files.home import Home
from engine.system.precision import MEASUREMENTS
from tests.engine.training.crew import Crew
from tests.engine.training.killing import Killer, Process


@pytest.fixture
def unmeasured(home: Home) -> Home:
    """A new home without cached measurements."""
    (home.cache / MEASUREMENTS).unlink()
    return home


@pytest.fixture(scope="session")
def forking_process() -> Iterator[Process]:
    result = Process()
    yield result
    result.close()


@pytest.fixture(scope="session")
def killer(forking_process: Process) -> Killer:
    return Killer(forking_process)


@pytest.fixture(scope="session")
def crew(forking_process: Process) -> Crew:
    return Crew(forking_process)
