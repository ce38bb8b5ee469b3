"""An obstacle that can be settled at once has a button that settles it."""

from dataclasses import replace

import pytest

from app.pages.train.choices import Choices, Step
from app.pages.train.fixes import fixes
from app.pages.train.goals import goals
from app.pages.train.obstacles import obstacle
from engine.config.dataset import Cleaning, Mapping
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from tests.app.pages.train.cards import NUMBER, ONWARD, PAIR, SENTENCE
from tests.app.pages.train.chosen import chosen, data


def of_model(choices: Choices, **facts: object) -> Choices:
    """The same with a base model of which other things are known."""
    assert choices.model is not None and choices.model.info is not None
    info = choices.model.info.model_copy(update=facts)
    return replace(choices, model=replace(choices.model, info=info))


def longer(choices: Choices) -> Choices:
    return choices.with_training(choices.training.model_copy(update={"max_length": 300}))


WRONG = {
    "another task": (replace(chosen(SENTENCE), data=data(PAIR)), Step.DATA),
    "labels of another data set": (
        chosen(SENTENCE).with_task(TextClassification(labels=("fast", "slow"))),
        Step.DATA,
    ),
    "weights of another data set": (
        chosen(SENTENCE).with_task(TextClassification(class_weights={"fast": 2, "good": 3})),
        Step.SETTINGS,
    ),
    "too long": (longer(chosen(SENTENCE)), Step.SETTINGS),
    "masks for a causal model": (of_model(chosen(ONWARD), causal=True), Step.BASE_MODEL),
    "no head for pairs": (
        of_model(chosen(ONWARD), family="roberta").with_task(Pretraining(nsp=True)),
        Step.SETTINGS,
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_the_button_settles_the_obstacle(case: str) -> None:
    choices, step = WRONG[case]
    assert obstacle(choices, step)
    (fix,) = fixes(choices, step)
    assert obstacle(fix.choices, step) == "" and fix.title
    assert fixes(fix.choices, step) == []


def test_weights_for_labels_that_are_there_are_kept() -> None:
    (fix,) = fixes(*WRONG["weights of another data set"])
    assert fix.choices.task.class_weights == {"good": 3}


def test_where_nothing_is_wrong_there_is_no_button() -> None:
    for goal in goals():
        assert not any(fixes(chosen(goal), step) for step in Step)


def test_rows_that_lack_something_are_skipped_in_a_new_version() -> None:
    choices = chosen(SENTENCE)
    assert choices.data is not None and choices.data.spec is not None
    spec = choices.data.spec.model_copy(update={"empty": {"label": 3, "other": 5}})
    choices = replace(choices, data=replace(choices.data, spec=spec))
    assert "3 of 1,000 rows have no label" in obstacle(choices, Step.DATA)
    (fix,) = fixes(choices, Step.DATA)
    assert fix.title == "Skip rows without a label"
    assert fix.edit is not None and fix.edit.cleaning == Cleaning(skip_empty=("label",))
    none_left = spec.model_copy(update={"empty": {"label": 1000}})
    choices = replace(choices, data=replace(choices.data, spec=none_left))
    assert fixes(choices, Step.DATA) == []


def test_the_column_that_suits_the_task_is_offered() -> None:
    choices = replace(chosen(SENTENCE), goal=NUMBER)
    assert choices.data is not None and choices.data.spec is not None
    spec = choices.data.spec.model_copy(update={"label_for": {"regression": "other"}})
    choices = replace(choices, data=replace(choices.data, spec=spec))
    column, task = fixes(choices, Step.DATA)
    assert column.title == "Use “other” as the label"
    assert column.edit is not None
    assert column.edit.mapping == Mapping(text="text", label="other")
    assert task.title == "Change the task to “Text classification”"
    flags = Mapping(text="text", flags=("other", "more"))
    several = spec.model_copy(update={"mapping": flags, "columns": flags.columns})
    choices = replace(choices, data=replace(choices.data, spec=several))
    column, task = fixes(choices, Step.DATA)
    assert column.edit is not None
    assert column.edit.mapping == Mapping(text="text", label="other"), "of the flags none is left"
    assert task.title == "Change the task to “Multi-label classification”"
