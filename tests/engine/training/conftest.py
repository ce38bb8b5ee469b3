"""A machine without cached measurements, and processes whose children train."""

from collections.abc import Iterator

import pytest

from engine.files.home import Home
from engine.system.precision import MEASUREMENTS
from tests.engine.training.crew import Crew
from tests.engine.training.killing import Killer


@pytest.fixture
def unmeasured(home: Home) -> Home:
    """A new home without cached measurements."""
    (home.cache / MEASUREMENTS).unlink()
    return home


@pytest.fixture(scope="session")
def killer() -> Iterator[Killer]:
    result = Killer()
    yield result
    result.close()


@pytest.fixture(scope="session")
def crew() -> Iterator[Crew]:
    result = Crew()
    yield result
    result.close()
