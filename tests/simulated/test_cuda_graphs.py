"""CUDA graphs give the numbers of eager CPU passes, for every task and family.

A fake of CUDA graphs repeats the captured passes.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.config.job import JobSpec
from engine.messages.events import Prepared
from engine.runs.folder import RunFolder
from engine.tasks.learner import Batch
from engine.training import estimate, loop
from engine.training.device import cuda_graphs
from engine.training.device.cuda_graphs import Captured, Terms, graph_size, pad_to_graph_shape
from tests.engine.training import small
from tests.engine.training.test_families import from_family
from tests.engine.training.test_loop import final, metrics
from tests.engine.training.test_loss_scaling import with_precision
from tests.often import tries
from tests.simulated import test_training
from tests.simulated.device import device, parameters_keep_their_identity
from tests.simulated.test_training import FEW, NEAR, Train, assert_curves_agree, on_device
from tests.tasks.test_table import JOBS

__all__ = ["on_device"]
KINDS = ("question_answering", "multiple_choice", "pretraining")  # tags are below
WAYS: dict[str, dict[str, object]] = {
    "averaged weights, rates by layer": {"ema_decay": 0.9, "layer_lr_decay": 0.8},
    "frozen layers, parts of batches": {"frozen_layers": 1, "micro_batch_size": 3},
}
REFUSED = "CUDA error: operation not permitted when stream is capturing"
made = list[int]()  # how often passes were captured; one entry each, of how often it was replayed


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    monkeypatch.setattr(cuda_graphs, "USED_ON", ("sim",))
    monkeypatch.setattr(cuda_graphs, "new_pool", lambda: None)
    monkeypatch.setattr(cuda_graphs, "capture", captured)


def captured(passes: Callable[[], Terms], pool: Any) -> Captured:
    passes()  # in which libraries take their memory
    terms = passes()
    number = len(made)
    made.append(0)

    def replay() -> None:
        made[number] += 1
        for name, term in passes().items():
            terms[name].copy_(term)

    return replay, terms


def with_graphs(job: JobSpec, wanted: str = "on") -> JobSpec:
    return small.with_hardware(job, cuda_graphs=wanted)


def check(job: JobSpec, folder: Path, on_device: Train) -> RunFolder:
    """Both draw the same curves, and each part of a batch is replayed."""
    run, steps = test_training.check(with_graphs(job), folder, on_device)
    assert sum(made) == steps[-1].to_device * job.training.steps
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_of_every_shape_are_learned_as_on_the_processor(kind, on_device, tmp_path):
    check(JOBS[kind](tmp_path, **FEW), tmp_path, on_device)


@pytest.mark.parametrize("family", ["deberta-v2", "modernbert"])
def test_families_are(family, on_device, tmp_path):
    check(from_family(family, small.classifying(tmp_path), tmp_path, **FEW), tmp_path, on_device)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_is(way, on_device, tmp_path):
    check(small.classifying(tmp_path, **FEW | WAYS[way]), tmp_path, on_device)


@pytest.mark.parametrize(
    "kind, precision", [("text_classification", "bf16"), ("pretraining", "fp16")]
)
def test_short_numbers_are(kind, precision, on_device, tmp_path):
    job = with_precision(JOBS[kind](tmp_path, **FEW), precision)
    whole, short = (
        small.new_run(tmp_path / name, with_graphs(job, target))
        for name, target in (("eager", "off"), ("graphs", "on"))
    )
    on_device(whole)
    on_device(short)
    expected, actual = metrics(whole), metrics(short)
    losses = [curve for curve in expected if "loss" in curve[0]]
    assert losses and sum(made) == job.training.steps
    for curve in losses:
        assert actual[curve] == pytest.approx(expected[curve], abs=NEAR[precision]), curve


def test_a_run_that_is_stopped_and_resumed_changes_nothing_with_dropout(
    on_device, tmp_path, monkeypatch
):
    """A graph that is captured at another step draws nothing from the random state of that step."""
    job = with_graphs(small.classifying(tmp_path, **FEW | {"steps": 4, "dropout": 0.1}))
    calm, stopped = (small.new_run(tmp_path / name, job) for name in ("calm", "stopped"))
    on_device(calm)
    monkeypatch.setattr(loop, "stop_agreed", lambda run: run.progress.step == 2)
    on_device(stopped)
    monkeypatch.setattr(loop, "stop_agreed", lambda run: False)
    on_device(stopped)
    assert final(stopped) == final(calm) and metrics(stopped) == metrics(calm)


def test_a_shape_is_captured_once(on_device, tmp_path):
    job = small.classifying(tmp_path, **FEW | {"steps": 12, "epochs": 6})
    run = check(job, tmp_path, on_device)
    assert len(made) < 12 and max(made) > 1
    (prepared,) = (event for event in run.events_after(0)[0] if isinstance(event, Prepared))
    assert prepared.environment["CUDA graphs"] == "on"


def test_few_graphs_are_kept(on_device, tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "MAX_GRAPHS", 1)
    widths = set[int]()
    monkeypatch.setattr(cuda_graphs, "graph_size", lambda number: widths.add(number) or number)
    job = small.tagging(tmp_path, **FEW | {"steps": 12, "epochs": 6})
    check(job, tmp_path, on_device)
    assert len(made) > len(widths) > 1


@pytest.mark.parametrize("faster", [True, False])
def test_auto_uses_the_faster_measurement(faster, on_device, tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "MIN_SPEEDUP", 0.0 if faster else 1e9)
    job = with_graphs(small.classifying(tmp_path, **FEW), "auto")
    calm, run = small.trained(tmp_path / "calm", job), small.new_run(tmp_path / "run", job)
    steps = on_device(run)
    measured = cuda_graphs.WARM_UP_PASSES + cuda_graphs.TIMED_PASSES
    assert sum(made) == measured + (len(steps) if faster else 0)
    assert_curves_agree(run, calm)  # what was measured has left no trace
    (prepared,) = (event for event in run.events_after(0)[0] if isinstance(event, Prepared))
    assert prepared.environment["CUDA graphs"] == ("on" if faster else "off")
    (note,) = small.notes(run)
    assert re.fullmatch(
        r"Forward and backward pass of a batch: [\d.]+ ms with CUDA graphs \(\d\d? % of the "
        r"tokens are padding\), [\d.]+ ms without\.",
        note,
    )


def test_an_error_that_is_none_of_capturing_is_not_passed_over(on_device, tmp_path, monkeypatch):
    def broken(*_: Any) -> Captured:
        raise RuntimeError("the network is wrong")

    monkeypatch.setattr(cuda_graphs, "capture", broken)
    run = small.new_run(tmp_path / "run", with_graphs(small.classifying(tmp_path, **FEW), "auto"))
    with pytest.raises(RuntimeError, match="the network is wrong"):
        on_device(run)


@pytest.mark.parametrize(
    "wanted, error, why",
    [
        ("on", torch.OutOfMemoryError("out of memory"), "there is too little memory for them."),
        ("auto", RuntimeError(REFUSED), "this network or GPU does not allow capturing."),
    ],
)
def test_without_graph_support_a_run_trains_and_reports_it(
    wanted,
    error,
    why,
    on_device,
    tmp_path,
    monkeypatch,
):
    def failing(*_: Any) -> Captured:
        raise type(error)(*error.args)  # a new one, without references to frames

    monkeypatch.setattr(cuda_graphs, "capture", failing)
    job = with_graphs(small.classifying(tmp_path, **FEW), wanted)
    calm, run = small.trained(tmp_path / "calm", job), small.new_run(tmp_path / "run", job)
    on_device(run)
    assert_curves_agree(run, calm)
    assert small.notes(run) == [f"No CUDA graphs: {why}"]


def test_uncapturable_runs_are_not_captured_and_reported(on_device, tmp_path):
    job = small.classifying(tmp_path, **FEW | {"gradient_checkpointing": True})
    requested, left = (
        small.new_run(tmp_path / item, with_graphs(job, item)) for item in ("on", "auto")
    )
    for run in (requested, left):
        on_device(run)
    assert not made and not small.notes(left)
    (note,) = small.notes(requested)
    assert note.startswith("No CUDA graphs: they need an NVIDIA GPU and a single process")


@given(st.integers(1, 100_000))
@tries(200)
def test_at_most_a_quarter_is_added_to_a_size(number):
    assert number <= graph_size(number) and graph_size(number) % 8 == 0
    assert graph_size(number) < max(number + 8, 1.25 * number + 1)
    assert graph_size(graph_size(number)) == graph_size(number)


def test_sizes_are_few():
    assert len({graph_size(number) for number in range(1, 513)}) == 20
    assert len({graph_size(number) for number in range(1, 20_000)}) < 45


def test_padding_a_batch_changes_no_loss():
    tokens = torch.arange(3 * 72).view(3, 72)
    positions, targets = torch.tensor([1, 73, 215]), torch.tensor([7, 8, 9])
    inputs = Batch(tokens, torch.zeros_like(tokens), None, targets, positions)
    result = pad_to_graph_shape(inputs, 1, 512, -100)
    assert result.tokens.shape == (3, 80) and result.attention_mask is not None
    assert result.attention_mask.sum() == 3 * 72
    assert result.positions is not None and result.positions.tolist() == [1, 81, 231, 0, 0, 0, 0, 0]
    assert result.targets.tolist() == [7, 8, 9, *[-100] * 5]
    flat, before = result.tokens.flatten(), tokens.flatten()
    assert torch.equal(flat[result.positions[:3]], before[positions])
    assert (result.tokens[:, 72:] == 1).all()
    assert pad_to_graph_shape(inputs, 1, 74, -100).tokens.shape == (3, 74)


def test_time_and_memory_of_a_job_are_measured_with_graphs(tmp_path, monkeypatch):
    choose = estimate.choose_machine
    monkeypatch.setattr(
        estimate, "choose_machine", lambda *a, **n: replace(choose(*a, **n), device=device())
    )
    with parameters_keep_their_identity():
        estimated = estimate.estimate(
            with_graphs(small.classifying(tmp_path, **FEW)), lambda _: None
        )
    assert sum(made) > 2 and estimated.seconds > 0
