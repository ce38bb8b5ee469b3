import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from app.pages.train import advice
from app.pages.train.advice import Lengths
from app.pages.train.choices import (
    Choices,
    Data,
    Goal,
    Model,
    Scratch,
    Step,
    choices_of,
    goals,
    job,
)
from engine.data.columns.fit import likely_task
from engine.messages.estimating import Estimated
from engine.spec.dataset import FileData, Mapping
from engine.spec.features import Features
from engine.spec.model import PRESETS
from engine.spec.tasks.multi_label import MultiLabel
from engine.spec.tasks.pretraining import Pretraining
from engine.spec.tasks.text_classification import TextClassification
from engine.spec.tasks.token_classification import TokenClassification
from engine.spec.training import HardwareSpec
from tests.app.pages.train.cards import (
    CHOICES,
    LABELS,
    NUMBER,
    ONWARD,
    PAIR,
    SCRATCH,
    SENTENCE,
    TAGS,
)
from tests.app.pages.train.test_choices import MODEL, chosen, data, dataset

GB = 1_000_000_000


def estimate(memory: int = GB, seconds: float = 60) -> Estimated:
    return Estimated(
        steps=100,
        seconds_per_step=0.6,
        seconds=seconds,
        memory=memory,
        available=8 * GB,
        parameters=10_000_000,
        device="cpu",
    )


def test_a_sentence_needs_one_text_and_a_pair_two() -> None:
    assert advice.misfits(dataset(), SENTENCE.kind) == []
    assert advice.misfits(dataset(PAIR), PAIR.kind) == []
    assert "two texts" in str(advice.misfits(dataset(PAIR), SENTENCE.kind)[0])
    assert "needs two" in str(advice.misfits(dataset(), PAIR.kind)[0])


def test_classes_need_labels_and_masked_words_do_not() -> None:
    bare = dataset().model_copy(update={"mapping": Mapping(text="text"), "labels": {}})
    assert advice.misfits(bare, SENTENCE.kind)
    assert advice.misfits(bare, ONWARD.kind) == []
    single = dataset().model_copy(update={"labels": {"good": 1000}})
    assert advice.misfits(single, SENTENCE.kind)


def test_a_data_set_without_training_rows_fits_nothing() -> None:
    empty = dataset().model_copy(update={"rows": {"validation": 5}})
    assert all("no rows" in str(advice.misfits(empty, kind.kind)[-1]) for kind in goals())


def test_each_step_says_in_a_sentence_what_is_missing() -> None:
    nothing = Choices()
    assert advice.obstacle(nothing, Step.TASK) == "Choose what the model should learn."
    assert advice.obstacle(nothing, Step.DATA).startswith("Choose a data set")
    task = Choices(goal=SENTENCE)
    assert advice.obstacle(task, Step.START) == "Choose a model to start from."
    wrong = replace(chosen(SENTENCE), data=data(PAIR))
    assert advice.obstacle(wrong, Step.DATA).startswith("“films” does not fit: Every row has two")
    gone = replace(chosen(SENTENCE), model=Model("lost", MODEL.path))
    assert "“lost” is no longer there" in advice.obstacle(gone, Step.START)
    for kind in goals():
        assert [advice.obstacle(chosen(kind), step) for step in Step] == [""] * 5


@pytest.mark.parametrize(
    "kind, others",
    [
        (LABELS, {SENTENCE}),  # a cell with several labels may be a class
        (NUMBER, {LABELS}),
        (CHOICES, {LABELS, NUMBER}),
    ],
)
def test_each_kind_of_label_fits_its_task(kind: Goal, others: set[Goal]) -> None:
    spec = dataset(kind)
    fits = {one for one in goals() if not one.is_pretraining and not advice.misfits(spec, one.kind)}
    assert kind in fits and fits <= {kind, *others}
    assert kind.task == likely_task(spec.mapping, spec.labels)
    assert "little" in advice.summary(chosen(kind))


