"""Two coders and no server, in real windows: from raw answers to agreed labels.

The owner of the answers and each coder have a home of their own; packets go from one to another.
With --long, they are 3,000 real questions, and a model is trained on the labels.
"""

import csv
import random
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from benchmarks import harness
from engine.data.columns.coders import Codings
from engine.data.datasets.decisions import dataset_codings
from engine.data.datasets.packets import read_packet
from engine.data.datasets.store import open_dataset
from engine.files.home import Home
from engine.results.agreement import agreement
from tests.end_to_end.test_circle_window import BAD, GOOD
from tests.end_to_end.test_real_window import pytestmark as needs_a_screen

MEANINGS = {  # of the classes of the questions, Li and Roth 2002
    "ABBR": "abbreviation and what it stands for",
    "DESC": "description, definition, reason or manner: what is it, why, how",
    "ENTY": "entity: animal, colour, product, event, language, food, sport",
    "HUM": "human being: a person, a group, an individual: who",
    "LOC": "location: city, country, state, mountain: where",
    "NUM": "numeric value: how many, when, date, distance, money, age",
}
CODERS = ("Anna", "Ben")
DIFFERENT = 0.05  # of the rows, coded differently by the second coder
PREFERENCES = {"theme": "light", "ask_on_close": False, "stand_by": False}

pytestmark = [pytest.mark.gui, *needs_a_screen]


