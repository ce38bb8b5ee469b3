"""Choices, and the settings that follow from them."""

from dataclasses import replace

from app.pages.train.choices import CUSTOM_SIZE, Scratch
from app.pages.train.job import choices_from_job, compose_job
from app.pages.train.summary import list_changes
from engine.config.families.bert import PRESETS
from engine.config.features import Features
from tests.app.pages.train.examples import (
    INFO,
    MODEL,
    SCRATCH,
    SENTENCE,
    choose,
    data,
    dataset,
    with_training,
)


def test_a_custom_size_is_used_unchanged():
    custom = PRESETS["tiny"].model_copy(update={"layers": 5, "max_positions": 64})
    spec = replace(choose(SCRATCH), scratch=Scratch(size=CUSTOM_SIZE, custom=custom)).network
    assert spec == custom.model_copy(update={"vocab_size": 8000})


def test_unset_values_are_recommended_for_model_and_data():
    choices = choose(SENTENCE)
    larger = replace(MODEL, info=INFO.model_copy(update={"layers": 6, "hidden_size": 384}))
    more = dataset().model_copy(update={"rows": {"train": 5000}})
    other = replace(choices, model=larger, data=replace(data(), spec=more))
    assert other.training.learning_rate < choices.training.learning_rate
    assert other.training.epochs < choices.training.epochs

    edited = with_training(choices, learning_rate=7e-5)
    other = replace(edited, model=larger, data=replace(data(), spec=more))
    assert other.training.learning_rate == 7e-5
    assert other.training.epochs < choices.training.epochs, "it was not set by the user"

    reset = with_training(edited, learning_rate=choices.defaults.learning_rate)
    assert reset.set_by_user == {}, "a recommended value is not an override"


def test_a_job_started_again_keeps_every_setting():
    spec = compose_job(with_training(choose(SENTENCE), learning_rate=7e-5))
    restored = choices_from_job(spec, [data()], [MODEL])
    larger = replace(MODEL, info=INFO.model_copy(update={"layers": 6, "hidden_size": 384}))
    assert replace(restored, model=larger).training == spec.training


def test_a_recipe_replaces_only_its_fields_and_is_known_again_from_the_job():
    size = INFO.model_copy(update={"layers": 6, "hidden_size": 384, "intermediate_size": 1536})
    minilm = replace(MODEL, info=size)
    paper = with_training(replace(choose(SENTENCE), model=minilm), learning_rate=7e-5, seed=3)
    quick = paper.with_recipe("quick")
    assert quick.set_by_user == {"seed": 3} and quick.training.learning_rate > 7e-5
    assert 0 < quick.training.frozen_layers < 6 and quick.training.cache_frozen_layers
    spec = compose_job(quick)
    assert spec.training == quick.training, "the job contains every value"
    restored = choices_from_job(spec, [data()], [minilm])
    assert restored.recipe == "quick" and restored.training == quick.training
    assert choices_from_job(compose_job(paper), [data()], [minilm]).recipe == "paper"
    assert list_changes(quick) == ["Recipe Quick (default Paper)", "Random seed 3 (default 42)"]

    for other in (replace(quick, model=MODEL), with_training(quick, lora_rank=8)):
        assert other.quick is None and other.training.frozen_layers == 0
    probe = replace(quick, features=Features(vectors="last"))
    assert probe.quick is None and not probe.training.cache_frozen_layers


def test_quick_trials_and_adapters_change_the_defaults():
    choices = choose(SENTENCE)
    adapted = with_training(choices, lora_rank=8)
    assert adapted.training.learning_rate > choices.training.learning_rate
    quick = choose(SENTENCE).with_quick_trial(True)
    assert (quick.quick_trial, quick.training.train_fraction) == (True, 0.1)
    assert quick.with_quick_trial(False).training.train_fraction == 1


def test_the_length_follows_the_data_and_each_task_keeps_its_settings():
    choices = replace(choose(SENTENCE), typical_length=45)
    assert choices.training.max_length == 48
    assert replace(choices, typical_length=61).training.max_length == 64
    edited = with_training(choices, max_length=100)
    assert replace(edited, typical_length=45).training.max_length == 100
    assert choices.with_data(data()).typical_length == 45
    assert choices.with_data(replace(data(), name="other")).typical_length == 0
    tuned = with_training(choose(SENTENCE), batch_size=16, learning_rate=3e-5)
    scratch = replace(tuned, goal=SCRATCH)
    assert scratch.training == scratch.defaults
    changed = with_training(scratch, learning_rate=2e-3)
    restored = replace(changed, goal=SENTENCE).training
    assert (restored.batch_size, restored.learning_rate) == (16, 3e-5)
    assert changed.training.learning_rate == 2e-3