@pytest.mark.parametrize(
    "kind, mapping, labels, says",
    [
        (NUMBER, {"label": "label"}, {"1.5": 3, "much": 1}, "1 of 4 rows have no number"),
        (NUMBER, {"label": "label"}, {"1.5": 3, "1,5": 1}, "in every row"),
        (NUMBER, {}, {}, "needs a number for each row"),
        (LABELS, {}, {}, "a column with the labels"),
        (LABELS, {"label": "label"}, {"": 5}, "No row has a label"),
        (CHOICES, {"label": "label"}, {"0": 5, "1": 5}, "needs the choices"),
        (CHOICES, {"endings": ("a", "b")}, {}, "which choice is right"),
        (PAIR, {"pair": "other", "label": "label"}, {f"{n / 9}": 9 for n in range(99)},
         "99 different numbers on a scale"),
        (SENTENCE, {"endings": ("a", "b"), "label": "label"}, {"0": 5, "1": 5},
         "several choices"),
    ],
)  # fmt: skip
def test_what_a_task_misses_is_said(kind: Goal, mapping: dict, labels: dict, says: str) -> None:
    spec = dataset().model_copy(
        update={
            "mapping": Mapping(text="text", **mapping),
            "labels": labels,
            "columns": ("text", "other", "label", "a", "b"),
        }
    )
    assert any(says in str(problem) for problem in advice.misfits(spec, kind.kind))


def test_weights_are_for_labels_of_the_data() -> None:
    for kind, task in ((SENTENCE, TextClassification), (LABELS, MultiLabel)):
        choices = chosen(kind)
        right = choices.with_task(task(class_weights={"good": 2.0}))
        assert advice.obstacle(right, Step.SETTINGS) == ""
        wrong = choices.with_task(task(class_weights={"great": 2.0}))
        assert "“great”, and no label" in advice.obstacle(wrong, Step.SETTINGS)
        assert wrong.data is not None
        assert advice.obstacle(wrong.with_data(wrong.data), Step.SETTINGS) == ""


def test_weights_are_for_tags_and_types_of_the_data() -> None:
    choices = chosen(TAGS)
    assert choices.data is not None
    spec = choices.data.spec.model_copy(update={"spans": {"person": 3, "place": 2}})
    choices = replace(choices, data=replace(choices.data, spec=spec))
    assert advice.label_names(choices) == ("person", "place", "O")
    for name in ("person", "B-place", "O"):
        right = choices.with_task(TokenClassification(class_weights={name: 2.0}))
        assert advice.obstacle(right, Step.SETTINGS) == ""
    wrong = choices.with_task(TokenClassification(class_weights={"B-thing": 2.0}))
    assert "“B-thing”, and no label" in advice.obstacle(wrong, Step.SETTINGS)


def test_an_input_longer_than_the_model_reads_is_told_before_the_start() -> None:
    choices = chosen(SENTENCE)
    longer = choices.with_training(choices.training.model_copy(update={"max_length": 300}))
    assert "at most 256" in advice.obstacle(longer, Step.SETTINGS)


def test_the_objective_and_the_direction_of_a_model_go_together() -> None:
    both_sides = chosen(ONWARD)
    assert both_sides.model is not None and both_sides.model.info is not None
    info = both_sides.model.info.model_copy(update={"causal": True})
    causal = replace(both_sides, model=replace(both_sides.model, info=info))
    next_word = {"tasks": {"pretraining": Pretraining(objective="clm")}}
    assert advice.obstacle(both_sides, Step.START) == ""
    assert "looks to both sides" in advice.obstacle(replace(both_sides, **next_word), Step.START)
    assert "is left-to-right" in advice.obstacle(causal, Step.START)
    assert advice.obstacle(replace(causal, **next_word), Step.START) == ""
    assert advice.obstacle(replace(causal, goal=SENTENCE), Step.START) == ""
    assert "next-token prediction" in advice.summary(replace(causal, **next_word))


def test_shares_of_masking_cannot_be_more_than_the_whole() -> None:
    masking = Pretraining(mask_token_share=0.8, random_token_share=0.3)
    choices = chosen(ONWARD).with_task(masking)
    assert "more than 1" in advice.obstacle(choices, Step.SETTINGS)
    assert advice.obstacle(replace(choices, goal=SENTENCE), Step.SETTINGS) == ""


@pytest.mark.parametrize("gigabytes, word", [(1, "fits"), (7, "tight"), (9, "too big")])
def test_the_verdict_follows_the_memory_that_is_free(gigabytes: int, word: str) -> None:
    assert advice.verdict(estimate(gigabytes * GB)) == word


