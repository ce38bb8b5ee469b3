"""Repeat a fault or an example a few times by default, and many times with --long."""

import os
from typing import Any

import pytest
from hypothesis import settings

from tests.conftest import LONG

DIVISOR, MIN_EXAMPLES = 10, 10


def times(few: int, many: int) -> pytest.MarkDecorator:
    """Parametrize a test with `count`: `few` by default, `many` with --long (RELIABILITY.md)."""
    long = pytest.param(many, marks=[pytest.mark.long, pytest.mark.timeout(7200)])
    return pytest.mark.parametrize("count", [few, long])


def tries(many: int, **options: Any) -> settings:
    """Let Hypothesis try `many` new examples with --long.

    By default it tries a tenth of them (at least 10), the same each time.
    """
    if os.environ.get(LONG):
        return settings(max_examples=many, deadline=None, **options)
    few = max(MIN_EXAMPLES, many // DIVISOR)
    return settings(max_examples=few, deadline=None, derandomize=True, **options)
