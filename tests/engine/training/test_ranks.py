"""Data parallelism: the same curves and files with any number of processes."""

import contextlib
import io
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import psutil
import pytest
import safetensors.torch
import torch
from pydantic import ValidationError

from engine.cli import main as cli
from engine.config.job import JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.messages.events import Ended, Event, Measured, Noted, Prepared, Saved, Started
from engine.runs import launch
from engine.runs.folder import RunFolder
from engine.runs.ranks import Rank
from engine.runs.reproducibility import read_reproducibility
from engine.tasks.learner import Batch
from engine.training.context import RunContext
from engine.training.device.machine import Machine
from engine.training.device.ranks import Ranks, balance
from engine.training.estimate import estimate
from engine.training.loop import agree_on_stop
from engine.training.start import start
from engine.worker.ranks import loopback_env, rank_failure, write_final_event
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.crew import Crew
from tests.engine.training.test_loop import final, metrics
from tests.engine.training.test_loss_scaling import (
    NEAR,
    load_progress,
    set_first_scale,
    skipped_notes,
    with_precision,
)

pytestmark = pytest.mark.skipif(os.name == "nt", reason="ranks are forked")
CLOSE = 1e-5  # of curves with ranks from those of one process, without dropout
PATIENCE = 240  # s for a worker to do what a test waits for


def pairs(folder: Path, **training: object) -> JobSpec:
    task = Pretraining(nsp=True, whole_word_masking=True)
    return small.pretraining(folder, **training).model_copy(update={"task": task})


# one task for each way of splitting a batch; tests/engine/tasks shows for every task that the
# losses of the parts add up
TASKS: dict[str, Callable[..., JobSpec]] = {
    "answers": small.answering,
    "choices": lambda folder, **t: small.learning("choices", folder, micro_batch_size=3, **t),
    "averaged adapters": lambda folder, **t: small.adapted(folder, ema_decay=0.9, **t),
    "cached layers": lambda folder, **t: small.tagging(
        folder, frozen_layers=1, cache_frozen_layers=True, **t
    ),
}