def test_warnings_name_what_is_doubtful_and_nothing_else() -> None:
    assert advice.warnings(chosen(SENTENCE), Lengths((10, 20)), estimate()) == []
    spec = dataset().model_copy(update={"rows": {"train": 9}, "labels": {"a": 3, "b": 900}})
    doubtful = replace(chosen(SENTENCE), data=replace(data(), spec=spec))
    said = advice.warnings(doubtful, Lengths((10, 500)), estimate(9 * GB, 1e6))
    assert [
        any(word in s for s in said) for word in ("no dev", "“a”", "50 %", "memory", "long")
    ] == [True] * 5
    assert "“b”" not in " ".join(said)


def test_checkpoints_that_the_disk_has_no_room_for_are_told_before_the_start() -> None:
    room = estimate().model_copy(update={"checkpoint": GB, "checkpoints": 4, "disk_free": 4 * GB})
    assert not any("checkpoints" in text for text in advice.warnings(chosen(SENTENCE), None, room))
    short = room.model_copy(update={"disk_free": 3 * GB})
    (told,) = [
        text for text in advice.warnings(chosen(SENTENCE), None, short) if "checkpoints" in text
    ]
    assert "need up to 4.0 GB, and 3.0 GB are free" in told


def test_going_on_without_a_head_for_words_is_said() -> None:
    assert advice.warnings(chosen(ONWARD)) == []
    assert MODEL.info is not None
    bare = MODEL.info.model_copy(update={"task_heads": ("pooler",)})
    headless = replace(chosen(ONWARD), model=replace(MODEL, info=bare))
    assert "no head" in advice.warnings(headless)[0]


def test_the_length_that_is_suggested_holds_99_of_100_inputs() -> None:
    lengths = Lengths(tuple(sorted([30] * 990 + [400] * 10)))
    assert lengths.suggested(512) in (400, 32)
    assert Lengths((20,) * 995 + (400,) * 5).suggested(512) == 24
    assert Lengths((100,) * 100).suggested(512) == 112
    assert Lengths((900,) * 100).suggested(512) == 512
    assert Lengths((3,)).suggested(512) == 16
    assert lengths.share_cut(30) == pytest.approx(0.01)


@pytest.mark.parametrize(
    "changed, words",
    [
        ({"lora_rank": 8}, "LoRA rank 8)."),
        ({"frozen_layers": 3}, "lowest 3 layers frozen)."),
    ],
)
def test_the_summary_says_which_weights_learn(changed: dict[str, int], words: str) -> None:
    choices = chosen(SENTENCE)
    training = choices.training.model_copy(update=changed)
    assert words in advice.summary(choices.with_training(training))


def test_fresh_weights_are_not_adapted() -> None:
    choices = chosen(SCRATCH)
    assert not advice.obstacle(choices, Step.SETTINGS)
    adapted = choices.with_training(choices.training.model_copy(update={"lora_rank": 8}))
    assert "LoRA rank to 0" in advice.obstacle(adapted, Step.SETTINGS)


def test_the_summary_says_what_is_learned_and_how_long() -> None:
    said = advice.summary(chosen(SENTENCE))
    assert said == (
        "Fine-tune “little” on “films” (2 label(s), all weights)."
        " It sees the 900 training rows 3 times in batches of 32."
        " It is judged by 100 dev rows, and the best state is kept."
    )
    quick = chosen(PAIR).with_quick_look(True)
    assert "10 % of the training rows (90)" in advice.summary(quick)
    steps = chosen(ONWARD)
    steps = steps.with_training(steps.training.model_copy(update={"steps": 70}))
    assert "70 steps of 32 examples" in advice.summary(steps)
    assert "new BERT (small)" in advice.summary(chosen(SCRATCH))
    plain = replace(chosen(SENTENCE), data=Data("a.csv", FileData(path="a.csv")))  # type: ignore[arg-type]
    assert "The last state is kept." in advice.summary(plain)


def test_names_with_markup_or_braces_are_told_as_they_are() -> None:
    hostile = "<b>{labels}</b>%n&amp;"
    choices = replace(chosen(SENTENCE), data=replace(data(), name=hostile))
    assert hostile in advice.summary(choices)


