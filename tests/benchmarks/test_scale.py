"""The estimates of the case `scale` are plausible."""

import math

import pytest

from benchmarks import scale


def test_the_best_interval_loses_the_least():
    between, work = 3 * 3600.0, 100 * 3600.0
    best = scale.best_interval(between)
    assert best == pytest.approx(math.sqrt(2 * scale.SAVED * between), rel=0.05)  # Young 1974
    losses = {factor: scale.lost(work, factor * best, between) for factor in (0.2, 1, 5)}
    assert min(losses, key=losses.__getitem__) == 1
    first_order = scale.SAVED / best + best / 2 / between + scale.RESTART / between
    assert losses[1] == pytest.approx(first_order, rel=0.15)


def test_a_run_without_failures_loses_only_the_time_of_checkpoints():
    assert scale.lost(36_000.0, 3_600.0, 1e15) == pytest.approx(10 * scale.SAVED / 36_000)


def test_more_gpus_take_less_time_and_more_money():
    durations = [scale.hours(scale.Machines(gpus)) for gpus in (1, 8, 64)]
    assert durations == sorted(durations, reverse=True)
    assert durations[1] * 8 >= durations[0] and durations[2] * 64 >= durations[1] * 8
    assert scale.summing(scale.Machines(1)) == 0
    # counted by hand: 12 layers of 12 D² weights and the head on 15 % of the tokens
    weights = 12 * 12 * 768**2 + 0.15 * (768**2 + 768 * 30_522)
    assert scale.operations(0) == pytest.approx(6 * weights)
