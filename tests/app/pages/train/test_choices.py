from dataclasses import replace
from pathlib import Path

import pytest

from app.pages.train.choices import (
    LONGEST_NAME,
    OWN_SIZE,
    Choices,
    Data,
    Goal,
    Model,
    Scratch,
    choices_of,
    goals,
    job,
    network,
    suggested_name,
)
from engine.messages.reports import CheckpointInfo
from engine.spec.dataset import DatasetSpec, FileData, Mapping, Reading, Split, StoredData
from engine.spec.job import FromCheckpoint, FromScratch, JobSpec
from engine.spec.model import PRESETS, bert
from engine.spec.tasks.pair_classification import PairClassification
from engine.spec.tasks.pretraining import Pretraining
from engine.spec.tasks.text_classification import TextClassification
from engine.spec.training import HardwareSpec, TrainingSpec
from tests.app.pages.train.cards import (
    CHOICES,
    LABELS,
    NUMBER,
    PAIR,
    QUESTIONS,
    SCRATCH,
    SENTENCE,
    TAGS,
)

INFO = CheckpointInfo(
    layers=2,
    hidden_size=128,
    heads=2,
    intermediate_size=512,
    max_positions=256,
    vocab_size=1000,
    parameters=500_000,
    task_heads=("masked words",),
)
MODEL = Model("little", Path("/models/little"), INFO)


MAPPINGS = {  # what the rows of a kind need, where it is not a text and a label
    PAIR: Mapping(text="text", pair="other", label="label"),
    TAGS: Mapping(text="text", tags="other"),
    CHOICES: Mapping(text="text", endings=("other", "another"), label="label"),
    QUESTIONS: Mapping(text="text", pair="other", answers="label"),
}
LABELS = {  # where they are no classes
    LABELS: {"good|long": 500, "good": 300, "long": 200},
    NUMBER: {f"{n / 10}": 20 for n in range(50)},
    CHOICES: {"0": 500, "1": 500},
}


def dataset(kind: Goal = SENTENCE) -> DatasetSpec:
    return DatasetSpec(
        name="films",
        version=1,
        sources={"all": Path("films.csv")},
        reading=Reading(),
        mapping=MAPPINGS.get(kind, Mapping(text="text", label="label")),
        split=Split(),
        columns=("text", "other", "another", "label"),
        rows={"train": 900, "validation": 100},
        labels=LABELS.get(kind, {"bad": 500, "good": 500}),
        fingerprint="f" * 64,
    )


def data(kind: Goal = SENTENCE) -> Data:
    source = StoredData(folder=Path("/home/datasets/films/1"), fingerprint="f" * 64)
    return Data("films", source, dataset(kind))


def chosen(kind: Goal) -> Choices:
    return Choices(goal=kind, data=data(kind), model=MODEL)


def test_fine_tuning_a_sentence_starts_from_the_checkpoint_with_the_papers_settings() -> None:
    assert job(chosen(SENTENCE)) == JobSpec(
        name="films · little",
        task=TextClassification(),
        base_model=FromCheckpoint(path=MODEL.path),
        data=data().source,
        training=TrainingSpec(),
    )


def test_from_scratch_takes_the_size_and_a_vocabulary_of_its_own() -> None:
    choices = replace(chosen(SCRATCH), scratch=Scratch(size="tiny", pieces=5000, lowercase=False))
    start = job(choices).base_model
    assert start == FromScratch(model=bert(2, 128, 5000), tokenizer=None, lowercase=False)


def test_from_scratch_with_the_vocabulary_of_a_model_is_as_wide_as_that() -> None:
    choices = replace(chosen(SCRATCH), scratch=Scratch(size="mini", vocabulary=MODEL))
    start = job(choices).base_model
    assert isinstance(start, FromScratch)
    assert (start.model.vocab_size, start.tokenizer) == (INFO.vocab_size, MODEL.path)


def test_an_own_size_is_taken_as_it_is() -> None:
    own = PRESETS["tiny"].model_copy(update={"layers": 5, "max_positions": 64})
    spec = network(replace(chosen(SCRATCH), scratch=Scratch(size=OWN_SIZE, own=own)))
    assert spec == own.model_copy(update={"vocab_size": 8000})


