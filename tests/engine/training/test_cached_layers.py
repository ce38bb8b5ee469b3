"""Cached frozen layers change no training result."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from torch import Tensor

from engine.config.job import JobSpec
from engine.models.encoder import Layer
from engine.training.data.features import FeatureExtractor
from engine.training.estimate import estimate
from engine.training.loop import train
from tests.engine.training import small
from tests.engine.training.test_loop import final, metrics

CLOSE = 1e-5  # sums may be in another order
CACHED = {"frozen_layers": 1, "cache_frozen_layers": True}
FEW = {"steps": 7, "evaluate_every": 7, "save_every": 7, "dropout": 0.0}


TASKS: dict[str, Callable[..., JobSpec]] = {
    "tags": small.tagging,
    "answers": small.answering,
    "choices": partial(small.learning, "choices"),
    "triplets": partial(small.learning, "triplets"),
    "adapters": partial(small.adapted, epsilon=1e-6),
}
WAYS: dict[str, dict[str, object]] = {
    "in parts": {"micro_batch_size": 3, "gradient_checkpointing": True, "train_fraction": 0.5},
    "all layers, averaged": {"frozen_layers": 9, "ema_decay": 0.9},
}


def check_same(folder: Path, job: JobSpec, close: float = CLOSE) -> None:
    """Compare the curves of a run with and without cached layers."""
    cached = small.trained(folder / "cached", job)
    plain = small.trained(folder / "plain", small.with_training(job, cache_frozen_layers=False))
    ours, theirs = metrics(cached), metrics(plain)
    assert ours.keys() == theirs.keys()
    assert any(name.startswith("validation_") for name, _ in ours)
    for key, value in ours.items():
        assert (theirs[key] or 0) == pytest.approx(value or 0, rel=close, abs=close), key


@pytest.mark.parametrize("task", TASKS)
def test_every_task_learns_the_same(task, tmp_path):
    check_same(tmp_path, small.with_training(TASKS[task](tmp_path), **FEW | CACHED))


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_training_learns_the_same(way, tmp_path):
    check_same(tmp_path, small.classifying(tmp_path, **FEW | CACHED | WAYS[way]))


def test_the_frozen_layers_work_once_and_without_dropout(tmp_path, monkeypatch):
    seen = list[tuple[int, bool]]()
    honest = Layer.forward

    def counted(layer: Layer, x: Tensor, layout: object) -> object:
        seen.append((id(layer), layer.training))
        return honest(layer, x, layout)  # type: ignore[arg-type]

    monkeypatch.setattr(Layer, "forward", counted)
    small.trained(tmp_path / "run", small.classifying(tmp_path, dropout=0.3, epochs=2, **CACHED))
    lower = seen[0][0]
    upper = [training for layer, training in seen if layer != lower]
    assert upper.count(True) == 2 * 11, "steps"
    assert [training for layer, training in seen if layer == lower] == [False] * 4, (
        "each batch of 32 examples, of both sets"
    )


def test_a_stop_and_a_resume_change_nothing_even_without_the_cache(tmp_path):
    job = small.classifying(tmp_path, dropout=0.1, steps=14, **CACHED)
    calm, stopped = (small.new_run(tmp_path / name, job) for name in ("calm", "stopped"))
    train(job, calm, calm.append)
    assert train(job, stopped, stopped.append, lambda: small.has_seen(stopped, 6))[0] == "stopped"
    stored = list((stopped.cache / "vectors").rglob("*.npy"))
    assert len(stored) == 2, "of training and validation set"
    for file in stored:
        file.unlink()
    train(job, stopped, stopped.append)
    assert final(stopped) == final(calm)
    assert metrics(stopped) == metrics(calm)
    assert not (calm.cache / "vectors").exists(), "nobody reads it any more"


def test_a_resume_finds_the_cache_though_other_weights_have_changed(tmp_path, monkeypatch):
    job = small.classifying(tmp_path, steps=14, **CACHED)
    run = small.new_run(tmp_path / "run", job)
    assert train(job, run, run.append, lambda: small.has_seen(run, 6))[0] == "stopped"
    monkeypatch.setattr(FeatureExtractor, "_compute", lambda *_: pytest.fail("computed again"))
    assert train(job, run, run.append) == ("finished", 14)


def test_unused_rows_are_not_computed_and_the_folder_is_reported(tmp_path, monkeypatch):
    counts, honest = list[int](), FeatureExtractor._vectors

    def counted(extractor: FeatureExtractor, tokens: Tensor, *more: object) -> Tensor:
        counts.append(len(tokens))
        return honest(extractor, tokens, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(FeatureExtractor, "_vectors", counted)
    job = small.classifying(tmp_path, train_fraction=0.25, epochs=1, **CACHED)
    run = small.trained(tmp_path / "run", job)
    assert sum(counts) == 22 + 10, "a quarter of 86 training examples, and all 10 of validation"
    assert any("lowest 1 layer(s) is cached in" in note for note in small.notes(run))


def test_the_disk_space_is_estimated(tmp_path, monkeypatch):
    job = small.classifying(tmp_path, epochs=1, **CACHED)
    estimated, sizes, honest = estimate(job, lambda _: None), list[int](), FeatureExtractor._compute

    def measured(extractor: FeatureExtractor, *given: object) -> None:
        honest(extractor, *given)  # type: ignore[arg-type]
        sizes.append(sum(file.stat().st_size for file in extractor.folder.rglob("*.npy")))

    monkeypatch.setattr(FeatureExtractor, "_compute", measured)
    small.trained(tmp_path / "run", job)
    assert estimated.cache == pytest.approx(sizes[-1], rel=0.05)
    assert estimated.disk == estimated.checkpoint * estimated.checkpoints + estimated.cache
    assert estimate(small.with_training(job, cache_frozen_layers=False), lambda _: None).cache == 0


def test_half_numbers_are_begun_with_as_they_were(tmp_path):
    """Features are cached in fp32 in every precision."""
    job = small.classifying(tmp_path, **FEW | CACHED)
    check_same(tmp_path, small.with_hardware(job, precision="bf16"), close=0.02)
