"""Journeys through the real window by mouse and keys, with the most actions that each may take.

A click, a key and a typed text are one action each. The journeys themselves run with --long.
"""

import csv
import random
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import NamedTuple

import pytest
import xlsxwriter

from benchmarks import harness
from engine.files.home import Home
from engine.files.shipped import sample_data

ACTIONS = ("click", "dclick", "rclick", "drag", "scroll", "type", "key")
PREFERENCES = {"theme": "light", "ask_on_close": False}


class Journey(NamedTuple):
    """Steps of tools/drive.py; `prepare` writes the files that they read into a folder."""

    most_actions: int
    steps: str
    prepare: Callable[[Path], object] = lambda _: None
    before: str = ""  # steps that are not counted
    written: tuple[str, ...] = ()  # files in the folder at the end


def write_people(folder: Path) -> None:
    """60 sentences in CoNLL form, some with odd white space."""
    rng = random.Random(2)
    people, places = ["Maria", "Peter", "Anna", "Karl"], ["Paris", "Oslo", "Rome", "Berlin"]
    sentences = [
        f"{rng.choice(people)} B-PER\nSmith I-PER\nlives O\nin O\n{rng.choice(places)} B-LOC\n. O\n"
        for _ in range(60)
    ]
    (folder / "people.conll").write_text("\n \n".join(sentences), encoding="utf-8")


def read_sample(rows: int, topics: tuple[str, ...]) -> list[tuple[str, str]]:
    """Passages of some topics, each with a number, so that none is repeated; and their topic."""
    with sample_data().open(encoding="utf-8", newline="") as file:
        found = [row for row in csv.DictReader(file) if row["topic"] in topics]
    repeated = islice(cycle(found), rows)
    return [(f"{row['text']} ({n})", row["topic"]) for n, row in enumerate(repeated)]


def write_survey(folder: Path) -> None:
    """3,000 answers × 40 columns that two coders coded, 60 % of them not; and a codebook sheet."""
    rng, topics = random.Random(7), ("music", "war", "places")
    questions = [f"q{n}" for n in range(1, 36)]
    with xlsxwriter.Workbook(folder / "survey.xlsx") as workbook:
        codebook, answers = map(workbook.add_worksheet, ("Codebook", "Answers"))
        for n, topic in enumerate(("code", *topics)):
            codebook.write_row(n, 0, [topic, f"what is {topic}"])
        answers.write_row(0, 0, ["id", "country", *questions, "answer", "coder A", "coder B"])
        for n, (text, topic) in enumerate(read_sample(3_000, topics)):
            is_coded, other = rng.random() > 0.6, rng.choice(topics)
            codes = [topic, other if rng.random() < 0.05 else topic] if is_coded else ["", "-"]
            numbers = [rng.randint(1, 5) for _ in questions]
            answers.write_row(n + 1, 0, [n, rng.choice(("DE", "FR")), *numbers, text, *codes])


def write_tickets(folder: Path) -> None:
    """20,000 tickets with a category, often empty, and an urgency."""
    rng = random.Random(5)
    with (folder / "tickets.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "created", "body", "category", "urgency"])
        for n, (text, topic) in enumerate(read_sample(20_000, ("music", "war", "computing"))):
            category = "" if rng.random() < 0.3 else topic
            urgency = rng.choice(("low", "high"))
            writer.writerow([n, f"2026-{1 + n % 12:02d}-01", text, category, urgency])


def write_titled_tickets(folder: Path) -> None:
    """240 tickets with a title, sometimes empty, and a body."""
    with (folder / "titled.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "body", "label"])
        for n, (text, topic) in enumerate(read_sample(240, ("music", "war", "computing"))):
            words = text.split()
            writer.writerow([" ".join(words[:6]) if n % 9 else "", " ".join(words[6:]), topic])


IMPORT = """
        key ctrl+o
        window "Import a data set"
        type "{folder}/FILE"
        key Return
        window "BERT Studio"
        click "push button:Import"
        click "push button:Fine-tune on this…"
"""
JOURNEYS = {
    "a survey: coded by a model, reviewed, exported and reported": Journey(
        16,
        IMPORT.replace("FILE", "survey.xlsx")
        + """
        click "Step 5*"
        click "push button:Start*"
        expect "State: finished" 7200
        click "page tab:Use it"
        click "push button:Save the report…"
        window "Save the report"
        key Return
        window "BERT Studio"
        click "push button:Apply…"
        window Apply
        expect "Rows without a label*" 300
        type "80"
        click "push button:Apply"
        expect "push button:Review the unsure rows" 1800
        click "push button:Review the unsure rows"
        window "BERT Studio"
        expect "Unsure predictions of*" 900
        click "push button:Export…"
        window "Export the data set"
        key Return
        window "BERT Studio"
        wait 2
        shot exported.png
        quit
        """,
        write_survey,
        written=("survey-MiniLM-report.html", "survey.csv"),
    ),
    "tickets: two targets, a threshold, the command for the night": Journey(
        12,
        IMPORT.replace("FILE", "tickets.csv")
        + """
        click "check box:tickets 1 · urgency"
        click "Step 5*"
        click "push button:Start*"
        expect "State: finished" 7200
        click "page tab:Use it"
        click "push button:Every night…"
        window night
        type "80"
        wait 1
        screen night.png
        window "BERT Studio"
        quit
        """,
        write_tickets,
    ),
    "tickets of a title and a body: joined, learned and tried": Journey(
        17,
        """
        key ctrl+o
        window "Import a data set"
        type "{folder}/titled.csv"
        key Return
        window "BERT Studio"
        expect "combo box:body" 60
        click "combo box:body"
        key End
        key Return
        expect "text:Template"
        click "push button:Import"
        click "push button:Fine-tune on this…"
        click "Step 3*"
        click "Starter*"
        click "Step 5*"
        click "push button:Start*"
        expect "State: finished" 1800
        click "page tab:Use it"
        click "text:title"
        type "A new song"
        click "text:body"
        type "The singer and the band recorded it in a studio."
        expect "Effect of each word on*" 120
        shot tried.png
        quit
        """,
        write_titled_tickets,
    ),
    "names, two learning rates and three seeds": Journey(
        20,
        IMPORT.replace("FILE", "people.conll")
        + """
        click "Step 4*"
        click "Several values: Learning rate"
        type "1e-4, 3e-4"
        click "Number of seeds: 3"
        click "Step 5*"
        click "push button:Start*"
        expect "people · *" 60
        rclick 400,400
        key c
        rclick 1000,400
        key c
        click "page tab:Reproducibility"
        expect "label:Reproducibility"
        click "page tab:Search"
        expect "6 of at most 6 runs finished*" 3600
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
        expect "State: running" 120
        key ctrl+6
        expect "page tab:Attention" 60
        wait 5
        shot lesson.png
        dclick 246,99
        click "page tab:Attention"
        wait 2
        click 250,440
        key alt+o
        click "page tab:Difference"
        click "push button:Compare"
        expect "table:Texts whose predictions changed most" 120
        shot changed.png
        quit
        """,
        before="""
        click "push button:Fine-tune MiniLM on the sample"
        click "Step 3*"
        click "Starter*"
        click "Step 5*"
        click "push button:Start*"
        expect "State: finished" 7200
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
    assert not [name for name in journey.written if not (tmp_path / name).is_file()]
