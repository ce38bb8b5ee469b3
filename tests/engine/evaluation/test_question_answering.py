"""Metrics of answers equal those of the SQuAD scripts.

The oracle is `transformers.data.metrics.squad_metrics`, which later versions of transformers lack;
its results for published questions are stored here as numbers.
"""

import math
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.formats.lines import Lines
from engine.data.formats.rows import Remarks
from engine.data.formats.squad import Question, read_squad
from engine.evaluation.question_answering import exact_match, f1, normalise, report
from tests.often import tries

OFFICIAL = {  # percent, for the predictions below, by transformers 5.0.0
    "exact": 46.77525501809806,
    "f1": 49.87366804835308,
    "total": 6078,
    "HasAns_exact": 27.010309278350515,
    "HasAns_f1": 33.48183999927476,
    "HasAns_total": 2910,
    "NoAns_exact": 64.93055555555556,
    "NoAns_f1": 64.93055555555556,
    "NoAns_total": 3168,
    "best_exact": 57.255676209279365,
    "best_exact_thresh": 0.24662717999341888,
    "best_f1": 58.319919098401826,
    "best_f1_thresh": 0.24827245804540968,
}

word = st.sampled_from(
    ["the", "A", "an", "cat", "Cat", "cat's", "hat,", "...", "1,000", "é", "b\u00a0c"]
)
text = st.lists(word, max_size=4).map(" ".join)
example = st.tuples(text, st.lists(text.filter(bool), max_size=3))
doubt = st.floats(-20, 20)


@st.composite
def evaluations(draw: st.DrawFn) -> tuple[list[str], list[list[str]], list[float]]:
    """Predictions, answers and distinct doubts."""
    rows = draw(st.lists(example, min_size=1, max_size=12))
    doubts = draw(st.lists(doubt, min_size=len(rows), max_size=len(rows), unique=True))
    return [prediction for prediction, _ in rows], [answers for _, answers in rows], doubts


@pytest.fixture(scope="session")
def official():
    return pytest.importorskip(
        "transformers.data.metrics.squad_metrics",
        reason="this version of transformers has no figures of SQuAD",
    )


def official_scores(official, predictions, answers, doubts=None, threshold=1.0):
    examples = [
        SimpleNamespace(qas_id=number, answers=[{"text": item} for item in true])
        for number, true in enumerate(answers)
    ]
    probabilities = None if doubts is None else dict(enumerate(doubts))
    return official.squad_evaluate(examples, dict(enumerate(predictions)), probabilities, threshold)


def assert_agree(result, official, best=True):
    percent = {"exact": result.exact_match, "f1": result.f1}
    for name, part in (("HasAns", result.has_answer), ("NoAns", result.no_answer)):
        if part.questions:
            percent |= {f"{name}_exact": part.exact_match, f"{name}_f1": part.f1}
        assert official.get(f"{name}_total", 0) == part.questions
    if best:
        percent |= {"best_exact": result.best_exact_match.value, "best_f1": result.best_f1.value}
    for name, value in percent.items():
        assert 100 * value == pytest.approx(official[name], abs=1e-9), name
    assert result.questions == official["total"]


@given(evaluations(), st.sampled_from([-100.0, 0.0, 3.0, 100.0]))
@tries(200)
def test_metrics_equal_those_of_the_official_script(official, case, threshold):
    predictions, answers, doubts = case
    result = report(predictions, answers, doubts, threshold)
    expected = official_scores(official, predictions, answers, doubts, threshold)
    assert_agree(result, expected)
    for best, name in ((result.best_exact_match, "best_exact"), (result.best_f1, "best_f1")):
        nothing_answered = best.threshold < min(doubts)
        assert best.threshold == expected[f"{name}_thresh"] or nothing_answered
    expected = official_scores(official, predictions, answers)
    assert_agree(report(predictions, answers), expected, best=False)


@given(text, text)
@tries(200)
def test_an_answer_is_scored_as_by_the_official_script(official, prediction, answer):
    assert exact_match(prediction, answer) == official.compute_exact(answer, prediction)
    assert f1(prediction, answer) == pytest.approx(
        official.compute_f1(answer, prediction), abs=1e-12
    )
    assert normalise(prediction) == official.normalize_answer(prediction)


