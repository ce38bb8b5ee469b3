"""Each step names what is missing before the start, and offers buttons that fix it."""

from dataclasses import replace

import pytest
from pydantic import ValidationError

from app.pages.train.choices import Choices, Model, Scratch, Step, goals
from app.pages.train.job import choices_from_job, compose_job
from app.pages.train.obstacles import Fix, validate
from app.pages.train.summary import list_advanced_changes, summary
from engine.config.dataset import Cleaning, Mapping, Target
from engine.config.features import Features
from engine.config.tasks.multi_label import MultiLabel
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.config.tasks.token_classification import TokenClassification
from engine.config.training import HardwareSpec
from tests.app.pages.train.examples import (
    CONTINUE,
    LABELS,
    MODEL,
    NUMBER,
    PAIR,
    SCRATCH,
    SENTENCE,
    TAGS,
    choose,
    data,
    with_training,
)


def obstacle(choices: Choices, step: Step) -> str:
    obstacle = validate(choices).obstacles.get(step)
    return obstacle.sentence if obstacle else ""


def fixes(choices: Choices, step: Step) -> list[Fix]:
    obstacle = validate(choices).obstacles.get(step)
    return list(obstacle.fixes) if obstacle else []


def with_model(choices: Choices, **fields: object) -> Choices:
    """The same choices with a base model that differs in `fields`."""
    info = choices.model.info.model_copy(update=fields)
    return replace(choices, model=replace(choices.model, info=info))


def test_each_step_reports_what_is_missing():
    empty = Choices()
    assert obstacle(empty, Step.TASK) == "Choose a task."
    assert obstacle(empty, Step.DATA).startswith("Choose a data set")
    task = Choices(goal=SENTENCE)
    assert obstacle(task, Step.BASE_MODEL) == "Choose a base model."
    wrong = replace(choose(SENTENCE), data=data(PAIR))
    assert obstacle(wrong, Step.DATA).startswith(
        "“films” does not fit this task: Every row has two"
    )
    missing = replace(choose(SENTENCE), model=Model("lost", MODEL.path))
    assert "“lost” no longer exists" in obstacle(missing, Step.BASE_MODEL)
    for kind in goals():
        assert [obstacle(choose(kind), step) for step in Step] == [""] * 5


def test_class_weights_must_name_labels_or_tags_of_the_data():
    for kind, task in ((SENTENCE, TextClassification), (LABELS, MultiLabel)):
        choices = choose(kind)
        valid = choices.with_task(task(class_weights={"good": 2.0}))
        assert obstacle(valid, Step.SETTINGS) == ""
        wrong = choices.with_task(task(class_weights={"great": 2.0}))
        assert "“great”, but the data has no" in obstacle(wrong, Step.SETTINGS)
        assert "“great”" in obstacle(wrong.with_data(wrong.data), Step.SETTINGS), "it is kept"
    choices = choose(TAGS)
    spec = choices.data.spec.model_copy(update={"spans": {"person": 3, "place": 2}})
    choices = replace(choices, data=replace(choices.data, spec=spec))
    assert choices.label_names == ("person", "place", "O")
    for name in ("person", "B-place", "O"):
        valid = choices.with_task(TokenClassification(class_weights={name: 2.0}))
        assert obstacle(valid, Step.SETTINGS) == ""
    wrong = choices.with_task(TokenClassification(class_weights={"B-thing": 2.0}))
    assert "“B-thing”, but the data has no" in obstacle(wrong, Step.SETTINGS)


def test_settings_unsupported_by_model_or_task_are_obstacles():
    longer = with_training(choose(SENTENCE), max_length=300)
    assert "at most 256" in obstacle(longer, Step.SETTINGS)
    masking = Pretraining(mask_token_share=0.8, random_token_share=0.3)
    choices = choose(CONTINUE).with_task(masking)
    assert "more than 1" in obstacle(choices, Step.SETTINGS)
    assert obstacle(replace(choices, goal=SENTENCE), Step.SETTINGS) == ""
    choices = choose(SCRATCH)
    assert not obstacle(choices, Step.SETTINGS)
    adapted = with_training(choices, lora_rank=8)
    assert "LoRA rank to 0" in obstacle(adapted, Step.SETTINGS)
    missing = Scratch(vocabulary=Model("lost", MODEL.path))
    assert "“lost”" in obstacle(replace(choose(SCRATCH), scratch=missing), Step.BASE_MODEL)


def test_the_objective_must_match_the_direction_of_the_model():
    bidirectional = choose(CONTINUE)
    causal = with_model(bidirectional, causal=True)
    causal_task = {"tasks": {"pretraining": Pretraining(objective="clm")}}
    assert obstacle(bidirectional, Step.BASE_MODEL) == ""
    assert "is bidirectional" in obstacle(replace(bidirectional, **causal_task), Step.BASE_MODEL)
    assert "is a causal (left-to-right) model" in obstacle(causal, Step.BASE_MODEL)
    assert obstacle(replace(causal, **causal_task), Step.BASE_MODEL) == ""
    assert obstacle(replace(causal, goal=SENTENCE), Step.BASE_MODEL) == ""
    assert "next-token prediction" in summary(replace(causal, **causal_task))


