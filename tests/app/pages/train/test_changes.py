"""Changes by the advanced settings."""

from dataclasses import replace

from app.pages.train.summary import changed_by_advanced
from engine.config.tasks.pretraining import Pretraining
from engine.config.training import HardwareSpec
from tests.app.pages.train.cards import ONWARD, SENTENCE
from tests.app.pages.train.chosen import chosen


def test_what_advanced_changed_is_listed_with_the_default() -> None:
    choices = chosen(ONWARD)
    assert changed_by_advanced(choices) == []
    simple = choices.training.model_copy(
        update={"batch_size": 16, "seed": 1, "train_fraction": 0.1}
    )
    assert changed_by_advanced(choices.with_training(simple)) == []
    changed = replace(
        choices.with_training(choices.training.model_copy(update={"warmup_ratio": 0.2})),
        hardware=HardwareSpec(threads=1),
        tasks={"pretraining": Pretraining(mlm_probability=0.3)},
    )
    assert changed_by_advanced(changed) == [
        "Warm-up ratio 0.2 (default 0.1)",
        "CPU threads 1 (default 0)",
        "Masking probability 0.3 (default 0.15)",
    ]
    suggested = replace(chosen(SENTENCE), typical_length=48)
    assert changed_by_advanced(suggested) == []


def test_any_other_fraction_is_listed_as_a_change() -> None:
    choices = chosen(SENTENCE)
    trial = choices.with_quick_trial(True)
    assert trial.quick_trial and changed_by_advanced(trial) == []
    half = choices.with_training(choices.training.model_copy(update={"train_fraction": 0.5}))
    assert not half.quick_trial
    (change,) = changed_by_advanced(half)
    assert "0.5 (default 1)" in change
