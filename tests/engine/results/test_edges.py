"""All figures exist, without warnings, for few, odd or no rows."""

from collections.abc import Callable

from engine.results import (
    answers,
    calibration,
    classes,
    comparing,
    curves,
    groups,
    measures,
    slices,
    span_figures,
)
from engine.results.conditions import Between, LabelIs, Outcome, mask
from engine.results.predictions import Predictions
from engine.results.row_figures import FIGURES, figure
from tests.engine.results.made import answered, classified, labelled_sets, tagged
from tests.engine.results.test_measures import numbers

NAN = float("nan")
CLASSES = {
    "no rows": classified([], [], text=[]),
    "one row": classified(["good"], ["bad"], text=["a"]),
    "no gold": classified([None, None], ["good", "bad"], text=["a", ""]),
    "one class": classified(["good"] * 3, ["good"] * 3, text=["a"] * 3),
    "not finite": classified(["good", "bad"], ["bad", "bad"], scores=[[NAN, NAN], [0.5, 0.5]],
                             text=["a", "b"]),
    "other labels": classified(["x", "y"], ["good", "bad"], text=["a", "b"]),
}  # fmt: skip
SETS = {
    "no rows": labelled_sets([], [], ["a", "b"]),
    "nothing": labelled_sets([[]], [[]], ["a", "b"]),
    "one row": labelled_sets([["a"]], [["b"]], ["a", "b"]),
}
TAGS = {
    "no rows": tagged([], ["B-x"]),
    "no words": tagged([("", "", "")], ["B-x"]),
    "no spans": tagged([("a", "O", "O")], ["B-x"]),
}
NUMBERS = {
    "no rows": numbers([], []),
    "one row": numbers([1.0], [2.0]),
    "not finite": numbers([1.0, 2.0], [NAN, 2.0]),
    "equal": numbers([1.0, 1.0], [2.0, 2.0]),
}
QUESTIONS = {
    "no rows": answered([], question=[], passage=[]),
    "one row": answered([("a", [], 0.5)], question=[""], passage=[""]),
}


def every(*tables: dict[str, Predictions]) -> list[Predictions]:
    return [one for table in tables for one in table.values()]


def each_label(made: Predictions) -> object:
    return [curves.label_curve(made, label).best for label in made.info.labels]


OF_LABELS = (
    *(classes.confusion, classes.label_figures, each_label),
    *(calibration.reliability, calibration.temperature),
)
OF_ALL: tuple[Callable[[Predictions], object], ...] = (
    slices.worst_slices,
    slices.length_figure,
    groups.row_scores,
    lambda made: [measures.interval(one) for one in measures.measures(made)],
    lambda made: comparing.compare(made, made).sentence,
    lambda made: groups.group(made, ()),
    lambda made: mask(made, [Outcome(right=True), LabelIs(side="gold", label="good")]),
    lambda made: [mask(made, [Between(figure=name, least=0)]) for name in FIGURES],
    lambda made: [groups.by_figure(made, name) for name in FIGURES],
)


def test_of_every_task() -> None:
    for made in every(CLASSES, SETS, TAGS, NUMBERS, QUESTIONS):
        for function in OF_ALL:
            function(made)
            assert all(figure(made, name).shape == (len(made),) for name in FIGURES)


def test_of_labels() -> None:
    for made in every(CLASSES, SETS):
        for function in OF_LABELS:
            function(made)
            assert made.scores.shape == (len(made), 2)


def test_of_tags() -> None:
    for made in every(TAGS):
        assert sum(span_figures.kind_counts(made).values()) == 0
        assert span_figures.type_confusion(made).counts.shape == (1, 1)
        assert span_figures.type_figures(made) == ()


def test_of_numbers() -> None:
    for made in every(NUMBERS):
        parts = groups.groups(made, groups.by_width(made, "residual", 30))
        assert sum(part.count for part in parts) <= len(made)


def test_of_answered() -> None:
    for made in every(QUESTIONS):
        answers.by_kind(made), answers.by_length(made)
        assert (answers.threshold_curve(made) is None) == (len(made) == 0)
