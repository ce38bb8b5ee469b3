"""Journeys through the real window by mouse and keys, with the most actions that each may take.

A click, a key and a typed text are one action each. The journeys themselves run with --long.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from benchmarks import harness
from engine.files.home import Home

ACTIONS = ("click", "dclick", "rclick", "drag", "scroll", "type", "key")
PREFERENCES = {"theme": "light", "ask_on_close": False}


class Journey(NamedTuple):
    """Steps of tools/drive.py; `prepare` writes the files that they read into a folder."""

    most_actions: int
    steps: str
    prepare: Callable[[Path], object] = lambda _: None
    before: str = ""  # steps that are not counted


def write_people(folder: Path) -> None:
    """60 sentences in CoNLL form, some with odd white space."""
    rng = random.Random(2)
    people, places = ["Maria", "Peter", "Anna", "Karl"], ["Paris", "Oslo", "Rome", "Berlin"]
    sentences = [
        f"{rng.choice(people)} B-PER\nSmith I-PER\nlives O\nin O\n{rng.choice(places)} B-LOC\n. O\n"
        for _ in range(60)
    ]
    (folder / "people.conll").write_text("\n \n".join(sentences), encoding="utf-8")


JOURNEYS = {
    "names, two learning rates and three seeds": Journey(
        20,
        """
        key ctrl+o
        window "Import a data set"
        type "{folder}/people.conll"
        key Return
        window "BERT Studio"
        click "push button:Import"
        click "push button:Fine-tune on this…"
        click "Step 4*"
        click "Several values: Learning rate"
        type "1e-4, 3e-4"
        click "Number of seeds: 3"
        click "Step 5*"
        click "push button:Start*"
        expect "people · *" 60
        gone "label:running" 120
        rclick 400,400
        key c
        rclick 1000,400
        key c
        click "page tab:Reproducibility"
        expect "label:Is this run reproducible?"
        click "page tab:Search"
        expect "6 of at most 6 runs finished*" 300
        click "push button:Compare"
        expect "Compare 6 runs"
        rclick 640,400
        key c
        shot compared.png
        quit
        """,
        write_people,
    ),
    "a lesson: a mask, heads, what fine-tuning changed, pre-training": Journey(
        9,
        """
        click "push button:Pre-train a tiny BERT"
        click "push button:Start*"
        expect "label:running" 120
        key ctrl+6
        expect "Explore" 60
        dclick 246,99
        click "page tab:Attention"
        click 250,620
        click "push button:Compare"
        click "page tab:Difference"
        click "push button:Use*"
        expect "label:Similarity by layer" 120
        shot changed.png
        quit
        """,
        before="""
        click "push button:Fine-tune MiniLM on the sample"
        click "push button:Start*"
        expect "label:finished" 300
        key ctrl+1
        """,
    ),
}


def count_actions(steps: str) -> int:
    words = (line.split(maxsplit=1)[0] for line in steps.splitlines() if line.strip())
    return sum(word in ACTIONS for word in words)


@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_takes_few_actions(name):
    assert count_actions(JOURNEYS[name].steps) <= JOURNEYS[name].most_actions


@pytest.mark.gui
@pytest.mark.long
@pytest.mark.parametrize("name", JOURNEYS)
def test_a_journey_leads_to_its_end(name, tmp_path):
    journey, home = JOURNEYS[name], Home(tmp_path / "home")
    journey.prepare(tmp_path)
    steps = f'window "BERT Studio" 60{journey.before}{journey.steps}'
    steps = steps.replace("{folder}", str(tmp_path))
    assert harness.drive(steps, home.root, tmp_path, PREFERENCES) == ""