def test_each_task_keeps_its_own_settings_when_another_is_chosen() -> None:
    fine = chosen(SENTENCE).with_training(TrainingSpec(batch_size=16, learning_rate=3e-5))
    scratch = replace(fine, goal=SCRATCH)
    assert scratch.training.learning_rate == 5e-4
    changed = scratch.with_training(TrainingSpec(learning_rate=1e-3))
    assert replace(changed, goal=SENTENCE).training.batch_size == 16
    assert changed.training.learning_rate == 1e-3


def test_a_quick_look_takes_a_tenth_and_back() -> None:
    quick = chosen(SENTENCE).with_quick_look(True)
    assert (quick.quick_look, quick.training.train_fraction) == (True, 0.1)
    assert quick.with_quick_look(False).training.train_fraction == 1


def test_a_suggested_length_never_replaces_what_the_user_set() -> None:
    choices = chosen(SENTENCE).with_suggested_length(48)
    assert choices.training.max_length == 48
    assert choices.with_suggested_length(64).training.max_length == 64
    by_hand = choices.with_training(choices.training.model_copy(update={"max_length": 100}))
    assert by_hand.with_suggested_length(48).training.max_length == 100


def test_a_suggested_name_is_never_too_long_nor_empty() -> None:
    long = replace(chosen(SENTENCE), data=replace(data(), name="x" * 500))
    assert len(suggested_name(long)) == LONGEST_NAME
    assert job(replace(long, name="  ")).name == suggested_name(long)
    assert suggested_name(Choices()) == "run"


def test_an_incomplete_choice_makes_no_job() -> None:
    with pytest.raises(ValueError, match="not chosen"):
        job(Choices())
    with pytest.raises(ValueError, match="no model"):
        job(Choices(goal=SENTENCE, data=data()))


@pytest.mark.parametrize("kind", goals())
def test_a_job_leads_back_to_the_choices_that_make_it(kind: Goal) -> None:
    choices = replace(
        chosen(kind),
        name="again",
        hardware=HardwareSpec(device="cpu", threads=2),
        tasks={"pretraining": Pretraining(mlm_probability=0.2)},
        scratch=Scratch(size="mini", pieces=4000, lowercase=False, head_start=True),
    ).with_training(TrainingSpec(epochs=2, batch_size=16, seed=7, train_fraction=0.5))
    composed = job(choices)
    back = choices_of(composed, [data(kind)], [MODEL])
    assert job(back) == composed
    assert back.goal == kind
    assert back.data == data(kind)


def test_the_next_word_needs_a_left_to_right_network_and_gets_one() -> None:
    masking = Pretraining(objective="clm", nsp=True)
    choices = replace(chosen(SCRATCH), scratch=Scratch(head_start=True)).with_task(masking)
    composed = job(choices)
    assert isinstance(composed.base_model, FromScratch)
    assert composed.base_model.model.causal and not composed.base_model.warm_init
    assert composed.task == Pretraining(objective="clm")
    back = choices_of(composed, [data()], [MODEL])
    assert back.is_causal and back.scratch.size == "small" and job(back) == composed
    classes = replace(choices, goal=SENTENCE)
    assert not classes.is_causal and isinstance(job(classes).task, TextClassification)


def test_a_preset_is_found_again_and_any_other_size_is_an_own_one() -> None:
    def start(spec_of_model: object) -> Choices:
        given = job(chosen(SCRATCH)).model_copy(
            update={"base_model": FromScratch.model_validate({"model": spec_of_model})}
        )
        return choices_of(given, [], [])

    assert start(bert(8, 512, 123)).scratch == Scratch(
        size="medium", own=bert(8, 512, 123), pieces=123
    )
    assert start(bert(3, 128)).scratch.size == OWN_SIZE


def test_what_a_job_names_and_nobody_lists_is_kept() -> None:
    given = JobSpec(
        name="elsewhere",
        task=PairClassification(labels=("b", "a")),
        base_model=FromCheckpoint(path=Path("/gone/model")),
        data=FileData(path=Path("/data/films.csv"), mapping=Mapping(text="a", pair="b", label="c")),
    )
    choices = choices_of(given, [data()], [MODEL])
    assert choices.goal == PAIR
    assert choices.model == Model("model", Path("/gone/model"))
    assert choices.data == Data("films.csv", given.data)
    assert job(choices) == given
