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
from tests.tasks.jobs import JOBS

CLOSE = 1e-5  # sums may be in another order
CACHED = {"frozen_layers": 1, "cache_frozen_layers": True}
SHORT = {"steps": 7, "evaluate_every": 7, "save_every": 7, "dropout": 0.0}


TASKS: dict[str, Callable[..., JobSpec]] = {
    **{kind: job for kind, job in JOBS.items() if kind != "pretraining"},
    "triplets": partial(small.learning, "triplets"),
    "adapters": partial(small.adapted, epsilon=1e-6),
}
VARIANTS: dict[str, dict[str, object]] = {
    "in parts": {"micro_batch_size": 3, "gradient_checkpointing": True, "train_fraction": 0.5},
    "all layers, averaged": {"frozen_layers": 9, "ema_decay": 0.9},
}


def check_same_curves(folder: Path, job: JobSpec, tolerance: float = CLOSE) -> None:
    """Compare the curves of a run with and without cached layers."""
    cached = small.trained(folder / "cached", job)
    plain = small.trained(folder / "plain", small.with_training(job, cache_frozen_layers=False))
    ours, theirs = metrics(cached), metrics(plain)
    assert ours.keys() == theirs.keys()
    assert any(name.startswith("validation_") for name, _ in ours)
    for key, value in ours.items():
        assert (theirs[key] or 0) == pytest.approx(value or 0, rel=tolerance, abs=tolerance), key


@pytest.mark.parametrize("task", TASKS)
def test_caching_changes_no_curve_of_a_task(task, tmp_path):
    check_same_curves(tmp_path, small.with_training(TASKS[task](tmp_path), **SHORT | CACHED))


@pytest.mark.parametrize("variant", VARIANTS)
def test_caching_changes_no_curve_of_a_variant(variant, tmp_path):
    check_same_curves(tmp_path, small.classifying(tmp_path, **SHORT | CACHED | VARIANTS[variant]))


def test_frozen_layers_run_once_and_without_dropout(tmp_path, monkeypatch):
    calls = list[tuple[int, bool]]()
    original = Layer.forward

    def recording_forward(layer: Layer, x: Tensor, layout: object) -> object:
        calls.append((id(layer), layer.training))
        return original(layer, x, layout)  # type: ignore[arg-type]

    monkeypatch.setattr(Layer, "forward", recording_forward)
    small.trained(tmp_path / "run", small.classifying(tmp_path, dropout=0.3, epochs=2, **CACHED))
    lower = calls[0][0]
    upper = [training for layer, training in calls if layer != lower]
    assert upper.count(True) == 2 * 11, "steps"
    assert [training for layer, training in calls if layer == lower] == [False] * 4, (
        "each batch of 32 examples, of both sets"
    )


def test_a_stop_and_a_resume_change_nothing_even_without_the_cache(tmp_path):
    job = small.classifying(tmp_path, dropout=0.1, steps=14, **CACHED)
    reference, stopped = (small.new_run(tmp_path / name, job) for name in ("reference", "stopped"))
    train(job, reference, reference.append)
    assert train(job, stopped, stopped.append, lambda: small.has_seen(stopped, 6))[0] == "stopped"
    stored = list((stopped.cache / "vectors").rglob("*.npy"))
    assert len(stored) == 2, "training and validation rows"
    for file in stored:
        file.unlink()
    train(job, stopped, stopped.append)
    assert final(stopped) == final(reference)
    assert metrics(stopped) == metrics(reference)
    assert not (reference.cache / "vectors").exists(), "deleted when a run is finished"


def test_a_resume_uses_the_cache_although_weights_have_changed(tmp_path, monkeypatch):
    job = small.classifying(tmp_path, steps=14, **CACHED)
    run = small.new_run(tmp_path / "run", job)
    assert train(job, run, run.append, lambda: small.has_seen(run, 6))[0] == "stopped"
    monkeypatch.setattr(FeatureExtractor, "_compute", lambda *_: pytest.fail("computed again"))
    assert train(job, run, run.append) == ("finished", 14)


def test_unused_rows_are_not_computed_and_the_folder_is_reported(tmp_path, monkeypatch):
    counts, original = list[int](), FeatureExtractor._vectors

    def counting_vectors(extractor: FeatureExtractor, tokens: Tensor, *args: object) -> Tensor:
        counts.append(len(tokens))
        return original(extractor, tokens, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(FeatureExtractor, "_vectors", counting_vectors)
    job = small.classifying(tmp_path, train_fraction=0.25, epochs=1, **CACHED)
    run = small.trained(tmp_path / "run", job)
    assert sum(counts) == 22 + 10, "a quarter of 86 training examples, and all 10 of validation"
    assert any("lowest 1 layer is cached in" in note for note in small.notes(run))


def test_the_disk_space_is_estimated(tmp_path, monkeypatch):
    job = small.classifying(tmp_path, epochs=1, **CACHED)
    cost, sizes, original = estimate(job, lambda _: None), list[int](), FeatureExtractor._compute

    def measuring_compute(extractor: FeatureExtractor, *args: object) -> None:
        original(extractor, *args)  # type: ignore[arg-type]
        sizes.append(sum(file.stat().st_size for file in extractor.folder.rglob("*.npy")))

    monkeypatch.setattr(FeatureExtractor, "_compute", measuring_compute)
    small.trained(tmp_path / "run", job)
    assert cost.cache == pytest.approx(sizes[-1], rel=0.05)
    assert cost.disk == cost.checkpoint * cost.checkpoints + cost.cache
    assert estimate(small.with_training(job, cache_frozen_layers=False), lambda _: None).cache == 0


def test_bf16_training_reads_vectors_cached_in_fp32(tmp_path):
    job = small.classifying(tmp_path, **SHORT | CACHED)
    check_same_curves(tmp_path, small.with_hardware(job, precision="bf16"), tolerance=0.02)
