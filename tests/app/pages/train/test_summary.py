"""The sentences of the review."""

import shlex
from dataclasses import replace
from pathlib import Path

from app.pages.train.choices import Data
from app.pages.train.summary import command, summary
from engine.config.dataset import FileData
from tests.app.pages.train.cards import ONWARD, PAIR, SCRATCH, SENTENCE
from tests.app.pages.train.chosen import chosen, data


def test_the_summary_names_the_trained_weights() -> None:
    for changed, words in [
        ({"lora_rank": 8}, "2 label(s), LoRA, rank 8)"),
        ({"frozen_layers": 3}, "2 label(s), lowest 3 layers frozen)"),
    ]:
        choices = chosen(SENTENCE)
        training = choices.training.model_copy(update=changed)
        assert words in summary(choices.with_training(training))


def test_the_summary_names_task_and_duration() -> None:
    said = summary(chosen(SENTENCE))
    assert said == (
        "Fine-tune “little” on “films” (2 label(s), all weights)."
        " 10 epoch(s) over 900 rows, batch size 32, learning rate 5e-4."
        " Validated on 100 rows; the best checkpoint is kept."
    )
    quick = chosen(PAIR).with_quick_trial(True)
    assert "10 % of the training data (90 rows)" in summary(quick)
    steps = chosen(ONWARD)
    steps = steps.with_training(steps.training.model_copy(update={"steps": 70}))
    assert "70 steps, batch size 32, learning rate 0.001." in summary(steps)
    assert "new BERT (small)" in summary(chosen(SCRATCH))
    plain = replace(chosen(SENTENCE), data=Data("a.csv", FileData(path="a.csv")))  # type: ignore[arg-type]
    assert "The last checkpoint is kept." in summary(plain)


def test_names_with_markup_or_braces_are_shown_literally() -> None:
    hostile = "<b>{labels}</b>%n&amp;"
    choices = replace(chosen(SENTENCE), data=replace(data(), name=hostile))
    assert hostile in summary(choices)


def test_the_command_can_be_pasted_into_a_shell() -> None:
    file = Path("films-little.json")
    assert command("train", file) == "bert-studio train films-little.json --into films-little"
    hostile = Path("$(rm -rf ~); `x` 'y'.json")
    words = ["bert-studio", "cluster", str(hostile), "--into", str(hostile.with_suffix(""))]
    assert shlex.split(command("cluster", hostile)) == words
