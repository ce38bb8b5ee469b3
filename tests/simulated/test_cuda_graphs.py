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
from tests.simulated.device import device, keep_parameters
from tests.simulated.test_training import SHORT, TOLERANCE, Train, assert_curves_agree, on_device
from tests.tasks.jobs import JOBS

__all__ = ["on_device"]
KINDS = ("question_answering", "multiple_choice")  # tags and pre-training are below
OPTIONS = {"ema_decay": 0.9, "layer_lr_decay": 0.8, "frozen_layers": 1, "micro_batch_size": 3}
CAPTURE_ERROR = "CUDA error: operation not permitted when stream is capturing"
replays = list[int]()  # how often each captured graph was replayed


@pytest.fixture(autouse=True)
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    replays.clear()
    monkeypatch.setattr(cuda_graphs, "GRAPH_DEVICES", ("sim",))
    monkeypatch.setattr(cuda_graphs, "new_pool", lambda: None)
    monkeypatch.setattr(cuda_graphs, "capture", fake_capture)


def fake_capture(passes: Callable[[], Terms], pool: Any) -> Captured:
    passes()  # warm-up: libraries allocate memory
    terms = passes()
    index = len(replays)
    replays.append(0)

    def replay() -> None:
        replays[index] += 1
        for name, term in passes().items():
            terms[name].copy_(term)

    return replay, terms


def with_graphs(job: JobSpec, setting: str = "on") -> JobSpec:
    return small.with_hardware(job, cuda_graphs=setting)


def check(job: JobSpec, folder: Path, on_device: Train) -> RunFolder:
    """Check that curves match those of the CPU, and that each part of a batch is replayed."""
    run, steps = test_training.check(with_graphs(job), folder, on_device)
    assert sum(replays) == steps[-1].to_device * job.training.steps
    return run


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_train_as_on_the_cpu(kind, on_device, tmp_path):
    check(JOBS[kind](tmp_path, **SHORT), tmp_path, on_device)


@pytest.mark.parametrize(
    "family", ["deberta-v2", pytest.param("modernbert", marks=pytest.mark.long)]
)
def test_families_train_as_on_the_cpu(family, on_device, tmp_path):
    check(from_family(family, small.classifying(tmp_path), tmp_path, **SHORT), tmp_path, on_device)


def test_options_train_as_on_the_cpu(on_device, tmp_path):
    check(small.classifying(tmp_path, **SHORT | OPTIONS), tmp_path, on_device)


@pytest.mark.parametrize(
    "kind, precision",
    [
        pytest.param("text_classification", "bf16", marks=pytest.mark.long),
        ("pretraining", "fp16"),
    ],
)
def test_reduced_precision_trains_as_without_graphs(kind, precision, on_device, tmp_path):
    job = with_precision(JOBS[kind](tmp_path, **SHORT), precision)
    eager, graphs = (
        small.new_run(tmp_path / name, with_graphs(job, setting))
        for name, setting in (("eager", "off"), ("graphs", "on"))
    )
    on_device(eager)
    on_device(graphs)
    expected, actual = metrics(eager), metrics(graphs)
    losses = [curve for curve in expected if "loss" in curve[0]]
    assert losses and sum(replays) == job.training.steps
    for curve in losses:
        assert actual[curve] == pytest.approx(expected[curve], abs=TOLERANCE[precision]), curve


def test_stopping_and_resuming_with_dropout_changes_nothing(on_device, tmp_path, monkeypatch):
    """Capturing a graph at another step does not use the random state of that step."""
    job = with_graphs(small.classifying(tmp_path, **SHORT | {"steps": 3, "dropout": 0.1}))
    complete, stopped = (small.new_run(tmp_path / name, job) for name in ("complete", "stopped"))
    on_device(complete)
    monkeypatch.setattr(loop, "agree_on_stop", lambda run: run.progress.step == 2)
    on_device(stopped)
    monkeypatch.setattr(loop, "agree_on_stop", lambda run: False)
    on_device(stopped)
    assert final(stopped) == final(complete) and metrics(stopped) == metrics(complete)


def test_a_shape_is_captured_once(on_device, tmp_path):
    job = small.classifying(tmp_path, **SHORT | {"steps": 4, "epochs": 6})
    run = check(job, tmp_path, on_device)
    assert len(replays) < 4 and max(replays) > 1
    (prepared,) = (event for event in run.events_after(0)[0] if isinstance(event, Prepared))
    assert prepared.environment["CUDA graphs"] == "on"


def test_the_number_of_graphs_is_limited(on_device, tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "MAX_GRAPHS", 1)
    widths = set[int]()
    monkeypatch.setattr(cuda_graphs, "graph_size", lambda number: widths.add(number) or number)
    job = small.tagging(tmp_path, **SHORT | {"steps": 9, "epochs": 6})
    check(job, tmp_path, on_device)
    assert len(replays) > len(widths) > 1


