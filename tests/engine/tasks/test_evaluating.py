"""Evaluation in two threads gives the same metrics as in one."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.config.job import JobSpec
from engine.progress import ProgressCallback
from engine.tasks.evaluating import evaluate, for_each
from engine.tasks.learner import PredictionCollector
from engine.training.context import RunContext
from engine.training.setup import TrainingSetup, set_up
from tests.engine.training import small

TASKS: dict[str, Callable[[Path], JobSpec]] = {
    "classes": small.classifying,
    "choices": lambda folder: small.learning("choices", folder),
    "tags": small.tagging,
    "answers": small.answering,
    "masked words and next sentence": small.pairs,
}


def prepare(folder: Path, job: JobSpec) -> TrainingSetup:
    return set_up(RunContext(job, small.new_run(folder / "run", job)))


def run_evaluation(
    prepared: TrainingSetup, micro_size: int = 0
) -> tuple[dict[str, float], list[dict[str, object]]]:
    metrics = evaluate(
        prepared.network,
        prepared.data.learner,
        prepared.data.tokenizer,
        prepared.data.examples_at(0)[0],
        7,
        seed=3,
        micro_batch_size=micro_size,
    )
    answers = metrics.predictions() if isinstance(metrics, PredictionCollector) else []
    return metrics.compute(), answers


@pytest.mark.parametrize("task", TASKS)
def test_two_threads_give_the_results_of_one(task, tmp_path):
    result = prepare(tmp_path, TASKS[task](tmp_path))
    torch.set_num_threads(1)
    metrics, answers = run_evaluation(result)
    torch.set_num_threads(2)
    parallel = run_evaluation(result)
    assert parallel[0] == pytest.approx(metrics, abs=1e-6)
    assert len(parallel[1]) == len(answers)
    for a, other in zip(answers, parallel[1], strict=True):
        numbers = {name: value for name, value in a.items() if isinstance(value, float)}
        assert {name: other[name] for name in numbers} == pytest.approx(numbers, abs=1e-5)
    assert all(run_evaluation(result) == parallel for _ in range(2)), "bit for bit"
    assert run_evaluation(result, micro_size=3)[0] == pytest.approx(metrics, abs=1e-6)


def test_two_threads_evaluate_unless_in_lockstep(tmp_path):
    result = prepare(tmp_path, small.classifying(tmp_path))
    torch.set_num_threads(2)
    forward = result.network.forward
    calls: list[tuple[int, int]] = []
    barrier, parallel = threading.Barrier(2), True

    def recording_forward(*args, **kwargs):
        if parallel and threading.get_ident() not in {thread for thread, _ in calls}:
            barrier.wait(60)
        calls.append((threading.get_ident(), torch.get_num_threads()))
        return forward(*args, **kwargs)

    result.network.forward = recording_forward  # type: ignore[method-assign]
    inputs = (
        result.network,
        result.data.learner,
        result.data.tokenizer,
        result.data.examples_at(0)[0],
        8,
    )
    evaluate(*inputs)
    assert len({thread for thread, _ in calls}) == 2
    assert {number for _, number in calls} == {1}, "each uses its share of the cores"
    assert torch.get_num_threads() == 2
    calls.clear()
    parallel = False
    evaluate(*inputs, lockstep=True)
    assert {*calls} == {(threading.get_ident(), 2)}


@pytest.mark.parametrize("parallel", [False, True])
def test_each_item_is_processed_once_and_errors_end_the_loop(parallel):
    torch.set_num_threads(2)
    processed, reports = list[int](), list[tuple[int, int]]()

    def process(number: int) -> None:
        time.sleep(0.001)
        processed.append(number)
        if number == 3:
            raise MemoryError

    def process_all(items: range, report: ProgressCallback) -> None:
        for_each(items, process, nullcontext, report, parallel)

    process_all(range(4, 204), lambda *counts: reports.append(counts))
    assert sorted(processed) == list(range(4, 204))
    assert reports == sorted(reports)
    assert reports[-1] == (200, 200)
    processed.clear()
    with pytest.raises(MemoryError):
        process_all(range(3000), lambda *counts: None)
    assert 4 <= len(processed) < 10

    def interrupt(count: int, total: int) -> None:
        raise KeyboardInterrupt

    processed.clear()
    with pytest.raises(KeyboardInterrupt):
        process_all(range(4, 3000), interrupt)
    assert 1 <= len(processed) < 10


def test_each_thread_keeps_one_precision_for_all_its_items():
    """Leaving it would drop the cached low-precision weights."""
    torch.set_num_threads(2)
    entered = list[int]()

    @contextmanager
    def precision() -> Iterator[None]:
        entered.append(threading.get_ident())
        yield

    inference_modes = set[bool]()
    barrier = threading.Barrier(2)

    def record_mode(number: int) -> None:
        if number < 2:
            barrier.wait(60)  # both threads take part
        inference_modes.add(torch.is_inference_mode_enabled())

    for_each(range(20), record_mode, precision, lambda *counts: None, parallel=True)
    assert len(entered) == len({*entered}) == 2
    assert inference_modes == {True}


def test_the_longest_examples_are_evaluated_first(tmp_path, monkeypatch):
    result = prepare(tmp_path, small.classifying(tmp_path))
    lengths = list[int]()
    batch = result.data.learner.batch

    def recording_batch(examples, numbers, *args):
        lengths.append(int(examples.lengths[numbers].max()))
        return batch(examples, numbers, *args)

    monkeypatch.setattr(result.data.learner, "batch", recording_batch)
    evaluate(
        result.network,
        result.data.learner,
        result.data.tokenizer,
        result.data.examples_at(0)[0],
        4,
        lockstep=True,
    )
    assert lengths == sorted(lengths, reverse=True)
    assert np.ptp(lengths) > 0
