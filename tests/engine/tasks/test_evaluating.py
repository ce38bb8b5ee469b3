"""Evaluation by two threads gives the same metrics, every time."""

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


def prepared(folder: Path, job: JobSpec) -> TrainingSetup:
    return set_up(RunContext(job, small.new_run(folder / "run", job)))


def run_evaluation(
    made: TrainingSetup, at_once: int = 0
) -> tuple[dict[str, float], list[dict[str, object]]]:
    metrics = evaluate(
        made.network,
        made.data.learner,
        made.data.tokenizer,
        made.data.examples_at(0)[0],
        7,
        seed=3,
        micro_batch_size=at_once,
    )
    answers = metrics.predictions() if isinstance(metrics, PredictionCollector) else []
    return metrics.compute(), answers


@pytest.mark.parametrize("task", TASKS)
def test_two_threads_have_the_results_of_one(task, tmp_path):
    result = prepared(tmp_path, TASKS[task](tmp_path))
    torch.set_num_threads(1)
    metrics, answers = run_evaluation(result)
    torch.set_num_threads(2)
    again = run_evaluation(result)
    assert again[0] == pytest.approx(metrics, abs=1e-6)
    assert len(again[1]) == len(answers)
    for a, other in zip(answers, again[1], strict=True):
        numbers = {name: value for name, value in a.items() if isinstance(value, float)}
        assert {name: other[name] for name in numbers} == pytest.approx(numbers, abs=1e-5)
    assert all(run_evaluation(result) == again for _ in range(2)), "bit for bit"
    assert run_evaluation(result, at_once=3)[0] == pytest.approx(metrics, abs=1e-6)


def test_two_threads_take_part_unless_other_processes_must_keep_step(tmp_path):
    result = prepared(tmp_path, small.classifying(tmp_path))
    torch.set_num_threads(2)
    forward = result.network.forward
    seen: list[tuple[int, int]] = []
    both, parallel = threading.Barrier(2), True

    def noted(*given, **more):
        if parallel and threading.get_ident() not in {thread for thread, _ in seen}:
            both.wait(60)  # wait for the other thread
        seen.append((threading.get_ident(), torch.get_num_threads()))
        return forward(*given, **more)

    result.network.forward = noted  # type: ignore[method-assign]
    inputs = (
        result.network,
        result.data.learner,
        result.data.tokenizer,
        result.data.examples_at(0)[0],
        8,
    )
    evaluate(*inputs)
    assert len({thread for thread, _ in seen}) == 2
    assert {number for _, number in seen} == {1}, "each by its share of the threads"
    assert torch.get_num_threads() == 2
    seen.clear()
    parallel = False
    evaluate(*inputs, lockstep=True)
    assert {*seen} == {(threading.get_ident(), 2)}


@pytest.mark.parametrize("parallel", [False, True])
def test_each_item_is_done_once_and_an_error_ends_it(parallel):
    torch.set_num_threads(2)
    done, reports = list[int](), list[tuple[int, int]]()

    def slow(number: int) -> None:
        time.sleep(0.001)
        done.append(number)
        if number == 3:
            raise MemoryError

    def go_through(items: range, report: ProgressCallback) -> None:
        for_each(items, slow, nullcontext, report, parallel)

    go_through(range(4, 204), lambda *counts: reports.append(counts))
    assert sorted(done) == list(range(4, 204))
    assert reports == sorted(reports)
    assert reports[-1] == (200, 200)
    done.clear()
    with pytest.raises(MemoryError):
        go_through(range(3000), lambda *counts: None)
    assert 4 <= len(done) < 10

    def stopped(count: int, of: int) -> None:
        raise KeyboardInterrupt

    done.clear()
    with pytest.raises(KeyboardInterrupt):
        go_through(range(4, 3000), stopped)
    assert 1 <= len(done) < 10


def test_each_thread_keeps_one_precision_for_all_its_items():
    """Leaving it would drop the cached low-precision weights."""
    torch.set_num_threads(2)
    entered = list[int]()

    @contextmanager
    def precision() -> Iterator[None]:
        entered.append(threading.get_ident())
        yield

    learns_nothing = set[bool]()
    both = threading.Barrier(2)

    def look(number: int) -> None:
        if number < 2:
            both.wait(60)  # both threads take part
        learns_nothing.add(torch.is_inference_mode_enabled())

    for_each(range(20), look, precision, lambda *counts: None, parallel=True)
    assert len(entered) == len({*entered}) == 2
    assert learns_nothing == {True}


def test_the_longest_come_first(tmp_path, monkeypatch):
    result = prepared(tmp_path, small.classifying(tmp_path))
    lengths = list[int]()
    batch = result.data.learner.batch

    def noted(examples, numbers, *given):
        lengths.append(int(examples.lengths[numbers].max()))
        return batch(examples, numbers, *given)

    monkeypatch.setattr(result.data.learner, "batch", noted)
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
