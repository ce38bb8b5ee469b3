"""Data and tasks that fit each other."""

from app.pages.train.choices import goals
from app.pages.train.summary import summary
from engine.config.dataset import Mapping
from engine.data.columns.fit import dataset_problems, likely_task
from tests.app.pages.train.examples import (
    CHOICES,
    CONTINUE,
    LABELS,
    NUMBER,
    ORDERED,
    PAIR,
    SENTENCE,
    choose,
    dataset,
)


def test_a_task_requires_its_texts_labels_and_rows():
    assert dataset_problems(dataset(), SENTENCE.task) == []
    assert dataset_problems(dataset(PAIR), PAIR.task) == []
    assert "two texts" in str(dataset_problems(dataset(PAIR), SENTENCE.task)[0])
    assert "needs two" in str(dataset_problems(dataset(), PAIR.task)[0])
    bare = dataset().model_copy(update={"mapping": Mapping(text="text"), "labels": {}})
    assert dataset_problems(bare, SENTENCE.task)
    assert dataset_problems(bare, CONTINUE.task) == []
    single = dataset().model_copy(update={"labels": {"good": 1000}})
    assert dataset_problems(single, SENTENCE.task)
    empty = dataset().model_copy(update={"rows": {"validation": 5}})
    assert all(
        "no training rows" in str(dataset_problems(empty, kind.task)[-1]) for kind in goals()
    )


def test_each_kind_of_label_fits_its_task():
    for kind, others in [
        (LABELS, {SENTENCE}),  # a cell with several labels may be a class
        (NUMBER, {LABELS}),
        (CHOICES, {LABELS, NUMBER}),
    ]:
        spec = dataset(kind)
        fits = {
            goal
            for goal in goals()
            if not goal.is_pretraining and not dataset_problems(spec, goal.task)
        }
        assert kind in fits and fits <= {kind, *others, ORDERED}  # which is never the likely one
        assert kind.task == likely_task(spec.mapping, spec.labels)
        assert "little" in summary(choose(kind))


def test_columns_that_a_task_lacks_are_reported():
    for kind, mapping, labels, message in [
        (NUMBER, {"label": "label"}, {"1.5": 3, "much": 1}, "1 of 4 rows have no number"),
        (NUMBER, {"label": "label"}, {"1.5": 3, "1.50": 1}, "in every row"),
        (NUMBER, {"label": "label"}, {"1.5": 3, "2,5": 1}, "comma in numbers is ambiguous"),
        (NUMBER, {}, {}, "needs a number for each row"),
        (LABELS, {}, {}, "a column with the labels"),
        (LABELS, {"label": "label"}, {"": 5}, "No row has a label"),
        (CHOICES, {"label": "label"}, {"0": 5, "1": 5}, "needs the choices"),
        (CHOICES, {"endings": ("a", "b")}, {}, "correct choice of each row"),
        (
            PAIR,
            {"pair": "other", "label": "label"},
            {f"{n / 9}": 9 for n in range(99)},
            "99 different numbers on a scale",
        ),
        (SENTENCE, {"endings": ("a", "b"), "label": "label"}, {"0": 5, "1": 5}, "several choices"),
    ]:
        spec = dataset().model_copy(
            update={
                "mapping": Mapping(text="text", **mapping),
                "labels": labels,
                "columns": ("text", "other", "label", "a", "b"),
            }
        )
        assert any(message in str(problem) for problem in dataset_problems(spec, kind.task))