@pytest.mark.parametrize("faster", [True, False])
def test_auto_uses_the_faster_measurement(faster, on_device, tmp_path, monkeypatch):
    monkeypatch.setattr(cuda_graphs, "MIN_SPEEDUP", 0.0 if faster else 1e9)
    monkeypatch.setattr(cuda_graphs, "TIMED_PASSES", 2)
    job = with_graphs(small.classifying(tmp_path, **SHORT), "auto")
    reference, run = small.trained(tmp_path / "cpu", job), small.new_run(tmp_path / "run", job)
    steps = on_device(run)
    assert sum(replays) == cuda_graphs.TIMING_WARM_UP + 2 + (len(steps) if faster else 0)
    assert_curves_agree(run, reference)  # measuring has no effect on training
    (prepared,) = (event for event in run.events_after(0)[0] if isinstance(event, Prepared))
    assert prepared.environment["CUDA graphs"] == ("on" if faster else "off")
    (note,) = small.notes(run)
    assert re.fullmatch(
        r"Forward and backward pass of a batch: [\d.]+ ms with CUDA graphs \(\d\d? % of the "
        r"tokens are padding\), [\d.]+ ms without\.",
        note,
    )


def test_errors_outside_of_capturing_are_raised(on_device, tmp_path, monkeypatch):
    def broken(*_: Any) -> Captured:
        raise RuntimeError("the network is wrong")

    monkeypatch.setattr(cuda_graphs, "capture", broken)
    run = small.new_run(tmp_path / "run", with_graphs(small.classifying(tmp_path, **SHORT), "auto"))
    with pytest.raises(RuntimeError, match="the network is wrong"):
        on_device(run)


@pytest.mark.parametrize(
    "setting, error, reason",
    [
        ("on", torch.OutOfMemoryError("out of memory"), "there is not enough memory for them."),
        ("auto", RuntimeError(CAPTURE_ERROR), "this network or GPU does not allow capturing."),
    ],
)
def test_without_graph_support_a_run_trains_and_reports_it(
    setting, error, reason, on_device, tmp_path, monkeypatch
):
    def failing(*_: Any) -> Captured:
        raise type(error)(*error.args)  # new, without references to frames

    monkeypatch.setattr(cuda_graphs, "capture", failing)
    job = with_graphs(small.classifying(tmp_path, **SHORT), setting)
    reference, run = small.trained(tmp_path / "cpu", job), small.new_run(tmp_path / "run", job)
    on_device(run)
    assert_curves_agree(run, reference)
    assert small.notes(run) == [f"No CUDA graphs: {reason}"]


def test_uncapturable_runs_are_not_captured_and_reported(on_device, tmp_path):
    job = small.classifying(tmp_path, **SHORT | {"gradient_checkpointing": True})
    requested, automatic = (
        small.new_run(tmp_path / setting, with_graphs(job, setting)) for setting in ("on", "auto")
    )
    for run in (requested, automatic):
        on_device(run)
    assert not replays and not small.notes(automatic)
    (note,) = small.notes(requested)
    assert note.startswith("No CUDA graphs: they need an NVIDIA GPU and a single process")


@given(st.integers(1, 100_000))
@tries(200)
def test_a_graph_size_adds_at_most_a_quarter(number):
    assert number <= graph_size(number) and graph_size(number) % 8 == 0
    assert graph_size(number) < max(number + 8, 1.25 * number + 1)
    assert graph_size(graph_size(number)) == graph_size(number)


def test_there_are_few_graph_sizes():
    assert len({graph_size(number) for number in range(1, 513)}) == 20
    assert len({graph_size(number) for number in range(1, 20_000)}) < 45


def test_padding_a_batch_keeps_tokens_and_targets():
    tokens = torch.arange(3 * 72).view(3, 72)
    positions, targets = torch.tensor([1, 73, 215]), torch.tensor([7, 8, 9])
    batch = Batch(tokens, torch.zeros_like(tokens), None, targets, positions)
    result = pad_to_graph_shape(batch, 1, 512, -100)
    assert result.tokens.shape == (3, 80) and result.attention_mask is not None
    assert result.attention_mask.sum() == 3 * 72
    assert result.positions is not None and result.positions.tolist() == [1, 81, 231, 0, 0, 0, 0, 0]
    assert result.targets.tolist() == [7, 8, 9, *[-100] * 5]
    flat, before = result.tokens.flatten(), tokens.flatten()
    assert torch.equal(flat[result.positions[:3]], before[positions])
    assert (result.tokens[:, 72:] == 1).all()
    assert pad_to_graph_shape(batch, 1, 74, -100).tokens.shape == (3, 74)


def test_time_and_memory_of_a_job_are_measured_with_graphs(tmp_path, monkeypatch):
    choose = estimate.choose_machine
    monkeypatch.setattr(
        estimate, "choose_machine", lambda *a, **n: replace(choose(*a, **n), device=device())
    )
    with keep_parameters():
        estimated = estimate.estimate(
            with_graphs(small.classifying(tmp_path, **SHORT)), lambda _: None
        )
    assert sum(replays) > 2 and estimated.seconds > 0
