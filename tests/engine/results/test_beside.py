"""A model is compared with baselines by the metric that chose it."""

import numpy as np
import pytest

from engine.results.comparing import BETTER, UNSURE, WORSE, baseline_advice, compare_with_baseline
from engine.results.measures import difference, measures
from engine.results.predictions import Predictions
from tests.engine.results.made import classified

GOLD = ["good"] * 50 + ["bad"] * 10


def predicted(said: list[str], **facts: object) -> Predictions:
    found = classified(GOLD, said, text=[f"text {n}" for n in range(len(GOLD))])
    return Predictions(found.info.model_copy(update=facts), found.table)


MAJORITY = predicted(["good"] * 60, model="Majority")


@pytest.mark.parametrize(
    "said, verdict, begins",
    [
        (GOLD, BETTER, "The model beats them."),
        (["good"] * 60, UNSURE, "The model is not clearly better than Majority. What usually"),
        (["bad"] * 60, WORSE, "The model is not clearly better than Majority. What usually"),
    ],
)
def test_what_may_be_claimed_follows_from_the_paired_interval(said, verdict, begins) -> None:
    model = predicted(said)
    found = compare_with_baseline(model, MAJORITY)
    paired = difference(measures(MAJORITY)[0], measures(model)[0])
    assert found.name == "Majority" and found.metric == "accuracy"
    assert found.difference == paired and found.verdict == verdict
    assert found.score.value == pytest.approx(50 / 60) and found.score.low < found.score.value
    assert baseline_advice([found]).startswith(begins)


def test_the_metric_is_that_by_which_the_model_was_chosen() -> None:
    said = ["good"] * 44 + ["bad"] * 16  # accuracy is nearly that of the majority, macro F1 is not
    found = compare_with_baseline(predicted(said, best_metric="f1_macro"), MAJORITY)
    assert found.metric == "f1_macro" and found.verdict == BETTER
    assert found.score.value == pytest.approx(np.mean([0, 2 * 50 / 110]))
    assert compare_with_baseline(predicted(said), MAJORITY).verdict == UNSURE


def test_of_no_baselines_nothing_follows() -> None:
    assert baseline_advice([]) == ""
