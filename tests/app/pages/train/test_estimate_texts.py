"""What a measured step says."""

import pytest

from app.pages.train.estimate_texts import verdict
from tests.app.pages.train.chosen import GB, estimate


@pytest.mark.parametrize("gigabytes, word", [(1, "fits"), (7, "tight"), (9, "too big")])
def test_the_verdict_follows_the_free_memory(gigabytes: int, word: str) -> None:
    assert verdict(estimate(gigabytes * GB)) == word