@pytest.fixture(scope="module")
def reference(crew: Crew, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of one process: MLM and NSP, 5 steps, without dropout."""
    folder = tmp_path_factory.mktemp("reference")
    job = pairs(folder, steps=5, evaluate_every=3, save_every=3, dropout=0.0, learning_rate=1e-3)
    run = small.new_run(folder / "run", job)
    assert crew.train(run, 1) == [0]
    return run


def distance(run: RunFolder, other: RunFolder) -> float:
    """Largest difference between two curves."""
    ours, theirs = metrics(run), metrics(other)
    assert ours.keys() == theirs.keys()
    return max(abs((ours[key] or 0) - (theirs[key] or 0)) for key in ours)


def last_plan(run: RunFolder) -> Prepared:
    return next(e for e in reversed(run.milestones()) if isinstance(e, Prepared))


def last_ended(run: RunFolder) -> Ended:
    last = run.last_events()[-1]
    assert isinstance(last, Ended)
    return last


def check_curves(alone: RunFolder, parallel: RunFolder) -> None:
    """Check that two ranks emitted the curves and notes of one process."""
    assert distance(alone, parallel) < CLOSE
    points = [(e.name, e.step) for e in parallel.events_after(0)[0] if isinstance(e, Measured)]
    assert max(Counter(points).values()) == 1  # only one rank emits
    saved = [e.step for e in parallel.events_after(0)[0] if isinstance(e, Saved)]
    assert saved == [e.step for e in alone.events_after(0)[0] if isinstance(e, Saved)]
    assert last_plan(parallel).processes == 2
    assert (
        read_reproducibility(parallel).obstacles == ()
        and read_reproducibility(parallel).environment["processes"] == "2"
    )


def test_two_ranks_have_the_curves_of_one_process(reference, crew, tmp_path):
    parallel = small.new_run(tmp_path / "parallel", reference.job())
    assert crew.train(parallel, 2) == [0, 0]
    check_curves(reference, parallel)


@pytest.mark.parametrize("task", TASKS)
def test_two_ranks_have_the_curves_of_one_process_in_other_tasks(task, crew, tmp_path):
    job = TASKS[task](tmp_path, dropout=0.0)
    job = small.with_training(job, steps=3, evaluate_every=2, save_every=2, learning_rate=1e-3)
    alone, parallel = (small.new_run(tmp_path / name, job) for name in ("alone", "parallel"))
    assert crew.train(alone, 1) == [0]
    assert crew.train(parallel, 2) == [0, 0]
    check_curves(alone, parallel)


def test_another_number_of_ranks_keeps_the_order(reference, crew, tmp_path):
    stopped = small.new_run(tmp_path / "stopped", reference.job())
    assert crew.train(stopped, 3, stop_after=4) == [0, 0, 0]
    assert (last_ended(stopped).outcome, last_ended(stopped).step) == ("stopped", 4)
    assert crew.train(stopped, 2) == [0, 0]
    assert distance(reference, stopped) < CLOSE
    assert last_plan(stopped).differences == ("processes 3 → 2",)


def test_the_same_number_of_ranks_repeats_bit_for_bit(crew, tmp_path):
    job = small.classifying(tmp_path, dropout=0.1, steps=4)
    reference, stopped, alone = (
        small.new_run(tmp_path / n, job) for n in ("reference", "stopped", "alone")
    )
    assert crew.train(reference, 2) == [0, 0]
    assert crew.train(stopped, 2, stop_after=3) == [0, 0]
    assert crew.train(stopped, 2) == [0, 0]
    assert crew.train(alone, 1) == [0]
    assert final(reference) == final(stopped)
    assert metrics(reference) == metrics(stopped)
    assert metrics(alone) != metrics(reference)  # other dropout


def test_the_resume_command_changes_the_number_of_processes(reference, crew, tmp_path):
    run = small.new_run(tmp_path / "run", small.with_hardware(reference.job(), processes=2))
    assert crew.train(run, 2, stop_after=4) == [0, 0]
    assert cli(["resume", str(run.path), "--processes", "1"]) == 0
    assert last_ended(run).outcome == "finished" and distance(reference, run) < CLOSE
    assert last_plan(run).processes == 1 and last_plan(run).differences == ("processes 2 → 1",)


def test_unsupported_cluster_jobs_are_refused(tmp_path, capsys):
    file, into = tmp_path / "job.json", tmp_path / "run"

    def cluster(job: JobSpec, *options: str) -> str:
        file.write_text(job.model_dump_json())
        code = cli(["cluster", str(file), "--into", str(into), *options])
        captured = capsys.readouterr()
        assert (code == 0) == into.exists()
        return captured.out + captured.err

    job = small.classifying(tmp_path)
    assert "8 is too small for 16 processes" in cluster(job, "--nodes", "2", "--processes", "8")
    two_seeds = job.training.model_copy(update={"seeds": 2})
    assert "has a folder for each" in cluster(job.model_copy(update={"training": two_seeds}))
    output = cluster(job, "--nodes", "2", "--processes", "4")
    assert output.count("--nnodes 2 --nproc-per-node 4") == 2
    assert "#SBATCH --nodes=2 --ntasks-per-node=1 --gpus-per-node=4" in output
    assert RunFolder(into).job() == job


def test_more_ranks_than_examples_in_the_last_batch(crew, tmp_path):
    job = small.classifying(tmp_path, dropout=0.0, batch_size=4, steps=6, learning_rate=1e-3)
    rows = small.sentences(tmp_path / "sentences.csv", 17).read_text().splitlines()
    (tmp_path / "dev.csv").write_text("\n".join(rows[:9]))
    data = job.data.model_copy(update={"validation": tmp_path / "dev.csv"})
    job = job.model_copy(update={"data": data})
    alone, many = (small.new_run(tmp_path / name, job) for name in ("alone", "many"))
    assert crew.train(alone, 1) == [0]
    assert crew.train(many, 3) == [0, 0, 0]
    assert last_plan(alone).examples == 17  # the last batch has one
    assert distance(alone, many) < CLOSE


def sharded(job: JobSpec, **training: object) -> JobSpec:
    return small.with_training(small.with_hardware(job, processes=2, sharded=True), **training)


def test_sharded_weights_learn_the_same(reference, crew, tmp_path):
    sharded_run = small.new_run(tmp_path / "spread", sharded(reference.job()))
    assert crew.train(sharded_run, 2, stop_after=4) == [0, 0]
    assert last_plan(sharded_run).environment["processes"] == "2, sharded"
    assert crew.train(sharded_run, 3) == [0, 0, 0]
    assert distance(reference, sharded_run) < CLOSE
    ours, theirs = (load(run.checkpoint_folders()[-1]) for run in (reference, sharded_run))
    assert ours.keys() == theirs.keys()
    for name in (n for n in ours if "key" not in n):  # the gradient of its bias is noise
        torch.testing.assert_close(theirs[name], ours[name], atol=1e-4, rtol=0)


def load(checkpoint: Path) -> dict[str, torch.Tensor]:
    """All tensors of a checkpoint and its optimiser."""
    result = {}
    for file in ("model.safetensors", "resume/optimiser.safetensors"):
        tensors = safetensors.torch.load_file(checkpoint / file)
        result |= {f"{file} {name}": tensor for name, tensor in tensors.items()}
    return result


@pytest.mark.long
def test_sharded_weights_repeat_bit_for_bit(crew, tmp_path):
    job = sharded(  # some parts of three have no padding, and are evaluated in another way
        small.classifying(tmp_path), steps=3, dropout=0.1, micro_batch_size=3, layer_lr_decay=0.9
    )
    options = {"gradient_checkpointing": True, "frozen_layers": 1, "cache_frozen_layers": True}
    job = sharded(job, **options)
    reference, stopped = (small.new_run(tmp_path / name, job) for name in ("reference", "stopped"))
    assert crew.train(reference, 2) == [0, 0]
    assert crew.train(stopped, 2, stop_after=2) == [0, 0]
    assert crew.train(stopped, 2) == [0, 0]
    assert final(reference) == final(stopped)


@pytest.mark.parametrize("weights", ["copied", pytest.param("sharded", marks=pytest.mark.long)])
def test_all_ranks_skip_the_same_steps_in_fp16(weights, crew, tmp_path, monkeypatch):
    job = with_precision(pairs(tmp_path, steps=14, save_every=14, evaluate_every=14, dropout=0.0))
    first = small.new_run(tmp_path / "begun", job)
    set_first_scale(monkeypatch, 2.0**22)

    def stop(event: object) -> None:
        if isinstance(event, Measured):
            first.request_stop()

    assert work(first.path, stop) == 0
    first.clear_stop()
    alone, parallel = (RunFolder(tmp_path / name) for name in ("alone", "parallel"))
    for run in (alone, parallel):
        shutil.copytree(first.path, run.path)
    if weights == "sharded":
        parallel.spec_file.write_text(sharded(job).model_dump_json())
    assert crew.train(alone, 1) == [0]
    assert crew.train(parallel, 2) == [0, 0]
    theirs, steps = metrics(alone), skipped_steps(alone)
    ours, common = metrics(parallel), steps & skipped_steps(parallel)
    assert load_progress(parallel).loss_scale == 2.0 ** (22 - len(skipped_steps(parallel)))
    assert len(common) > 3
    diverged = min(steps ^ skipped_steps(parallel), default=14)  # parts overflow a bit later
    losses = [key for key in theirs if key[0] == "loss" and key[1] <= diverged]
    assert len(losses) > len(common) + 3
    for key in losses:
        assert ours[key] == pytest.approx(theirs[key], abs=NEAR)


def skipped_steps(run: RunFolder) -> set[int]:
    return {int(note.split(" step ")[1].split()[0]) for note in skipped_notes(run)}


def test_ranks_get_equal_tokens():
    rng = np.random.default_rng(1)
    tokens, longest = np.zeros(4), 0
    for _ in range(100):
        lengths = np.sort(rng.geometric(0.06, 32).clip(3, 128))
        shares = balance(lengths, 4)
        assert sorted(np.concatenate(shares).tolist()) == list(range(32))
        sums = np.array([lengths[numbers].sum() for numbers in shares])
        assert np.ptp(sums) <= lengths.max()
        assert np.ptp(sums) <= 0.1 * sums.max() or lengths.max() > 0.2 * sums.max()
        tokens, longest = tokens + sums, max(longest, lengths.max())
    assert np.ptp(tokens) < 0.02 * tokens.mean()
    assert [len(numbers) for numbers in balance(np.full(12, 128), 4)] == [3, 3, 3, 3]


def test_taken_examples_keep_all_their_tensors():
    lengths, endings = (2, 3, 9, 12), 2
    real = torch.zeros(8, 16, dtype=torch.bool)
    for row in range(8):
        real[row, : lengths[row // endings]] = True
    tokens = torch.arange(8 * 16).view(8, 16)
    positions = torch.tensor([1, 16 * 2 + 2, 16 * 5 + 8, 16 * 7 + 11])
    values = tokens.view(-1)[positions]
    batch = Batch(tokens, tokens + 1, real, values, positions, torch.arange(4), torch.arange(4), 2)
    middle = batch.take(np.array([1, 2]))
    assert middle.tokens.shape == (4, 16) and middle.size == 2
    assert middle.tokens.tolist() == tokens[2:6].tolist()
    assert middle.positions is not None and middle.nsp_targets is not None
    assert middle.tokens.view(-1)[middle.positions].tolist() == middle.targets.tolist() == [34, 88]
    assert middle.nsp_targets.tolist() == [1, 2]
    shortest = batch.take(np.array([0, 1]))
    assert shortest.tokens.shape == (4, 8) and shortest.targets.tolist() == [1, 34]


def test_processes_without_examples_are_refused(tmp_path):
    job = small.classifying(tmp_path, batch_size=2).model_dump()
    job["hardware"]["processes"] = 3
    with pytest.raises(ValidationError, match="cannot be shared by 3 processes"):
        JobSpec.model_validate(job)
    job["hardware"] = {"processes": 1, "sharded": True}
    with pytest.raises(ValidationError, match="needs at least 2 processes"):
        JobSpec.model_validate(job)
    job["hardware"] = {"processes": 2, "sharded": True}
    job["training"]["ema_decay"] = 0.9
    with pytest.raises(ValidationError, match="cannot be combined with"):
        JobSpec.model_validate(job)


def test_the_estimated_memory_is_that_of_all_processes(tmp_path):
    job = small.classifying(tmp_path)
    stages: list[str] = []
    alone = estimate(job, stages.append)
    parallel = estimate(small.with_hardware(job, processes=2), stages.append)
    assert parallel.steps == alone.steps
    assert parallel.memory == pytest.approx(2 * alone.memory, rel=0.1)


# ── the worker and its ranks as processes ────────────────────────────────────────────────────


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)


def last_step(run: RunFolder) -> int:
    return max((step for name, step in metrics(run) if name == "loss"), default=0)


def get_rank(worker: int, number: int) -> psutil.Process:
    """A rank among the child processes of a worker."""
    ranks = psutil.Process(worker).children()
    return next(r for r in ranks if r.environ()["RANK"] == str(number))


@pytest.mark.long
@pytest.mark.parametrize("numbers", [(1,), (1, 0)])
def test_a_run_resumes_after_its_ranks_were_killed(numbers, crew, tmp_path):
    """Also after the worker is killed, which ends its ranks."""
    job = small.with_hardware(
        small.classifying(tmp_path, dropout=0.1, steps=100_000, save_every=5), processes=2
    )
    reference, killed = (small.new_run(tmp_path / name, job) for name in ("reference", "killed"))
    for number in numbers:  # rank 0, which writes, is the second
        before, worker = last_step(killed), launch.start(killed.path)
        until(partial(small.has_seen, killed, before + 6))
        started = killed.last_started()
        assert started is not None and started.pid == worker.pid and killed.has_worker()
        get_rank(worker.pid, number).send_signal(signal.SIGKILL)
        assert worker.wait(PATIENCE) == 1
        assert not killed.has_worker() and not (killed.cache / "ranks").exists()
        ended = last_ended(killed)
        assert ended.outcome == "failed" and not ended.bug
        assert f"Process {number + 1} of 2 (rank {number}) was killed (SIGKILL" in ended.problem
    worker, before = launch.start(killed.path), last_step(killed)
    until(partial(small.has_seen, killed, before + 3))
    ranks = psutil.Process(worker.pid).children()
    worker.kill()
    worker.wait()
    _, alive = psutil.wait_procs(ranks, PATIENCE)
    assert len(ranks) == 2 and not alive and not killed.has_worker()
    assert not any("damaged" in e.text for e in killed.milestones() if isinstance(e, Noted))
    end = last_step(killed) + 3
    for run in (killed, reference):
        assert crew.train(run, 2, stop_after=end) == [0, 0]
        assert last_ended(run).step == end
    assert final(killed) == final(reference)


def test_the_reason_of_a_failed_rank_is_reported(tmp_path):
    write_final_event(tmp_path, 1, Ended(outcome="failed", problem="No GPU.", advice="Buy one."))
    assert (
        str(rank_failure((1, 1), 2, tmp_path)) == "Process 2 of 2 (rank 1) failed: No GPU. Buy one."
    )
    assert "rank 0) ended with exit code 7" in rank_failure((0, 7), 2, tmp_path).problem
    assert "the checkpoints" in rank_failure(None, 2, tmp_path).advice.lower()


def test_the_rank_with_the_least_memory_decides_for_all(tmp_path):
    class RanksWithLessMemory(Ranks):
        def maximum(self, *values: float) -> list[float]:
            return [max(pair) for pair in zip(values, (1.0, 1 / 3), strict=True)]

    events: list[Event] = []
    job = small.classifying(tmp_path)
    context = RunContext(job, small.new_run(tmp_path / "run", job), events.append)
    machine = Machine(torch.device("cpu"), "fp32", 1)
    run = start(context, machine, RanksWithLessMemory(Rank(), machine.device), None)
    run.progress.micro_batch_size = 8
    events.clear()
    assert agree_on_stop(run)  # another rank is asked to stop
    assert run.progress.micro_batch_size == 3
    assert [e.exact for e in events if isinstance(e, Noted)] == [False]
    assert agree_on_stop(run) and len(events) == 1


@pytest.mark.long
@pytest.mark.parametrize("deaths", [0, 1])
def test_torchrun_trains_the_same_and_restarts_dead_ranks(deaths, crew, tmp_path):
    job = small.classifying(tmp_path, dropout=0.1, steps=60 if deaths else 6, save_every=5)
    ours, theirs = (tmp_path / "ours"), (tmp_path / "theirs")
    assert crew.train(small.new_run(ours, job), 2) == [0, 0]
    (tmp_path / "job.json").write_text(job.model_dump_json())
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        command = ["cluster", str(tmp_path / "job.json"), "--into", str(theirs)]
        assert cli([*command, "--processes", "2"]) == 0
    line = output.getvalue().splitlines()[1]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | loopback_env()
    with open(tmp_path / "log", "wb") as log:
        torchrun = subprocess.Popen(shlex.split(line), env=environment, stderr=log)
        if deaths:
            until(lambda: small.has_seen(RunFolder(theirs), 20))
            get_rank(torchrun.pid, 1).send_signal(signal.SIGKILL)
        assert torchrun.wait(PATIENCE) == 0, (tmp_path / "log").read_text()
    run = RunFolder(theirs)
    assert last_ended(run).outcome == "finished"
    assert len([e for e in run.milestones() if isinstance(e, Started)]) == 1 + deaths
    assert final(run) == final(RunFolder(ours))
