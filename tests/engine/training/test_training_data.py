"""Which examples the steps see."""

from pathlib import Path

import pytest

from engine.config.tasks.pretraining import Pretraining
from engine.training import loop
from engine.training.context import RunContext
from engine.training.data.prefetch import batches
from engine.training.setup import set_up
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.finished import losses, notes, trained
from tests.engine.training.small import new_run, pretraining
from tests.engine.training.test_loop import final, metrics


def test_the_last_steps_see_long_inputs(tmp_path: Path) -> None:
    job = pretraining(tmp_path, steps=10, max_length=16)
    task = Pretraining(long_length=48, long_share=0.3)
    job = job.model_copy(update={"task": task})
    prepared = set_up(RunContext(job, new_run(tmp_path / "run", job)))
    widths = []
    for step in range(10):
        examples, numbers = prepared.data.examples_at(step)
        widths.append(int(examples.tokenized.lengths[numbers].max()))
    assert max(widths[:7]) <= 16 < min(widths[7:]) <= max(widths) == 48
    run, _, told = trained(tmp_path / "trained", job)
    assert len(losses(told)) == 10 and run.checkpoint_folders()
    cut = job.model_copy(update={"task": Pretraining(long_length=512)})
    said: list[object] = []
    set_up(RunContext(cut, new_run(tmp_path / "cut", cut), said.append))
    assert any("truncated to 64 tokens" in text for text in notes(said))


def test_a_thread_makes_the_same_batches(tmp_path: Path) -> None:
    job = small.pretraining(tmp_path)
    setup = set_up(RunContext(job, small.new_run(tmp_path / "run", job)))
    data = setup.data
    plain, early = (
        list(batches(data, 3, network is not None, network)) for network in (None, setup.network)
    )
    assert len(plain) == len(early) == data.steps - 3
    for one, other in zip(plain, early, strict=True):
        assert one.examples is other.examples
        assert one.indices.tolist() == other.indices.tolist()
        assert one.batch.tokens.tolist() == other.batch.tokens.tolist()
        assert one.batch.targets.tolist() == other.batch.targets.tolist()
        assert one.batch.unpadded is None and other.batch.unpadded is not None


def test_a_run_with_a_thread_ends_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = small.classifying(tmp_path, dropout=0.1, steps=14)
    plain, early = (small.new_run(tmp_path / name, job) for name in ("plain", "early"))
    assert work(plain.path) == 0
    setup = set_up(RunContext(job, small.new_run(tmp_path / "other", job)))
    network, steps = setup.network, list(batches(setup.data, 0))
    tokens = [int(step.examples.lengths[step.indices].sum()) for step in steps]
    monkeypatch.setattr(
        loop, "batches", lambda data, first, *_: batches(data, first, True, network)
    )
    stopped = False

    def stop_once(event: object) -> None:
        nonlocal stopped
        if not stopped and small.has_seen(early, 6):
            stopped = True
            early.request_stop()

    assert work(early.path, stop_once) == 0
    early.clear_stop()
    assert work(early.path) == 0
    assert stopped and final(early) == final(plain) and metrics(early) == metrics(plain)
    counted = {step: n for (name, step), n in metrics(early).items() if name == "tokens"}
    assert counted == {step + 1: sum(tokens[: step + 1]) for step in range(14)}
