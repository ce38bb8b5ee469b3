"""Two coders and no server, in real windows: from raw answers to agreed labels.

The owner of the answers and each coder have a home of their own; packets go from one to another.
With --long, they are 3,000 real questions, a model is trained on the labels and applied to the
rest, the numbers of questions are estimated by month, and the rows are exported.
"""

import csv
import json
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from python_calamine import CalamineWorkbook

from benchmarks import harness
from engine.data.columns.coders import Codings
from engine.data.datasets.decisions import dataset_codings
from engine.data.datasets.packets import read_packet
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import read as read_table
from engine.data.formats.reading import recognise
from engine.data.formats.sources import split_files
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
    has_truth: bool = False  # a column has the labels, used at the end only

    def write(self, folder: Path) -> None:
        """The answers, each with a month, and the codebook."""
        with (folder / "answers.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "month", "text", *(["truth"] if self.has_truth else [])])
            for n, (text, label) in enumerate(self.rows):
                writer.writerow([n, self.month(n), text, *([label] if self.has_truth else [])])
        with (folder / "codebook.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([("label", "definition"), *self.codebook.items()])

    def month(self, row: int) -> str:
        return f"2026-{1 + row * 12 // len(self.rows):02d}"


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
    return Answers(rows, MEANINGS, 300, 100, has_truth=True)


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
NO_LABEL = """
    window "BERT Studio"
    click "combo box:truth"
    key Home
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
    click "push button:Decide*" "label:Rows in dispute: press*"
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
"""
APPLY = """
    click "page tab:Use it" "push button:Apply…"
    click "push button:Apply…"
    window Apply
    expect "Rows without a label*" 120
    click "combo box:Rows without a label*"
    key Home
    key Return
    expect "combo box:New data set, for correction"
    expect "label:The first rows as they will be written*" 120
    shot apply.png
    click "push button:Apply" "push button:Corrected estimates…" 240
    shot applied.png
"""
ESTIMATE = """
    click "push button:Corrected estimates…"
    window "Corrected estimates"
    expect "table:Estimates" 60
    click "combo box:Proportion of each label"
    key End
    key Return
    click "combo box:none"
    type "month"
    key Return
    expect "2026-01 · NUM" 60
    shot estimates.png
    click "Copy or save this figure"
    key v
    window Save
    type "{folder}/estimates.csv"
    wait 1
    key Return
    window "Corrected estimates"
    key Escape
    window Apply
    click "push button:Open the data set"
    window "BERT Studio"
    expect "push button:Export…" 60
"""
EXPORT = """
    click "push button:Export…"
    window "Export the data set"
    type "{format}"
    expect "label:answers-predicted{suffix} in *"
    shot export{suffix}.png
    key Return
    window "BERT Studio"
    expect "label:Saved as {folder}/answers-predicted{suffix}.*" 120
"""
FORMATS = {  # the first word in the dialog, and the end of the name
    "CSV": ".csv",
    "Excel": ".xlsx",
    "Parquet": ".parquet",
    "JSON": ".jsonl",
    "Hugging": "",
    "spaCy": ".spacy.json",
}


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


def to_the_end() -> str:
    """Train, apply the model to the rest, estimate by month, and export in each format."""
    exports = (
        EXPORT.replace("{format}", name).replace("{suffix}", suffix)
        for name, suffix in FORMATS.items()
    )
    return "".join((TRAIN, APPLY, ESTIMATE, *exports, "\n    quit\n"))


def begin(folder: Path, answers: Answers) -> dict[str, dict[str, str]]:
    """From the raw answers to the packets that came back."""
    answers.write(folder)
    sizes = {"rows": f"{len(answers.rows):,}", "each": answers.each, "overlap": answers.overlap}
    steps = OPEN + (NO_LABEL if answers.has_truth else "") + BEGIN
    drive(steps, folder, "owner", files="answers.csv", **sizes)
    return code_packets(folder, answers)


def test_two_coders_agree_on_labels_without_a_server(tmp_path):
    answers = made_up()
    codes = begin(tmp_path, answers)
    take_in(tmp_path, codes, "quit")
    check_version(tmp_path, answers, codes)


@pytest.mark.long
@pytest.mark.timeout(1_800)
def test_questions_become_labels_a_model_estimates_and_files(assets, tmp_path):
    answers = real(assets)
    codes = begin(tmp_path, answers)
    take_in(tmp_path, codes, to_the_end())
    check_version(tmp_path, answers, codes)
    check_estimates(tmp_path, answers)
    check_exports(tmp_path, answers)


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


def check_estimates(folder: Path, answers: Answers) -> None:
    """The true values of all months are next to the estimates, and most intervals have them."""
    with (folder / "estimates.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    months = [answers.month(n) for n in range(len(answers.rows))]
    assert [line["period"] for line in lines] == ["", *sorted({*months})]
    covered = 0
    for line in lines:
        given = [
            label == line["label"]
            for month, (_, label) in zip(months, answers.rows, strict=True)
            if line["period"] in ("", month)
        ]
        truth = float(line["truth"])
        assert truth == pytest.approx(np.mean(given), abs=1e-9)
        covered += float(line["low"]) <= truth <= float(line["high"])
    assert covered >= len(lines) - 3  # each one with a probability of 95 %


def check_exports(folder: Path, answers: Answers) -> None:
    """All rows are read back from each format, by this program and by another library."""
    version = open_dataset(Home(folder / "owner").datasets / "answers-predicted" / "1")
    names = ("id", "month", "text", "truth", "Anna", "Ben", "predicted_label")
    columns = [version.column(name).to_pylist() for name in names]
    expected = sorted(zip(*columns, strict=True))
    assert [text for _, _, text, *_ in expected] == [
        answers.rows[int(number)][0] for number, *_ in expected
    ]
    for suffix in FORMATS.values():
        path = folder / f"answers-predicted{suffix}"
        for read in (read_here, read_elsewhere):
            rows = read(path)
            predicted = "predicted_label" if "predicted_label" in rows[0] else "label"
            found = [tuple(str(row[n] or "") for n in (*names[:-1], predicted)) for row in rows]
            assert sorted(found) == expected, f"{path.name}: {read.__name__}"


def read_here(path: Path) -> list[dict[str, Any]]:
    """The rows of exported files as this program reads them."""
    found = []
    for files in split_files(path).sources.values():
        for file in files:
            table = read_table(file, recognise(file).reading)
            found += [dict(zip(table.columns, row.cells, strict=True)) for row in table]
    return found


def read_elsewhere(path: Path) -> list[dict[str, Any]]:
    """The rows of exported files as the library of their format reads them."""
    match "".join(path.suffixes):
        case ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                return list(csv.DictReader(file))
        case ".xlsx":
            head, *rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
            return [dict(zip(map(str, head), row, strict=True)) for row in rows]
        case ".parquet":
            rows_: list[dict[str, Any]] = pq.read_table(path).to_pylist()
            return rows_
        case ".jsonl":
            return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        case "":
            return read_hugging_face(path)
        case _:
            return read_spacy(path)


def read_hugging_face(path: Path) -> list[dict[str, Any]]:
    if find_spec("datasets") is None:  # then by the library that it reads with
        files = sorted(path.glob("*/*.arrow"))
        return [row for file in files for row in pa.ipc.open_stream(file).read_all().to_pylist()]
    from datasets import load_from_disk

    return [row for part in load_from_disk(str(path)).values() for row in part]


def read_spacy(path: Path) -> list[dict[str, Any]]:
    """Documents with the most probable category as “label”."""
    documents = json.loads(path.read_text(encoding="utf-8"))
    if find_spec("spacy") is not None:
        from spacy.tokens import Doc
        from spacy.vocab import Vocab

        for document in documents:  # spaCy leaves out the other columns
            read = Doc(Vocab()).from_json(document)
            document |= {"text": read.text, "cats": read.cats}
    return [
        {**doc["user_data"], "text": doc["text"], "label": max(doc["cats"], key=doc["cats"].get)}
        for doc in documents
    ]
