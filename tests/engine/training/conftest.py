"""A machine without cached measurements."""

import pytest

from engine.files.home import Home
from engine.system.precision import MEASUREMENTS


@pytest.fixture
def unmeasured(home: Home) -> Home:
    """A new home without cached measurements."""
    (home.cache / MEASUREMENTS).unlink()
    return home
