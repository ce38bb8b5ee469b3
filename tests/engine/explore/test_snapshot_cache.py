"""Snapshots answer every question, are cached, and are preloaded nearest first."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch

from engine.config.tasks.pretraining import Pretraining
from engine.doctor import questions as asking
from engine.errors import BadCheckpoint
from engine.explore import model_cache
from engine.explore.model_cache import ModelCache
from engine.messages.explore.fill_mask import FillMask
from engine.messages.question import Question
from engine.models import checkpoint
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import snapshot_folder, snapshot_folders
from engine.worker.answerers import answer
from engine.worker.context import WorkerContext
from tests.engine.training import small
from tests.engine.training.finished import run_job

IGNORED_FIELDS = ("to", "milliseconds", "path", "file", "computed", "why_exact")
GB = 1 << 30


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("snapshots")
    job = small.pretraining(folder, steps=33, save_every=11, evaluate_every=11, snapshot_every=1)
    job = job.model_copy(update={"task": Pretraining(nsp=True)})
    return run_job(folder / "run", job)[0]


@pytest.fixture
def half_precision_copy(run: RunFolder, tmp_path: Path) -> Path:
    """The last checkpoint with its weights rounded to fp16, as a regular folder."""
    loaded = checkpoint.load(run.checkpoint(33))
    with torch.no_grad():
        for parameter in loaded.network.parameters():
            parameter.copy_(parameter.half().float())
    folder = tmp_path / "half"
    checkpoint.save(folder, loaded.network, loaded.tokenizer, loaded.labels)
    return folder


def without_ignored(value: object) -> object:
    if isinstance(value, dict):
        return {name: without_ignored(v) for name, v in value.items() if name not in IGNORED_FIELDS}
    return [without_ignored(item) for item in value] if isinstance(value, list | tuple) else value


def answerable_questions(folder: Path, tmp_path: Path) -> list[Question]:
    """The doctor's questions about a single model that this model can answer."""
    missing = tmp_path / "nothing"
    models = asking.Models(folder, missing, missing, missing, missing, missing)
    questions = []
    for question in asking.questions(models, tmp_path):
        text = question.model_dump_json()
        if str(missing) not in text and getattr(question, "checkpoint", None) == folder:
            questions.append(question)
    return questions


def test_a_snapshot_answers_questions_like_a_checkpoint(run, half_precision_copy, tmp_path):
    ours = answerable_questions(snapshot_folder(run, 33), tmp_path)
    theirs = answerable_questions(half_precision_copy, tmp_path)
    kinds = {question.kind for question in ours}
    assert {"fill_mask", "attend", "embed", "apply_lens", "attribute"} <= kinds and len(kinds) > 10
    for a, other in zip(ours, theirs, strict=True):
        contexts = [WorkerContext(tmp_path, lambda _: None) for _ in range(2)]
        pairs = zip((a, other), contexts, strict=True)
        result = [asking.answer_fields(q, context) for q, context in pairs]
        expected = [without_ignored(fields) for fields in result]
        assert repr(expected[0]) == repr(expected[1]), a.kind


def test_answers_from_snapshots_are_marked_exact(run, tmp_path):
    context = WorkerContext(tmp_path, lambda _: None)
    question = FillMask(checkpoint=snapshot_folder(run, 4), text="a [MASK] film", exact=False)
    reply = answer(question, context)
    while context.models.prepare():
        pass
    assert (reply.computed, reply.why_exact) == ("float32", "snapshot")  # type: ignore[attr-defined]
    assert answer(question, context).why_exact == "snapshot"  # type: ignore[attr-defined]


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps of the loaded snapshots, in order."""
    steps: list[int] = []
    load = model_cache.load

    def counting_load(folder: Path, tokenizer: object = None) -> checkpoint.Checkpoint:
        assert (tokenizer is None) == (not steps), "the tokenizer of a run is read once"
        steps.append(checkpoint_step(folder))
        return load(folder, tokenizer=tokenizer)  # type: ignore[arg-type]

    monkeypatch.setattr(model_cache, "load", counting_load)
    return steps


@pytest.fixture
def set_free_memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how much of 8 GB is free."""
    real = psutil.virtual_memory()

    def set_free(free: int) -> None:
        memory = real._replace(available=free, total=8 * GB)
        monkeypatch.setattr(model_cache.psutil, "virtual_memory", lambda: memory)

    set_free(6 * GB)
    return set_free


def test_the_nearest_snapshots_are_preloaded_and_cached(run, loaded, set_free_memory, monkeypatch):
    monkeypatch.setattr(model_cache, "MAX_PRELOAD_SECONDS", 100.0)
    models = ModelCache()
    first = models.take(snapshot_folder(run, 8))
    while models.prepare():
        pass
    assert loaded == [8, 16, 4, 32, 2, 33, 1, 0]
    assert models.take(snapshot_folder(run, 8)) is first
    models.take(snapshot_folder(run, 33))
    assert len(loaded) == len(snapshot_folders(run)) == len(models.snapshots.folders)


def test_slow_snapshots_are_not_preloaded(run, loaded, set_free_memory, monkeypatch):
    monkeypatch.setattr(model_cache, "MAX_PRELOAD_SECONDS", 0.0)
    models = ModelCache()
    models.take(snapshot_folder(run, 8))
    assert not models.prepare() and loaded == [8]


def test_low_memory_evicts_the_farthest_snapshots(run, loaded, set_free_memory):
    models = ModelCache()
    for step in (0, 8, 16, 32):
        models.take(snapshot_folder(run, step))
    set_free_memory(2 * GB)
    counts: list[int] = []
    real = models.snapshots._has_memory

    def has_memory_for_two() -> bool:
        counts.append(len(models.snapshots.folders))
        return counts[-1] <= 2 if len(counts) > 1 else real()

    models.snapshots._has_memory = has_memory_for_two  # type: ignore[method-assign]
    models.take(snapshot_folder(run, 33))
    assert {checkpoint_step(folder) for folder in models.snapshots.folders} == {16, 32, 33}
    assert not real()


def test_a_snapshot_that_changed_on_disk_is_reloaded(run, tmp_path, set_free_memory):
    copy = RunFolder(Path(shutil.copytree(run.path, tmp_path / "copy")))
    models = ModelCache()
    before = models.take(snapshot_folder(copy, 4))
    shutil.rmtree(snapshot_folder(copy, 4))
    shutil.copytree(snapshot_folder(copy, 32), snapshot_folder(copy, 4))
    after = models.take(snapshot_folder(copy, 4))
    assert after is not before and replace(after).tokenizer is before.tokenizer


def test_a_damaged_snapshot_is_skipped_while_preloading(
    run, tmp_path, set_free_memory, monkeypatch
):
    monkeypatch.setattr(model_cache, "MAX_PRELOAD_SECONDS", 100.0)
    copy = RunFolder(Path(shutil.copytree(run.path, tmp_path / "copy")))
    (snapshot_folder(copy, 16) / "model.safetensors").write_bytes(b"nothing")
    models = ModelCache()
    models.take(snapshot_folder(copy, 8))
    while models.prepare():
        pass
    held = {checkpoint_step(folder) for folder in models.snapshots.folders}
    assert held == {0, 1, 2, 4, 8, 32, 33}
    with pytest.raises(BadCheckpoint):
        models.take(snapshot_folder(copy, 16))