def test_a_probe_is_summarised_and_excludes_lora():
    choices = replace(choose(SENTENCE), features=Features(vectors="last", epochs=7))
    text = summary(choices)
    assert "(2 label(s), probe on frozen features: Last layer)." in text
    assert "7 epoch" in text
    sweep = replace(choices, features=Features(vectors="layer sweep"))
    assert "layer probing sweep" in summary(sweep)
    assert any(
        "Last layer (default Fine-tuning)" in change for change in list_advanced_changes(choices)
    )
    assert not obstacle(choices, Step.SETTINGS)
    adapted = with_training(choices, lora_rank=8)
    assert "LoRA rank to 0" in obstacle(adapted, Step.SETTINGS)
    pretraining = replace(choose(CONTINUE), features=choices.features)
    assert compose_job(pretraining).features == Features(), "pre-training has no probe"
    assert choices_from_job(compose_job(choices), [], []).features == choices.features


def test_invalid_combinations_of_processes_are_obstacles():
    for hardware, training, expected in [
        ({"processes": 2}, {}, ""),
        ({"processes": 2, "sharded": True}, {}, ""),
        ({"processes": 8}, {"batch_size": 4}, "batch of 4 cannot be shared by 8"),
        ({"processes": 2, "device": "mps"}, {}, "A Mac has one GPU"),
        ({"sharded": True}, {}, "needs at least 2 processes"),
        ({"processes": 2, "sharded": True}, {"ema_decay": 0.9}, "cannot be combined with"),
        ({"processes": 2, "sharded": True}, {"lora_rank": 4}, "cannot be combined with"),
    ]:
        choices = with_training(choose(SENTENCE), **training)
        choices = replace(choices, hardware=HardwareSpec.model_validate(hardware))
        message = obstacle(choices, Step.SETTINGS)
        assert expected in message and bool(expected) == bool(message)
        if expected:
            with pytest.raises(ValidationError):
                compose_job(choices)
        else:
            assert compose_job(choices).hardware == choices.hardware


def test_a_family_without_an_nsp_head_is_an_obstacle():
    families = {"bert": "", "albert": "", "roberta": "RoBERTa", "distilbert": "Di"}
    for family, expected in families.items():
        choices = with_model(choose(CONTINUE), family=family)
        pairs = choices.with_task(Pretraining(nsp=True))
        message = obstacle(pairs, Step.SETTINGS)
        assert message.startswith(expected) and bool(message) == bool(expected)
        single = choices.with_task(Pretraining(nsp=False))
        assert obstacle(single, Step.SETTINGS) == ""


INVALID = {
    "another task": (replace(choose(SENTENCE), data=data(PAIR)), Step.DATA),
    "labels of another data set": (
        choose(SENTENCE).with_task(TextClassification(labels=("fast", "slow"))),
        Step.DATA,
    ),
    "weights of another data set": (
        choose(SENTENCE).with_task(TextClassification(class_weights={"fast": 2, "good": 3})),
        Step.SETTINGS,
    ),
    "too long": (with_training(choose(SENTENCE), max_length=300), Step.SETTINGS),
    "masks for a causal model": (with_model(choose(CONTINUE), causal=True), Step.BASE_MODEL),
    "no head for pairs": (
        with_model(choose(CONTINUE), family="roberta").with_task(Pretraining(nsp=True)),
        Step.SETTINGS,
    ),
}


def test_the_fix_removes_the_obstacle():
    for choices, step in INVALID.values():
        assert obstacle(choices, step)
        (fix,) = fixes(choices, step)
        assert obstacle(fix.choices, step) == "" and fix.title
        assert fixes(fix.choices, step) == []
    (fix,) = fixes(*INVALID["weights of another data set"])
    assert fix.choices.task.class_weights == {"good": 3}, "other weights are kept"


def test_fixes_skip_rows_or_use_another_column():
    choices = choose(SENTENCE)
    spec = choices.data.spec.model_copy(update={"empty": {"text": 3, "other": 5}})
    choices = replace(choices, data=replace(choices.data, spec=spec))
    assert "3 of 1,000 rows have no text" in obstacle(choices, Step.DATA)
    (fix,) = fixes(choices, Step.DATA)
    assert fix.title == "Skip rows without a text"
    assert fix.edit is not None and fix.edit.cleaning == Cleaning(skip_empty=("text",))
    none_left = spec.model_copy(update={"empty": {"text": 1000}})
    choices = replace(choices, data=replace(choices.data, spec=none_left))
    assert fixes(choices, Step.DATA) == []
    choices = replace(choose(SENTENCE), goal=NUMBER)
    numbers = Target(labels={f"{n / 10}": 9 for n in range(30)})
    columns = ("text", "label", "other")
    update = {"targets": {"other": numbers}, "columns": columns}
    spec = choices.data.spec.model_copy(update=update)
    choices = replace(choices, data=replace(choices.data, spec=spec))
    column, task = fixes(choices, Step.DATA)
    assert column.title == "Use “other” as the label" and column.edit is None
    assert column.choices.data.source.target == "other"
    assert column.choices.data.spec.mapping == Mapping(text="text", label="other")
    assert task.title == "Change the task to “Text classification”"
    flags = Mapping(text="text", flags=("label", "more"))
    several = spec.model_copy(update={"mapping": flags, "columns": (*columns, "more")})
    choices = replace(choices, data=replace(choices.data, spec=several))
    column, task = fixes(choices, Step.DATA)
    mapping = column.choices.data.spec.mapping
    assert mapping == Mapping(text="text", label="other"), "no flag is left"
    assert task.title == "Change the task to “Multi-label classification”"
