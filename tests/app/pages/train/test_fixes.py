"""An obstacle that can be settled at once has a button that settles it."""

from dataclasses import replace

import pytest

from app.pages.train.choices import Choices, Step
from app.pages.train.fixes import fixes
from app.pages.train.goals import goals
from app.pages.train.obstacles import obstacle
from engine.spec.tasks.pretraining import Pretraining
from engine.spec.tasks.text_classification import TextClassification
from tests.app.pages.train.cards import ONWARD, PAIR, SENTENCE
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