def test_what_advanced_changed_is_listed_with_the_default() -> None:
    choices = chosen(ONWARD)
    assert advice.changed_by_advanced(choices) == []
    simple = choices.training.model_copy(
        update={"batch_size": 16, "seed": 1, "train_fraction": 0.1}
    )
    assert advice.changed_by_advanced(choices.with_training(simple)) == []
    changed = replace(
        choices.with_training(choices.training.model_copy(update={"warmup_ratio": 0.2})),
        hardware=HardwareSpec(threads=1),
        tasks={"pretraining": Pretraining(mlm_probability=0.3)},
    )
    assert advice.changed_by_advanced(changed) == [
        "Warm-up ratio: 0.2 instead of 0.1",
        "Threads: 1 instead of 0",
        "Masking probability: 0.3 instead of 0.15",
    ]
    suggested = chosen(SENTENCE).with_suggested_length(48)
    assert advice.changed_by_advanced(suggested) == []


def test_the_parameters_are_those_of_the_published_models() -> None:
    assert advice.parameters(PRESETS["base"]) == 109_514_298  # bert-base-uncased, masked words
    assert advice.parameters(PRESETS["large"]) == 335_174_458


def test_the_command_can_be_pasted_into_a_shell() -> None:
    file = Path("films-little.json")
    assert (
        advice.command("train", file) == "bert-studio train films-little.json --into films-little"
    )
    hostile = Path("$(rm -rf ~); `x` 'y'.json")
    words = ["bert-studio", "cluster", str(hostile), "--into", str(hostile.with_suffix(""))]
    assert shlex.split(advice.command("cluster", hostile)) == words


def test_scratch_without_its_vocabulary_model_waits() -> None:
    lost = Scratch(vocabulary=Model("lost", MODEL.path))
    assert "“lost”" in advice.obstacle(replace(chosen(SCRATCH), scratch=lost), Step.START)


def test_a_reader_is_told_and_takes_no_adapters() -> None:
    choices = replace(chosen(SENTENCE), features=Features(vectors="last", epochs=7))
    said = advice.summary(choices)
    assert "probe on frozen features: last)." in said
    assert "7 times in batches" in said
    bench = replace(choices, features=Features(vectors="layer sweep"))
    assert "layer probing sweep" in advice.summary(bench)
    assert any("What is trained: last" in change for change in advice.changed_by_advanced(choices))
    assert not advice.obstacle(choices, Step.SETTINGS)
    adapted = choices.with_training(choices.training.model_copy(update={"lora_rank": 8}))
    assert "LoRA rank to 0" in advice.obstacle(adapted, Step.SETTINGS)
    onward = replace(chosen(ONWARD), features=choices.features)
    assert job(onward).features == Features(), "pre-training has no reader"
    assert choices_of(job(choices), [], []).features == choices.features


@pytest.mark.parametrize(
    "hardware, training, said",
    [
        ({"processes": 2}, {}, ""),
        ({"processes": 2, "sharded": True}, {}, ""),
        ({"processes": 8}, {"batch_size": 4}, "batch of 4 cannot be shared by 8"),
        ({"processes": 2, "device": "mps"}, {}, "A Mac has one GPU"),
        ({"sharded": True}, {}, "spread over several processes"),
        ({"processes": 2, "sharded": True}, {"ema_decay": 0.9}, "trained as they are"),
        ({"processes": 2, "sharded": True}, {"lora_rank": 4}, "trained as they are"),
    ],
)
def test_what_processes_cannot_do_is_told_before_the_start(
    hardware: dict[str, object], training: dict[str, object], said: str
) -> None:
    choices = chosen(SENTENCE)
    choices = choices.with_training(choices.training.model_copy(update=training))
    choices = replace(choices, hardware=HardwareSpec.model_validate(hardware))
    told = advice.obstacle(choices, Step.SETTINGS)
    assert said in told and bool(said) == bool(told)
    if said:
        with pytest.raises(ValidationError):
            job(choices)
    else:
        assert job(choices).hardware == choices.hardware


def test_a_family_without_a_head_for_next_sentence_is_told_before_the_start() -> None:
    onward = chosen(ONWARD)
    assert onward.model is not None and onward.model.info is not None
    for family, said in (
        ("bert", ""),
        ("albert", ""),
        ("roberta", "RoBERTa"),
        ("distilbert", "Di"),
    ):
        info = onward.model.info.model_copy(update={"family": family})
        of_family = replace(onward, model=replace(onward.model, info=info))
        pairs = of_family.with_task(Pretraining(nsp=True))
        found = advice.obstacle(pairs, Step.SETTINGS)
        assert found.startswith(said) and bool(found) == bool(said)
        alone = of_family.with_task(Pretraining(nsp=False))
        assert advice.obstacle(alone, Step.SETTINGS) == ""
