"""A fault, or any example, a few times with all other tests, and many times with --long."""

import os
from typing import Any

import pytest
from hypothesis import settings

from tests.conftest import LONG

SHARE, LEAST = 4, 10


def times(few: int, many: int) -> pytest.MarkDecorator:
    """Give a test its `count`: so many always, and as RELIABILITY.md says with --long."""
    long = pytest.param(many, marks=[pytest.mark.long, pytest.mark.timeout(7200)])
    return pytest.mark.parametrize("count", [few, long])


def tries(many: int, **more: Any) -> settings:
    """Let Hypothesis try so many examples with --long, others each time.

    With all other tests it tries a quarter of them (10 at least), the same each time.
    """
    if os.environ.get(LONG):
        return settings(max_examples=many, deadline=None, **more)
    few = max(LEAST, many // SHARE)
    return settings(max_examples=few, deadline=None, derandomize=True, **more)
