"""A machine of which nothing is known yet."""

import pytest

from engine.files.home import Home
from engine.system.precision import MEASUREMENTS


@pytest.fixture
def unmeasured(home: Home) -> Home:
    """A fresh home in which a run measures what is fastest."""
    (home.cache / MEASUREMENTS).unlink()
    return home