@given(evaluations(), st.booleans())
@tries(100)
def test_the_best_threshold_maximises_each_metric(case, coarse):
    predictions, answers, doubts = case
    predictions = [prediction if normalise(prediction) else "" for prediction in predictions]
    doubts = [round(doubt / 10) for doubt in doubts] if coarse else doubts  # many are equal
    result = report(predictions, answers, doubts)
    reports = [report(predictions, answers, doubts, t) for t in [-math.inf, *doubts]]
    for name, best in (("exact_match", result.best_exact_match), ("f1", result.best_f1)):
        highest = max(getattr(item, name) for item in reports)
        reached = getattr(report(predictions, answers, doubts, best.threshold), name)
        assert best.value == pytest.approx(highest) and reached == pytest.approx(highest)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("The  Cat's\that.", "cats hat"),
        ("a an the", ""),
        ("theatre another", "theatre another"),
        ("(the) U.S.A.", "usa"),
        ("“the”", "“ ”"),
        ("1,000.5 – é", "10005 – é"),
    ],
)
def test_answers_are_normalised(text, expected):
    assert normalise(text) == expected


@pytest.mark.parametrize(
    "prediction, answer, expected",
    [
        ("cat", "the cat", 1),
        ("black cat", "cat", 2 / 3),
        ("cat cat", "cat", 2 / 3),
        ("cat", "", 0),
        ("", "", 1),
        ("the", "a", 1),
        ("dog", "cat", 0),
    ],
)
def test_f1_counts_repeated_words_of_both_texts(prediction, answer, expected):
    assert f1(prediction, answer) == pytest.approx(expected)


def test_questions_with_and_without_answer_are_scored_separately():
    result = report(["cat", "", "dog", ""], [["a cat", "x"], ["b"], [], []])
    assert (result.exact_match, result.has_answer.exact_match, result.no_answer.exact_match) == (
        0.5,
        0.5,
        0.5,
    )
    assert result.best_exact_match is None
    result = report(["cat", "b", "dog", "x"], [["a cat"], ["b"], [], []], [-3, -1, -2, 5])
    assert result.exact_match == 0.75 and result.best_exact_match.value == 0.75
    assert result.best_exact_match.threshold == -3
    assert report(["x", "y"], [[], []], [-3, -1]).best_f1.threshold < -3
    assert report(["x", "y"], [[], []], [3, 1]).best_f1.threshold == 0


def test_no_examples_give_zeros():
    result = report([], [], [])
    assert (result.questions, result.exact_match, result.f1, result.best_f1.value) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    "predictions, answers, doubts",
    [(["a"], [], None), (["a"], [["a"]], []), (["a"], [["a"]], [math.nan])],
)
def test_incomparable_inputs_are_refused(predictions, answers, doubts):
    with pytest.raises(ValueError, match=r"zip|doubts"):
        report(predictions, answers, doubts)


def make_prediction(number: int, question: Question) -> str:
    """A deterministic prediction: right, nearly right, empty, or wrong."""
    words = question.context.split()
    answer = question.answers[0].text if question.answers else " ".join(words[:2])
    match number % 5:
        case 0:
            return answer
        case 1:
            return f"The {answer.upper()}!"
        case 2:
            return ""
        case 3:
            return " ".join([*answer.split()[:1], *words[number % len(words) :][:2]])
        case _:
            return words[number % len(words)]


def test_metrics_of_published_questions_equal_the_official_ones(assets):
    lines = Lines(assets / "datasets" / "squad2-devhalf" / "dev-v2.0.json", "utf-8")
    questions = read_squad(lines, Remarks())
    predictions = [make_prediction(number, item) for number, item in enumerate(questions)]
    answers = [[answer.text for answer in question.answers] for question in questions]
    doubts = [
        7919 * number % len(questions) / len(questions) + (not item.answers) / 4
        for number, item in enumerate(questions)
    ]
    result = report(predictions, answers, doubts, threshold=0.7)
    assert_agree(result, OFFICIAL)
    assert result.best_exact_match.threshold == pytest.approx(OFFICIAL["best_exact_thresh"])
    assert result.best_f1.threshold == pytest.approx(OFFICIAL["best_f1_thresh"])
