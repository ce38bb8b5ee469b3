"""Choices to job, and back."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.pages.train.choices import CUSTOM_SIZE, Choices, Data, Model, Scratch, goals
from app.pages.train.job import choices_from_job, compose_job, suggested_name
from engine.config.dataset import FileData, Mapping
from engine.config.families.bert import bert
from engine.config.job import RUN_NAME_LENGTH, FromCheckpoint, FromScratch, JobSpec
from engine.config.tasks.pair_classification import PairClassification
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.config.training import HardwareSpec, TrainingSpec
from tests.app.pages.train.examples import INFO, MODEL, PAIR, SCRATCH, SENTENCE, choose, data


def test_fine_tuning_a_sentence_starts_from_the_checkpoint_with_recommended_settings():
    assert compose_job(choose(SENTENCE)) == JobSpec(
        name="films · little",
        task=TextClassification(),
        base_model=FromCheckpoint(path=MODEL.path),
        data=data().source,
        training=choose(SENTENCE).recommended.training,
    )


def test_from_scratch_uses_the_size_and_a_new_or_existing_vocabulary():
    choices = replace(
        choose(SCRATCH), scratch=Scratch(size="tiny", vocab_size=5000, lowercase=False)
    )
    start = compose_job(choices).base_model
    assert start == FromScratch(model=bert(2, 128, 5000), tokenizer=None, lowercase=False)
    choices = replace(choose(SCRATCH), scratch=Scratch(size="mini", vocabulary=MODEL))
    start = compose_job(choices).base_model
    assert isinstance(start, FromScratch)
    assert (start.model.vocab_size, start.tokenizer) == (INFO.vocab_size, MODEL.path)


def test_incomplete_choices_make_no_job_and_names_are_truncated():
    with pytest.raises(ValueError, match="not chosen"):
        compose_job(Choices())
    with pytest.raises(ValueError, match="no model"):
        compose_job(Choices(goal=SENTENCE, data=data()))
    long = replace(choose(SENTENCE), data=replace(data(), name="x" * 500))
    assert len(suggested_name(long)) == RUN_NAME_LENGTH
    assert compose_job(replace(long, name="  ")).name == suggested_name(long)
    assert suggested_name(Choices()) == "run"


def test_choices_are_restored_from_their_job():
    for kind in goals():
        choices = replace(
            choose(kind),
            name="again",
            hardware=HardwareSpec(device="cpu", threads=2),
            tasks={"pretraining": Pretraining(mlm_probability=0.2)},
            scratch=Scratch(size="mini", vocab_size=4000, lowercase=False, warm_init=True),
        ).with_training(TrainingSpec(epochs=2, batch_size=16, seed=7, train_fraction=0.5))
        spec = compose_job(choices)
        restored = choices_from_job(spec, [data(kind)], [MODEL])
        assert compose_job(restored) == spec
        assert restored.goal == kind
        assert restored.data == data(kind)


def test_causal_language_modelling_gets_a_causal_network():
    masking = Pretraining(objective="clm", nsp=True)
    choices = replace(choose(SCRATCH), scratch=Scratch(warm_init=True)).with_task(masking)
    spec = compose_job(choices)
    assert isinstance(spec.base_model, FromScratch)
    assert spec.base_model.model.causal and not spec.base_model.warm_init
    assert spec.task == Pretraining(objective="clm")
    restored = choices_from_job(spec, [data()], [MODEL])
    assert restored.is_causal and restored.scratch.size == "small" and compose_job(restored) == spec
    classes = replace(choices, goal=SENTENCE)
    assert not classes.is_causal and isinstance(compose_job(classes).task, TextClassification)


def test_a_preset_is_recognised_and_any_other_size_is_custom():
    def restore(model: object) -> Choices:
        spec = compose_job(choose(SCRATCH)).model_copy(
            update={"base_model": FromScratch.model_validate({"model": model})}
        )
        return choices_from_job(spec, [], [])

    assert restore(bert(8, 512, 123)).scratch == Scratch(
        size="medium", custom=bert(8, 512, 123), vocab_size=123
    )
    assert restore(bert(3, 128)).scratch.size == CUSTOM_SIZE


def test_unlisted_data_and_models_of_a_job_are_kept():
    spec = JobSpec(
        name="elsewhere",
        task=PairClassification(labels=("b", "a")),
        base_model=FromCheckpoint(path=Path("/gone/model")),
        data=FileData(path=Path("/data/films.csv"), mapping=Mapping(text="a", pair="b", label="c")),
    )
    choices = choices_from_job(spec, [data()], [MODEL])
    assert choices.goal == PAIR
    assert choices.model == Model("model", Path("/gone/model"))
    assert choices.data == Data("films.csv", spec.data)
    assert compose_job(choices) == spec