class Answers(NamedTuple):
    """Answers with their labels, and how many rows each coder codes."""

    rows: list[tuple[str, str]]  # text, label
    codebook: dict[str, str]
    each: int
    overlap: int

    def write(self, folder: Path) -> None:
        """The answers without their labels, each with a month, and the codebook."""
        with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "month", "text"])
            for n, (text, _) in enumerate(self.rows):
                writer.writerow([n, f"2026-{1 + n * 12 // len(self.rows):02d}", text])
        with (folder / "codebook.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("label", "definition"), *self.codebook.items()])


def made_up() -> Answers:
    """60 answers whose words reveal the label."""
    rng = random.Random(4)
    words = {"good": GOOD, "bad": BAD}
    labels = [rng.choice([*words]) for _ in range(60)]
    rows = [
        (" ".join(rng.sample(words[label], 4)) + f" {n}", label) for n, label in enumerate(labels)
    ]
    return Answers(rows, {"good": "they like it", "bad": "they do not"}, 20, 10)


def real(assets: Path) -> Answers:
    """3,000 questions; the months have other shares of the labels."""
    rng = random.Random(4)
    questions = assets / "datasets" / "trec-qc" / "train.txt"
    lines = questions.read_text(encoding="latin-1").splitlines()
    pairs = [
        (text, first.partition(":")[0]) for first, _, text in (x.partition(" ") for x in lines)
    ]
    rows = rng.sample([*dict(pairs).items()], 3_000)
    rows.sort(key=lambda row: (row[1] == "NUM") * 0.5 + rng.random())  # more of them later
    return Answers(rows, MEANINGS, 300, 100)


OPEN = """
    window "BERT Studio" 120
    key ctrl+o
    window "Import a data set"
    type "{folder}"
    wait 1
    key Return
    wait 1
    type {files}
    wait 1
    key Return
"""
BEGIN = """
    window "BERT Studio"
    click "push button:Import"
    click "push button:Label these texts…"
    window "Label these texts"
    click "push button:Import…"
    window "Import a codebook"
    type "{folder}/codebook.csv"
    wait 1
    key Return
    window "Label these texts"
    shot codebook.png
    click "push button:Start labelling"
    window "BERT Studio"
    click "push button:Label rows…"
    expect "label:{rows} rows have no label; *" 600
    wait 1
    shot suggested.png
    click "push button:Hand out…"
    window "Hand rows out"
    type "Anna, Ben"
    click "spin button:Rows for each coder"
    key ctrl+a
    type "{each}"
    click "spin button:Of these, coded by all"
    key ctrl+a
    type "{overlap}"
    key Tab
    wait 1
    shot hand-out.png
    click "push button:Save packet…"
    window "Save the packet"
    type "{folder}/out.packet"
    wait 1
    key Return
    window "BERT Studio"
    expect "label:Saved as*" 120
    quit
"""
CODE = """
    window "Code the rows of"
    type "{coder}"
    click "push button:Open"
    window "BERT Studio"
    expect "label:0 of {each} rows*" 60
    wait 1
    type "{keys}"
    expect "label:{each} of {each} rows*" 120
    shot coded-{coder}.png
    click "push button:Hand in…"
    window "Save the codes"
    type "{folder}/{coder}.packet"
    wait 1
    key Return
    window "BERT Studio"
    expect "label:Saved as*" 60
    quit
"""
TAKE_IN = """
    window "Take codes in" 60
    shot take-in.png
    click "push button:Take in"
    window "BERT Studio"
    expect "label:Agreement of coders" 120
    wait 1
    shot agreement.png
    click "push button:Decide*"
    wait 1
    shot disputed.png
    {decisions}
    wait 1
    shot decided.png
    click "push button:Save as version*"
    expect "label:Saved as version*" 60
"""

TRAIN = """
    expect "push button:Fine-tune on this…" 60
    click "push button:Fine-tune on this…"
    click "Step 5*"
    click "push button:Start*"
    expect "State: finished" 3600
    click "page tab:Results"
    expect "label:Human ceiling: one coder against another*" 120
    shot results.png
    quit
"""


def drive(steps: str, folder: Path, home: str, **values: object) -> None:
    """Carry out steps in the window of a home."""
    for name, value in {"folder": folder, **values}.items():
        steps = steps.replace(f"{{{name}}}", str(value))
    assert harness.drive(steps, folder / home, folder, PREFERENCES) == ""


def code_packets(folder: Path, answers: Answers) -> dict[str, dict[str, str]]:
    """Each coder codes the packet in a home of their own; returns their codes by text."""
    packet, rng, labels = read_packet(folder / "out.packet"), random.Random(9), [*answers.codebook]
    truth, codes = dict(answers.rows), dict[str, dict[str, str]]()
    for coder in CODERS:
        texts = [row.texts[0] for row in packet.rows_of(coder)]
        given = {text: truth[text] for text in texts}
        if coder == CODERS[-1]:
            for text in rng.sample(texts, round(DIFFERENT * len(texts))):
                given[text] = rng.choice([label for label in labels if label != truth[text]])
        codes[coder] = given
        keys = "".join(str(labels.index(given[text]) + 1) for text in texts)
        values = {"coder": coder, "keys": keys, "each": answers.each}
        drive(OPEN + CODE, folder, coder, files="out.packet", **values)
    return codes


def begin(folder: Path, answers: Answers) -> dict[str, dict[str, str]]:
    """From the raw answers to the packets that came back."""
    answers.write(folder)
    sizes = {"rows": f"{len(answers.rows):,}", "each": answers.each, "overlap": answers.overlap}
    drive(OPEN + BEGIN, folder, "owner", files="answers.csv", **sizes)
    return code_packets(folder, answers)


def test_two_coders_agree_on_labels_without_a_server(tmp_path):
    answers = made_up()
    codes = begin(tmp_path, answers)
    take_in(tmp_path, codes, "quit")
    check_version(tmp_path, answers, codes)


@pytest.mark.long
def test_questions_are_coded_and_a_model_is_compared_with_the_coders(assets, tmp_path):
    answers = real(assets)
    codes = begin(tmp_path, answers)
    take_in(tmp_path, codes, TRAIN)
    check_version(tmp_path, answers, codes)


def take_in(folder: Path, codes: dict[str, dict[str, str]], rest: str) -> None:
    """Take in what the coders handed in, and decide for the first one; then the other steps."""
    first, second = (codes[coder] for coder in CODERS)
    disputed = [text for text, code in first.items() if second.get(text, code) != code]
    files = "'" + " ".join(f'"{coder}.packet"' for coder in CODERS) + "'"
    decisions = "\n".join(["key alt+1"] * len(disputed))
    drive(OPEN + TAKE_IN + rest, folder, "owner", files=files, decisions=decisions)


def check_version(folder: Path, answers: Answers, codes: dict[str, dict[str, str]]) -> None:
    """The last version has all codes, and the label that was agreed on or decided."""
    version = open_dataset(Home(folder / "owner").datasets / "answers" / "4")
    columns = {name: version.column(name).to_pylist() for name in ("text", *CODERS, "label")}
    for text, anna, ben, label in zip(*columns.values(), strict=True):
        given = codes["Anna"].get(text, ""), codes["Ben"].get(text, "")
        assert (anna, ben) == given and label == (anna or ben)
    first, second = (np.array(columns[name]) for name in CODERS)
    both = (first != "") & (second != "")
    assert both.sum() == answers.overlap
    compare_agreement(dataset_codings(version), first[both].tolist(), second[both].tolist())


def compare_agreement(codings: Codings, first: list[str], second: list[str]) -> None:
    """The coefficients are those of scikit-learn and NLTK."""
    from nltk.metrics.agreement import AnnotationTask
    from sklearn.metrics import accuracy_score, cohen_kappa_score

    figures = agreement(codings).overall.figures
    pairs = enumerate(zip(first, second, strict=True))
    lines = [(str(c), n, code) for n, pair in pairs for c, code in enumerate(pair)]
    assert figures["agreement"].value == pytest.approx(accuracy_score(first, second), abs=1e-9)
    assert figures["cohen"].value == pytest.approx(cohen_kappa_score(first, second), abs=1e-9)
    assert figures["alpha"].value == pytest.approx(AnnotationTask(lines).alpha(), abs=1e-9)
