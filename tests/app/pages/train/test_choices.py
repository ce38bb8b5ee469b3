"""What the wizard keeps of the choices."""

from dataclasses import replace

from app.pages.train.choices import CUSTOM_SIZE, Scratch
from engine.spec.model import PRESETS
from engine.spec.training import TrainingSpec
from tests.app.pages.train.cards import SCRATCH, SENTENCE
from tests.app.pages.train.chosen import chosen


def test_a_custom_size_is_taken_as_it_is() -> None:
    custom = PRESETS["tiny"].model_copy(update={"layers": 5, "max_positions": 64})
    spec = replace(chosen(SCRATCH), scratch=Scratch(size=CUSTOM_SIZE, custom=custom)).network
    assert spec == custom.model_copy(update={"vocab_size": 8000})


def test_each_task_keeps_its_own_settings_when_another_is_chosen() -> None:
    fine = chosen(SENTENCE).with_training(TrainingSpec(batch_size=16, learning_rate=3e-5))
    scratch = replace(fine, goal=SCRATCH)
    assert scratch.training.learning_rate == 5e-4
    changed = scratch.with_training(TrainingSpec(learning_rate=1e-3))
    assert replace(changed, goal=SENTENCE).training.batch_size == 16
    assert changed.training.learning_rate == 1e-3


def test_a_quick_trial_takes_a_tenth_and_back() -> None:
    quick = chosen(SENTENCE).with_quick_trial(True)
    assert (quick.quick_trial, quick.training.train_fraction) == (True, 0.1)
    assert quick.with_quick_trial(False).training.train_fraction == 1


def test_a_suggested_length_never_replaces_what_the_user_set() -> None:
    choices = chosen(SENTENCE).with_suggested_length(48)
    assert choices.training.max_length == 48
    assert choices.with_suggested_length(64).training.max_length == 64
    by_hand = choices.with_training(choices.training.model_copy(update={"max_length": 100}))
    assert by_hand.with_suggested_length(48).training.max_length == 100
