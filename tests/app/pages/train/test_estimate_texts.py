"""Texts of an estimate."""

from app.pages.train.estimate import disk_text, verdict
from tests.app.pages.train.chosen import GB, estimate


def test_the_verdict_follows_the_free_memory() -> None:
    for gigabytes, word in [(1, "fits"), (7, "tight"), (9, "too big")]:
        assert verdict(estimate(gigabytes * GB)) == word


def test_snapshots_are_counted_with_the_checkpoints() -> None:
    found = estimate().model_copy(
        update={"checkpoint": GB, "checkpoints": 4, "snapshot": GB // 4, "snapshots": 12}
    )
    text = "Needs up to 7.0 GB of disk (4 checkpoints of 1.0 GB, 12 snapshots of 250 MB)."
    assert disk_text(found) == text
    assert "snapshots" not in disk_text(found.model_copy(update={"snapshots": 0}))


def test_a_cache_is_counted() -> None:
    found = estimate().model_copy(update={"checkpoint": GB, "checkpoints": 2, "cache": GB // 2})
    text = "Needs up to 2.5 GB of disk (2 checkpoints of 1.0 GB, a cache of 500 MB)."
    assert disk_text(found) == text
