"""The examples that each step reads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.tasks.pretraining import Pretraining
from engine.progress import no_progress
from engine.tasks.evaluating import batches_by_length
from engine.tasks.rng import rng_for
from engine.tokenizers.tokenizer import Tokenizer
from engine.training import estimate, loop
from engine.training.context import RunContext
from engine.training.data.batch_order import BatchOrder
from engine.training.data.prefetch import batches
from engine.training.data.training_data import read_rows, tokenise
from engine.training.setup import set_up
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.finished import losses, notes, run_job
from tests.engine.training.small import new_run, pretraining
from tests.engine.training.test_loop import final, metrics
from tests.often import tries


def test_the_last_steps_read_long_inputs(tmp_path):
    job = pretraining(tmp_path, steps=10, max_length=16)
    task = Pretraining(long_length=48, long_share=0.3)
    job = job.model_copy(update={"task": task})
    prepared = set_up(RunContext(job, new_run(tmp_path / "run", job)))
    widths = []
    for step in range(10):
        examples, numbers = prepared.data.examples_at(step)
        widths.append(int(examples.tokenized.lengths[numbers].max()))
    assert max(widths[:7]) <= 16 < min(widths[7:]) <= max(widths) == 48
    run, _, events = run_job(tmp_path / "trained", job)
    assert len(losses(events)) == 10 and run.checkpoint_folders()
    truncated = job.model_copy(update={"task": Pretraining(long_length=512)})
    messages: list[object] = []
    set_up(RunContext(truncated, new_run(tmp_path / "cut", truncated), messages.append))
    assert any("truncated to 64 tokens" in text for text in notes(messages))


def test_prefetching_makes_the_same_batches(tmp_path):
    job = small.pretraining(tmp_path)
    setup = set_up(RunContext(job, small.new_run(tmp_path / "run", job)))
    data = setup.data
    plain, prefetched = (
        list(batches(data, 3, network is not None, network)) for network in (None, setup.network)
    )
    assert len(plain) == len(prefetched) == data.steps - 3
    for a, other in zip(plain, prefetched, strict=True):
        assert a.examples is other.examples
        assert a.indices.tolist() == other.indices.tolist()
        assert a.batch.tokens.tolist() == other.batch.tokens.tolist()
        assert a.batch.targets.tolist() == other.batch.targets.tolist()
        assert a.batch.unpadded is None and other.batch.unpadded is not None


def test_prefetching_changes_no_result(tmp_path, monkeypatch):
    job = small.classifying(tmp_path, dropout=0.1, steps=8)
    plain, prefetched = (small.new_run(tmp_path / name, job) for name in ("plain", "early"))
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
        if not stopped and small.has_seen(prefetched, 6):
            stopped = True
            prefetched.request_stop()

    assert work(prefetched.path, stop_once) == 0
    prefetched.clear_stop()
    assert work(prefetched.path) == 0
    assert stopped and final(prefetched) == final(plain) and metrics(prefetched) == metrics(plain)
    counted = {step: n for (name, step), n in metrics(prefetched).items() if name == "tokens"}
    assert counted == {step + 1: sum(tokens[: step + 1]) for step in range(8)}


LENGTHS = np.random.default_rng(0).integers(3, 60, 1003)


@given(count=st.integers(1, 300), batch=st.integers(1, 40), seed=st.integers(0, 2**40))
@tries(100)
def test_every_example_occurs_once_per_epoch(count, batch, seed):
    order = BatchOrder(LENGTHS[:count], batch, seed)
    for epoch in range(2):
        first = epoch * order.steps_per_epoch
        steps = range(first, first + order.steps_per_epoch)
        indices = np.concatenate([order.indices(step) for step in steps])
        assert sorted(indices) == list(range(count))


def test_batches_do_not_depend_on_earlier_steps():
    order = BatchOrder(LENGTHS, 16, 3)
    batches = [order.indices(step) for step in range(3 * order.steps_per_epoch)]
    for step in (150, 0, 70, 188):
        assert (BatchOrder(LENGTHS, 16, 3).indices(step) == batches[step]).all()


def test_epochs_and_seeds_differ():
    order = BatchOrder(LENGTHS, 16, 3)
    assert (order.indices(0) != order.indices(order.steps_per_epoch)).any()
    assert (BatchOrder(LENGTHS, 16, 4).indices(0) != order.indices(0)).any()


def test_batches_are_random_and_sorted_by_length():
    order = BatchOrder(LENGTHS, 16, 3)
    batches = [LENGTHS[order.indices(step)] for step in range(order.steps_per_epoch - 1)]
    random_batches = rng_for(3, 9).permutation(LENGTHS)[: 16 * len(batches)].reshape(-1, 16)
    spread = np.mean([np.ptp(batch) for batch in batches])
    assert spread == pytest.approx(np.mean(np.ptp(random_batches, axis=1)), rel=0.1)
    assert all((np.diff(batch) >= 0).all() for batch in batches)


def test_a_fraction_of_the_data_is_drawn_once():
    order = BatchOrder(LENGTHS, 10, 3, fraction=0.1)
    assert (len(order), order.steps_per_epoch) == (100, 10)
    epochs = [
        {int(n) for step in range(10) for n in order.indices(epoch * 10 + step)}
        for epoch in range(2)
    ]
    assert epochs[0] == epochs[1]


def test_evaluation_reads_each_example_once():
    assert sorted(np.concatenate(batches_by_length(LENGTHS, 32))) == list(range(len(LENGTHS)))


@pytest.mark.parametrize("number", [0, 2, 99])
def test_steps_and_windows_of_long_texts_are_estimated_as_they_are(tmp_path, number):
    """Each window is an example, or each text with some of its windows."""
    job = small.learning("windows", tmp_path, max_length=8)
    changes = {"windows_per_text": number, "aggregate": "mean"}
    job = job.model_copy(update={"task": job.task.model_copy(update=changes)})
    source = read_rows(job, tmp_path / "data", lambda name: no_progress)
    tokenizer = Tokenizer.train(source.rows.texts, 120, lowercase=True)
    plan = estimate._make_plan(source, estimate.sample(source, tokenizer, tmp_path / "sample"))
    data = tokenise(source, tokenizer, 64, lambda name: no_progress)
    assert plan.steps == data.steps
    batch, rows = data.batch(3), len(source.rows)
    assert data.validation is not None and data.validation.owners is not None
    per_row = len(data.validation) / (data.validation.owners.max() + 1)
    if number:
        assert len(data.phases[0].order) == rows and batch.windows.size(1) <= number
    else:
        assert len(data.phases[0].order) > 1.5 * rows and batch.windows is None
    if number != 2:  # as many examples as it takes the time of
        expected = len(data.validation) / (per_row if number else 1)
        assert plan.validation_rows == pytest.approx(expected, rel=0.3)
