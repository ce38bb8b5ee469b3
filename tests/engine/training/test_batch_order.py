"""The examples of a step depend on seed and step only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tasks.evaluating import batches_by_length
from engine.tasks.rng import rng_for
from engine.training.data.batch_order import BatchOrder
from tests.often import tries

LENGTHS = np.random.default_rng(0).integers(3, 60, 1003)


@given(count=st.integers(1, 300), batch=st.integers(1, 40), seed=st.integers(0, 2**40))
@tries(100)
def test_every_example_comes_once_in_each_epoch(count: int, batch: int, seed: int) -> None:
    order = BatchOrder(LENGTHS[:count], batch, seed)
    for epoch in range(2):
        first = epoch * order.steps_per_epoch
        steps = range(first, first + order.steps_per_epoch)
        seen = np.concatenate([order.indices(step) for step in steps])
        assert sorted(seen) == list(range(count))


def test_a_step_asked_alone_is_the_step_asked_in_turn() -> None:
    in_order = BatchOrder(LENGTHS, 16, 3)
    batches = [in_order.indices(step) for step in range(3 * in_order.steps_per_epoch)]
    for step in (150, 0, 70, 188):
        assert (BatchOrder(LENGTHS, 16, 3).indices(step) == batches[step]).all()


def test_epochs_and_seeds_differ() -> None:
    order = BatchOrder(LENGTHS, 16, 3)
    assert (order.indices(0) != order.indices(order.steps_per_epoch)).any()
    assert (BatchOrder(LENGTHS, 16, 4).indices(0) != order.indices(0)).any()


def test_batches_are_drawn_freely_and_stand_in_the_order_of_their_lengths() -> None:
    order = BatchOrder(LENGTHS, 16, 3)
    batches = [LENGTHS[order.indices(step)] for step in range(order.steps_per_epoch - 1)]
    drawn = rng_for(3, 9).permutation(LENGTHS)[: 16 * len(batches)].reshape(-1, 16)
    spread = np.mean([np.ptp(one) for one in batches])
    assert spread == pytest.approx(np.mean(np.ptp(drawn, axis=1)), rel=0.1)
    assert all((np.diff(one) >= 0).all() for one in batches)


def test_a_share_of_the_data_is_drawn_once() -> None:
    order = BatchOrder(LENGTHS, 10, 3, fraction=0.1)
    assert (len(order), order.steps_per_epoch) == (100, 10)
    epochs = [
        {int(n) for step in range(10) for n in order.indices(epoch * 10 + step)}
        for epoch in range(2)
    ]
    assert epochs[0] == epochs[1]


def test_judging_sees_each_example_once() -> None:
    assert sorted(np.concatenate(batches_by_length(LENGTHS, 32))) == list(range(len(LENGTHS)))
