"""Answer metrics equal those of the report, and thresholds those of the SQuAD 2.0 script."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.evaluation.question_answering import report
from engine.results.answers import answer_group, best_answers, by_kind, by_length, threshold_curve
from engine.results.conditions import mask
from tests.engine.results.rows import answer_rows
from tests.often import tries

word = st.sampled_from(["cat", "the cat", "a dog", "dog", "1,000"])
example = st.tuples(word, st.lists(word, max_size=2), st.integers(-40, 40).map(lambda n: n / 8))


@tries(80)
@given(st.lists(example, min_size=1, max_size=12), st.sampled_from([-1.0, 0.0, 0.6]))
def test_the_threshold_curve_equals_the_report(rows, used):
    points = threshold_curve(answer_rows(rows, used))
    assert points is not None
    texts, gold, doubts = (list(side) for side in zip(*rows, strict=True))
    theirs = report(texts, gold, doubts)
    assert theirs.best_f1 is not None
    assert points.f1.max() == pytest.approx(theirs.best_f1.value)
    assert points.best == theirs.best_f1.threshold
    for threshold, f1, exact in zip(points.thresholds, points.f1, points.exact_match, strict=True):
        expected = report(texts, gold, doubts, threshold)
        assert (f1, exact) == pytest.approx((expected.f1, expected.exact_match))
        assert points.at(float(threshold)) == (f1, exact)
    assert points.at(1e9) == (points.f1[-1], points.exact_match[-1])


def best_threshold(
    scores: list[float], answerable: list[bool], predicted: list[str], doubts: list[float]
) -> tuple[float, float]:
    """“find_best_thresh” of the script of SQuAD 2.0: best mean, and threshold."""
    current = best = float(sum(not entry for entry in answerable))
    threshold = 0.0
    for index in sorted(range(len(doubts)), key=lambda x: doubts[x]):
        if answerable[index]:
            current += scores[index]
        elif predicted[index]:
            current -= 1
        if current > best:
            best, threshold = current, doubts[index]
    return best / len(doubts), threshold


@tries(80)
@given(st.lists(example, min_size=1, max_size=12, unique_by=lambda row: row[2]))
def test_the_best_threshold_equals_that_of_the_script(rows):
    points = threshold_curve(answer_rows(rows))
    assert points is not None
    texts, gold, doubts = (list(side) for side in zip(*rows, strict=True))
    f1 = [report([text], [answers]).f1 for text, answers in zip(texts, gold, strict=True)]
    best, threshold = best_threshold(f1, [bool(answers) for answers in gold], texts, doubts)
    assert points.f1.max() == pytest.approx(best)
    if threshold or points.best > 0:  # 0 answers nothing, and is lowered if a doubt is not above it
        assert points.best == threshold


def test_the_threshold_selects_the_questions_without_an_answer():
    predictions = answer_rows([("a", ["a"], -1.0), ("b", [], 0.5), ("c", ["c"], 0.25)])
    curve = threshold_curve(predictions)
    assert curve is not None
    assert mask(predictions, curve.withheld(0.25)).tolist() == [False, True, False]
    assert curve.best == 0.25 and curve.at(0.25) == (1, 1)
    assert threshold_curve(answer_rows([("a", ["a"], None)])) is None


def test_questions_are_grouped_by_kind_and_length():
    predictions = answer_rows(
        [("cat", ["cat"], None), ("dog", ["a big dog"], None), ("x", ["y"], None)],
        question=["Who sat?", "who ran", "Where"],
        passage=["word " * n for n in (3, 30, 300)],
    )
    who, where = by_kind(predictions)
    assert str(who.name) == "“question” begins with “who”"
    assert (who.count, who.exact_match.value) == (2, 0.5)
    assert who.f1.value == pytest.approx((1 + 2 / 3) / 2)
    assert (where.count, where.f1.value) == (1, 0)
    lengths = by_length(predictions)
    assert [length.count for length in lengths] == [1, 1, 1]
    assert lengths[-1].f1.value == 0
    assert answer_group(predictions, ()).count == 3


def test_the_best_spans_are_listed_with_gold():
    predictions = answer_rows([("the cat", ["cat"], 0.1)])
    [best] = best_answers(predictions, 0)
    assert best.text == "the cat" and (best.exact_match, best.f1) == (1, 1)
    assert np.isfinite(best.score)
