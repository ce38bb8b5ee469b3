"""Corrected means equal those of ppi_py, and their intervals cover the truth."""

import numpy as np
import pytest

from engine.results.estimates import design_based, difference, moments, prediction_powered

PPI_PY = [  # ppi-python 0.2.3 on `sample(seed, …)`: estimate, and ends of the 95 % interval by z
    (0, 40, 400, True, 0.2943852439573993, (0.19701232577605018, 0.39175816213874837)),
    (1, 200, 3000, True, 0.28837243709102406, (0.23765828319794358, 0.33908659098410454)),
    (2, 60, 90, False, 3.0294100756804765, (2.8194192378614917, 3.2394009134994612)),
    (3, 25, 5000, False, 2.819129387792965, (2.5502989041055804, 3.08795987148035)),
]
Z = 1.959963984540054


def sample(seed, coded, others, is_share):
    random, count = np.random.default_rng(seed), coded + others
    if is_share:
        hand = (random.random(count) < 0.3).astype(float)
        machine = np.where(random.random(count) < 0.85, hand, 1 - hand)
    else:
        hand = random.normal(3, 1, count)
        machine = hand + random.normal(0.4, 0.8, count)
    return hand[:coded], machine[:coded], machine[coded:]


@pytest.mark.parametrize("seed, coded, others, is_share, value, ends", PPI_PY)
def test_the_estimate_and_its_variance_are_those_of_ppi_py(
    seed, coded, others, is_share, value, ends
):
    """Apart from t instead of z, n − 1 instead of n, and the rows added to a share."""
    hand, machine, rest = sample(seed, coded, others, is_share)
    found = prediction_powered(hand, machine, rest, is_share)
    assert found.corrected.value == pytest.approx(value, abs=1e-12)
    plain = moments(hand, machine, rest)
    assert plain.tune(coded, others) == found.tuning
    variance = plain.variance(coded, others, found.tuning)
    assert variance == pytest.approx(((ends[1] - ends[0]) / 2 / Z) ** 2, rel=1e-9)
    assert variance < found.variance < variance * (coded + 6) / (coded - 1)
    assert found.rows == coded + others and found.coded == coded
    assert found.naive.value == pytest.approx(np.concatenate([machine, rest]).mean())


def coverage(estimate, truth, repetitions, *args):
    results = [estimate(np.random.default_rng(seed), *args) for seed in range(repetitions)]
    return np.mean([r.corrected.low <= truth <= r.corrected.high for r in results]), results


@pytest.mark.parametrize("truth, coded", [(0.3, 200), (0.5, 50), (0.1, 100)])
def test_the_interval_of_a_share_covers_with_a_classifier_right_in_85_percent(truth, coded):
    def estimate(random):
        hand = (random.random(2_000) < truth).astype(float)
        machine = np.where(random.random(2_000) < 0.85, hand, 1 - hand)
        return prediction_powered(hand[:coded], machine[:coded], machine[coded:], True)

    covered, results = coverage(estimate, truth, 2_000)
    assert 0.93 <= covered <= 0.97
    naive = np.mean([r.naive.low <= truth <= r.naive.high for r in results])
    assert naive < 0.02 or truth == 0.5  # errors of both kinds cancel out there
    assert np.mean([r.corrected.value for r in results]) == pytest.approx(truth, abs=0.005)


def test_design_based_means_cover_with_unequal_chances_where_plain_ones_do_not():
    def draw(random):
        hand = random.random(2_000) < 0.3
        machine = np.where(random.random(2_000) < 0.85, hand, ~hand)
        chance = np.where(machine, 0.25, 0.05)  # the rare label is drawn more often
        is_coded = random.random(2_000) < chance
        hand, machine = hand.astype(float), machine.astype(float)
        parts = hand[is_coded], machine[is_coded], machine[~is_coded]
        return design_based(*parts, chance[is_coded], True), prediction_powered(*parts, True)

    pairs = [draw(np.random.default_rng(seed)) for seed in range(1_500)]
    covered = [
        np.mean([r[k].corrected.low <= 0.3 <= r[k].corrected.high for r in pairs]) for k in (0, 1)
    ]
    assert 0.93 <= covered[0] <= 0.97 and covered[1] < 0.9
    equal = [np.random.default_rng(1).random(n) < 0.5 for n in (50, 50, 450)]
    hand, machine, others = (part.astype(float) for part in equal)
    estimate = design_based(hand, machine, others, np.full(50, 0.1), True)
    adjusted = np.concatenate([machine + 10 * (hand - machine), others])  # Egami et al., eq. 3
    assert estimate.corrected.value == pytest.approx(adjusted.mean())
    assert estimate.variance == pytest.approx(adjusted.var(ddof=1) / 500)


def test_differences_cover_and_twice_the_precision_takes_the_rows_that_were_said():
    def groups(random, coded):
        for truth in (0.4, 0.25):
            hand = (random.random(1_000) < truth).astype(float)
            machine = np.where(random.random(1_000) < 0.85, hand, 1 - hand)
            yield prediction_powered(hand[:coded], machine[:coded], machine[coded:], True)

    covered, results = coverage(lambda r: difference(*groups(r, 100), True), 0.15, 1_200)
    assert 0.93 <= covered <= 0.97
    assert np.mean([r.corrected.value for r in results]) == pytest.approx(0.15, abs=0.005)
    said = [next(groups(np.random.default_rng(seed), 60)) for seed in range(200)]
    rows = int(np.median([one.halving or 1_000 for one in said]))
    more = [next(groups(np.random.default_rng(seed), rows)) for seed in range(200)]
    widths = [np.mean([r.corrected.high - r.corrected.low for r in one]) for one in (said, more)]
    assert widths[1] / widths[0] == pytest.approx(0.5, abs=0.04)


def test_small_and_extreme_samples_have_honest_intervals():
    ones, none = np.ones(20), np.zeros(0)
    all_right = prediction_powered(ones, ones, np.ones(500), True)
    assert all_right.corrected.value == 1 and all_right.corrected.low < 0.97
    for few in (none, ones[:1]):
        estimate = prediction_powered(few, few, np.ones(5), True)
        assert np.isnan(estimate.corrected.low) and estimate.halving is None
        assert estimate.naive.value == 1
    whole = prediction_powered(np.arange(10.0), np.arange(10.0), none, False)  # no other rows
    assert whole.corrected.value == 4.5 and whole.halving is None and whole.tuning == 0
    useless = prediction_powered(np.arange(10.0), ones[:10], np.ones(90), False)
    assert useless.tuning == 0 and useless.corrected.value == 4.5
