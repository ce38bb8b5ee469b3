"""A fault a few times with all other tests, and with --long as often as RELIABILITY.md says."""

import pytest


def times(few: int, many: int) -> pytest.MarkDecorator:
    """Give a test its `count`: so many always, and so many with --long."""
    long = pytest.param(many, marks=[pytest.mark.long, pytest.mark.timeout(7200)])
    return pytest.mark.parametrize("count", [few, long])
