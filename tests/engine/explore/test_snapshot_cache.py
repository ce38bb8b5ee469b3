"""Snapshots can answer every question, are cached, and are preloaded nearest first."""

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
from tests.engine.training.finished import trained

PLACES = ("to", "milliseconds", "path", "file", "computed", "why_exact")
GB = 1 << 30


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("snapshots")
    job = small.pretraining(folder, steps=33, save_every=11, evaluate_every=11, snapshot_every=1)
    job = job.model_copy(update={"task": Pretraining(nsp=True)})
    return trained(folder / "run", job)[0]


@pytest.fixture
def half(run: RunFolder, tmp_path: Path) -> Path:
    """The last checkpoint with its weights rounded to fp16, as a regular folder."""
    loaded = checkpoint.load(run.checkpoint(33))
    with torch.no_grad():
        for parameter in loaded.network.parameters():
            parameter.copy_(parameter.half().float())
    folder = tmp_path / "half"
    checkpoint.save(folder, loaded.network, loaded.tokenizer, loaded.labels)
    return folder


def without_places(value: object) -> object:
    if isinstance(value, dict):
        return {name: without_places(v) for name, v in value.items() if name not in PLACES}
    return [without_places(item) for item in value] if isinstance(value, list | tuple) else value


def text_answers(folder: Path, tmp_path: Path) -> list[Question]:
    """Every question about a single model that this model can answer, from the doctor."""
    nothing = tmp_path / "nothing"
    models = asking.Models(folder, nothing, nothing, nothing, nothing, nothing)
    mine = []
    for question in asking.questions(models, tmp_path):
        text = question.model_dump_json()
        if str(nothing) not in text and getattr(question, "checkpoint", None) == folder:
            mine.append(question)
    return mine


def test_a_snapshot_answers_every_question_as_a_checkpoint(run, half, tmp_path):
    ours = text_answers(snapshot_folder(run, 33), tmp_path)
    theirs = text_answers(half, tmp_path)
    kinds = {question.kind for question in ours}
    assert {"fill_mask", "attend", "embed", "apply_lens", "attribute"} <= kinds and len(kinds) > 10
    for a, other in zip(ours, theirs, strict=True):
        desks = [WorkerContext(tmp_path, lambda _: None) for _ in range(2)]
        result = [
            asking.answer_fields(q, context) for q, context in zip((a, other), desks, strict=True)
        ]
        expected = [without_places(one_said) for one_said in result]
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
    """The steps of the loaded snapshots, in order; the tokenizer is read once."""
    steps: list[int] = []
    load = model_cache.load

    def counting(folder: Path, tokenizer: object = None) -> checkpoint.Checkpoint:
        assert (tokenizer is None) == (not steps), "the tokenizer of a run is read once"
        steps.append(checkpoint_step(folder))
        return load(folder, tokenizer=tokenizer)  # type: ignore[arg-type]

    monkeypatch.setattr(model_cache, "load", counting)
    return steps


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets the free memory, of 8 GB."""
    real = psutil.virtual_memory()

    def set_free(free: int) -> None:
        memory = real._replace(available=free, total=8 * GB)
        monkeypatch.setattr(model_cache.psutil, "virtual_memory", lambda: memory)

    set_free(6 * GB)
    return set_free


def test_the_nearest_are_loaded_ahead_and_kept(
    run,
    loaded,
    memory,
    monkeypatch,
):
    monkeypatch.setattr(model_cache, "MAX_PRELOAD_SECONDS", 100.0)
    models = ModelCache()
    first = models.take(snapshot_folder(run, 8))
    while models.prepare():
        pass
    assert loaded == [8, 16, 4, 32, 2, 33, 1, 0]
    assert models.take(snapshot_folder(run, 8)) is first
    models.take(snapshot_folder(run, 33))
    assert len(loaded) == len(snapshot_folders(run)) == len(models.snapshots.held)


def test_those_that_take_long_are_loaded_when_they_are_asked_about(
    run,
    loaded,
    memory,
    monkeypatch,
):
    monkeypatch.setattr(model_cache, "MAX_PRELOAD_SECONDS", 0.0)
    models = ModelCache()
    models.take(snapshot_folder(run, 8))
    assert not models.prepare() and loaded == [8]


def test_short_memory_evicts_the_farthest_first(run, loaded, memory):
    models = ModelCache()
    for step in (0, 8, 16, 32):
        models.take(snapshot_folder(run, step))
    memory(2 * GB)
    seen: list[int] = []
    real = models.snapshots._has_memory

    def room_for_two() -> bool:
        seen.append(len(models.snapshots.held))
        return seen[-1] <= 2 if len(seen) > 1 else real()

    models.snapshots._has_memory = room_for_two  # type: ignore[method-assign]
    models.take(snapshot_folder(run, 33))
    assert {checkpoint_step(folder) for folder in models.snapshots.held} == {16, 32, 33}
    assert not real()


def test_one_that_changed_on_the_disk_is_loaded_again(run, tmp_path, memory):
    copy = RunFolder(Path(shutil.copytree(run.path, tmp_path / "copy")))
    models = ModelCache()
    before = models.take(snapshot_folder(copy, 4))
    shutil.rmtree(snapshot_folder(copy, 4))
    shutil.copytree(snapshot_folder(copy, 32), snapshot_folder(copy, 4))
    after = models.take(snapshot_folder(copy, 4))
    assert after is not before and replace(after).tokenizer is before.tokenizer


def test_a_damaged_snapshot_is_skipped_and_reported_on_request(run, tmp_path, memory, monkeypatch):
    monkeypatch.setattr(model_cache, "MAX_PRELOAD_SECONDS", 100.0)
    copy = RunFolder(Path(shutil.copytree(run.path, tmp_path / "copy")))
    (snapshot_folder(copy, 16) / "model.safetensors").write_bytes(b"nothing")
    models = ModelCache()
    models.take(snapshot_folder(copy, 8))
    while models.prepare():
        pass
    held = {checkpoint_step(folder) for folder in models.snapshots.held}
    assert held == {0, 1, 2, 4, 8, 32, 33}
    with pytest.raises(BadCheckpoint):
        models.take(snapshot_folder(copy, 16))
