"""Two results over the same rows: matching, flips, tests, sentences."""

import numpy as np
import pytest
from scipy import stats

from engine.errors import StudioError
from engine.results.comparing import (
    BETTER,
    UNSURE,
    WORSE,
    baseline_advice,
    compare,
    compare_seeds,
    compare_with_baseline,
)
from engine.results.conditions import mask
from engine.results.measures import difference, measures
from engine.results.predictions import Predictions
from tests.engine.results.rows import class_rows, tag_rows
from tests.engine.results.test_measures import regressions


def renumber(predictions: Predictions, rows: list[int]) -> Predictions:
    table = predictions.table
    index = table.column_names.index("row")
    return Predictions(predictions.info, table.set_column(index, "row", [rows]))


def test_rows_are_matched_by_number_and_text_then_by_text_alone():
    first = class_rows(["good"] * 5, ["good"] * 5, text=["a", "b", "c", "twice", "twice"])
    second = renumber(
        class_rows(["good"] * 5, ["good"] * 5, text=["a", "c", "other", "twice", "b"]),
        [0, 1, 2, 9, 4],
    )
    comparison = compare(first, second).matching
    assert list(zip(comparison.first.tolist(), comparison.second.tolist(), strict=True)) == [
        (0, 0),
        (1, 4),
        (2, 1),
    ]
    assert (comparison.only_first, comparison.only_second) == (2, 2)
    assert comparison.sentence == (
        "3 rows are in both, 2 rows only in the first, 2 rows only in the second"
    )
    assert compare(first, first).matching.sentence == "5 rows are in both"


def test_rows_with_equal_texts_are_matched_by_their_number():
    predictions = class_rows(["good", "bad", "good"], ["good"] * 3, text=["x", "x", "x"])
    comparison = compare(predictions, predictions).matching
    assert comparison.first.tolist() == comparison.second.tolist() == [0, 1, 2]


def test_rows_with_another_gold_label_are_not_compared():
    first = class_rows(["good", "bad", None], ["good", "good", "bad"], text=["a", "b", "c"])
    second = class_rows(["good", "good", None], ["bad", "good", "bad"], text=["a", "b", "c"])
    comparison = compare(first, second)
    assert comparison.matching.relabelled == 1 and comparison.rows == 1
    assert comparison.worse.tolist() == [True] and comparison.better.tolist() == [False]


def test_flips_are_rows_on_both_sides():
    gold = ["good"] * 6
    first = class_rows(gold, ["good", "bad", "good", "bad", "good", "bad"], text=list("abcdef"))
    second = class_rows(gold, ["bad", "good", "good", "good", "bad", "bad"], text=list("abcdef"))
    comparison = compare(first, second)
    for side, is_second in ((first, False), (second, True)):
        better = mask(side, comparison.conditions(comparison.better, is_second))
        worse = mask(side, comparison.conditions(comparison.worse, is_second))
        assert better.nonzero()[0].tolist() == [1, 3] and worse.nonzero()[0].tolist() == [0, 4]
    assert comparison.mcnemar == 1
    assert comparison.sentence == (
        "The difference may be chance: accuracy 50 % and 50 % (difference from "
        f"{100 * comparison.metrics[0].difference.low:+.3g} to "
        f"{100 * comparison.metrics[0].difference.high:+.3g} points; McNemar p = 1, 6 rows)."
    )


def test_a_significant_difference_is_stated_with_its_direction():
    rng = np.random.default_rng(0)
    gold = rng.choice(["bad", "good"], 500)
    other = np.where(gold == "good", "bad", "good")
    first, second = (
        class_rows(
            gold, np.where(rng.random(500) < fraction, gold, other), text=list(map(str, range(500)))
        )
        for fraction in (0.6, 0.9)
    )
    up, down = compare(first, second), compare(second, first)
    assert up.sentence.startswith("The second result is better: accuracy ")
    assert down.sentence.startswith("The second result is worse: accuracy ")
    b, c = int(up.better.sum()), int(up.worse.sum())
    assert up.mcnemar == pytest.approx(stats.binomtest(b, b + c).pvalue)
    accuracy, macro = up.metrics
    assert accuracy.is_sure and macro.is_sure and macro.name == "f1_macro"
    assert accuracy.difference.value == pytest.approx(accuracy.second.value - accuracy.first.value)


