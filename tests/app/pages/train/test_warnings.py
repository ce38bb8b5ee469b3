"""Doubtful choices are reported, others are not."""

from dataclasses import replace

from app.pages.train.summary import warnings
from engine.data.lengths import Lengths
from tests.app.pages.train.cards import ONWARD, SENTENCE
from tests.app.pages.train.chosen import GB, MODEL, chosen, data, dataset, estimate


def test_warnings_name_doubtful_choices_only() -> None:
    assert warnings(chosen(SENTENCE), Lengths((10, 20)), estimate()) == []
    spec = dataset().model_copy(update={"rows": {"train": 9}, "labels": {"a": 3, "b": 900}})
    doubtful = replace(chosen(SENTENCE), data=replace(data(), spec=spec))
    said = warnings(doubtful, Lengths((10, 500)), estimate(9 * GB, 1e6))
    assert [
        any(word in s for s in said)
        for word in ("no validation", "“a”", "50 %", "memory", "long time")
    ] == [True] * 5
    assert "“b”" not in " ".join(said)


def test_checkpoints_too_large_for_the_disk_are_a_warning() -> None:
    room = estimate().model_copy(update={"checkpoint": GB, "checkpoints": 4, "disk_free": 4 * GB})
    assert not any("checkpoints" in text for text in warnings(chosen(SENTENCE), None, room))
    short = room.model_copy(update={"disk_free": 3 * GB})
    (told,) = [text for text in warnings(chosen(SENTENCE), None, short) if "checkpoints" in text]
    assert "need up to 4.0 GB, but only 3.0 GB are free" in told


def test_continuing_without_an_mlm_head_is_a_warning() -> None:
    assert warnings(chosen(ONWARD)) == []
    assert MODEL.info is not None
    bare = MODEL.info.model_copy(update={"task_heads": ("pooler",)})
    headless = replace(chosen(ONWARD), model=replace(MODEL, info=bare))
    assert "no head" in warnings(headless)[0]
