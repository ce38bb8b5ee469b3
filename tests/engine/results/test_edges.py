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
from tests.engine.results.rows import answer_rows, class_rows, label_rows, tag_rows
from tests.engine.results.test_measures import regressions

NAN = float("nan")
CLASSES = {
    "no rows": class_rows([], [], text=[]),
    "one row": class_rows(["good"], ["bad"], text=["a"]),
    "no gold": class_rows([None, None], ["good", "bad"], text=["a", ""]),
    "one class": class_rows(["good"] * 3, ["good"] * 3, text=["a"] * 3),
    "not finite": class_rows(["good", "bad"], ["bad", "bad"], scores=[[NAN, NAN], [0.5, 0.5]],
                             text=["a", "b"]),
    "other labels": class_rows(["x", "y"], ["good", "bad"], text=["a", "b"]),
}  # fmt: skip
SETS = {
    "no rows": label_rows([], [], ["a", "b"]),
    "nothing": label_rows([[]], [[]], ["a", "b"]),
    "one row": label_rows([["a"]], [["b"]], ["a", "b"]),
}
TAGS = {
    "no rows": tag_rows([], ["B-x"]),
    "no words": tag_rows([("", "", "")], ["B-x"]),
    "no spans": tag_rows([("a", "O", "O")], ["B-x"]),
}
NUMBERS = {
    "no rows": regressions([], []),
    "one row": regressions([1.0], [2.0]),
    "not finite": regressions([1.0, 2.0], [NAN, 2.0]),
    "equal": regressions([1.0, 1.0], [2.0, 2.0]),
}
QUESTIONS = {
    "no rows": answer_rows([], question=[], passage=[]),
    "one row": answer_rows([("a", [], 0.5)], question=[""], passage=[""]),
}


def all_rows(*tables: dict[str, Predictions]) -> list[Predictions]:
    return [item for table in tables for item in table.values()]


def best_thresholds(predictions: Predictions) -> object:
    return [curves.label_curve(predictions, label).best for label in predictions.info.labels]


LABEL_FUNCTIONS = (
    *(classes.confusion, classes.label_figures, best_thresholds),
    *(calibration.reliability, calibration.temperature),
)
FUNCTIONS: tuple[Callable[[Predictions], object], ...] = (
    slices.worst_slices,
    slices.length_figure,
    groups.row_scores,
    lambda predictions: [measures.interval(measure) for measure in measures.measures(predictions)],
    lambda predictions: comparing.compare(predictions, predictions).sentence,
    lambda predictions: groups.group(predictions, ()),
    lambda predictions: mask(
        predictions, [Outcome(right=True), LabelIs(side="gold", label="good")]
    ),
    lambda predictions: [mask(predictions, [Between(figure=name, least=0)]) for name in FIGURES],
    lambda predictions: [groups.by_figure(predictions, name) for name in FIGURES],
)


def test_figures_exist_for_every_task():
    for item in all_rows(CLASSES, SETS, TAGS, NUMBERS, QUESTIONS):
        for function in FUNCTIONS:
            function(item)
            assert all(figure(item, name).shape == (len(item),) for name in FIGURES)


def test_label_figures_exist():
    for item in all_rows(CLASSES, SETS):
        for function in LABEL_FUNCTIONS:
            function(item)
            assert item.scores.shape == (len(item), 2)


def test_span_figures_exist():
    for item in all_rows(TAGS):
        assert sum(span_figures.kind_counts(item).values()) == 0
        assert span_figures.type_confusion(item).counts.shape == (1, 1)
        assert span_figures.type_figures(item) == ()


def test_residual_groups_exist():
    for item in all_rows(NUMBERS):
        parts = groups.groups(item, groups.by_width(item, "residual", 30))
        assert sum(part.count for part in parts) <= len(item)


def test_answer_figures_exist():
    for item in all_rows(QUESTIONS):
        answers.by_kind(item), answers.by_length(item)
        assert (answers.threshold_curve(item) is None) == (len(item) == 0)