def test_numbers_and_tags_are_compared_by_a_bootstrap():
    rng = np.random.default_rng(1)
    gold = rng.random(200)
    first, second = (regressions(gold, gold + rng.normal(0, spread, 200)) for spread in (1.0, 0.1))
    comparison = compare(first, second)
    assert comparison.mcnemar is None and comparison.better.sum() > 150
    assert comparison.sentence.startswith("The second result is better: ")
    assert "paired bootstrap, 200 rows" in comparison.sentence
    last = comparison.metrics[-1]
    assert last.name == "mean_absolute_error" and not last.higher_is_better
    rows = [("a b", "B-x O", "B-x O"), ("c d", "B-y O", "O O"), ("e", "O", "O")]
    tags = tag_rows(rows)
    assert "may be chance" in compare(tags, tags).sentence


def test_incomparable_predictions_have_a_reason():
    with pytest.raises(StudioError) as caught:
        compare(tag_rows([("a", "O", "O")]), regressions([1], [1]))
    assert caught.value.problem == (
        "The two results are of different tasks: Token classification (NER) and Regression."
    )
    disjoint = compare(
        class_rows(["good"], ["bad"], text=["a"]), class_rows(["good"], ["bad"], text=["b"])
    )
    assert disjoint.rows == 0 and disjoint.sentence.startswith("No row is in both results")
    empty = compare(class_rows([], [], text=[]), class_rows([], [], text=[]))
    assert empty.rows == 0 and empty.matching.sentence == "0 rows are in both"


def test_runs_with_several_seeds_are_tested():
    first, second = {1: 0.70, 2: 0.72, 3: 0.71}, {1: 0.74, 2: 0.76, 3: 0.76}
    result, sentence = compare_seeds("accuracy", first, second)
    theirs = stats.ttest_rel(list(second.values()), list(first.values()))
    assert result.p == pytest.approx(theirs.pvalue)
    assert sentence.startswith("The second result is better: accuracy 75.33 % against 71 % ")
    assert "paired t-test over 6 runs" in sentence
    _, sentence = compare_seeds("accuracy", first, {4: 0.70, 5: 0.75})
    assert sentence.startswith("The difference may be chance") and "Welch's t-test" in sentence
    _, sentence = compare_seeds("accuracy", {1: 0.7}, {1: 0.9})
    assert sentence.startswith("No claim over seeds: 1 and 1")


GOLD = ["good"] * 50 + ["bad"] * 10


def model_rows(labels: list[str], **info: object) -> Predictions:
    predictions = class_rows(GOLD, labels, text=[f"text {n}" for n in range(len(GOLD))])
    return Predictions(predictions.info.model_copy(update=info), predictions.table)


MAJORITY = model_rows(["good"] * 60, model="Majority")


@pytest.mark.parametrize(
    "answers, verdict, start",
    [
        (GOLD, BETTER, "Better than all baselines."),
        (["good"] * 60, UNSURE, "The model is not clearly better than Majority. What usually"),
        (["bad"] * 60, WORSE, "The model is not clearly better than Majority. What usually"),
    ],
)
def test_the_verdict_follows_from_the_paired_interval(answers, verdict, start):
    model = model_rows(answers)
    result = compare_with_baseline(model, MAJORITY)
    paired = difference(measures(MAJORITY)[0], measures(model)[0])
    assert result.name == "Majority" and result.metric == "accuracy"
    assert result.difference == paired and result.verdict == verdict
    assert result.score.value == pytest.approx(50 / 60) and result.score.low < result.score.value
    assert baseline_advice([result]).startswith(start)


def test_the_comparison_uses_the_metric_that_chose_the_model():
    # accuracy is nearly that of the majority, macro F1 is not
    answers = ["good"] * 44 + ["bad"] * 16
    result = compare_with_baseline(model_rows(answers, best_metric="f1_macro"), MAJORITY)
    assert result.metric == "f1_macro" and result.verdict == BETTER
    assert result.score.value == pytest.approx(np.mean([0, 2 * 50 / 110]))
    assert compare_with_baseline(model_rows(answers), MAJORITY).verdict == UNSURE


def test_no_baselines_give_no_advice():
    assert baseline_advice([]) == ""
