"""Six data sets of one label per text, and samples of their rows, the same for every way."""

import csv
import random
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from engine.files.shipped import sample_data

AUTHORS = ("austen", "carroll", "chesterton", "edgeworth", "melville", "bryant")
PRESIDENTS = ("washington", "jackson", "lincoln", "wilson", "reagan", "clinton")
TEST_ROWS = 500
MIN_WORDS, MAX_WORDS = 8, 40  # of a sentence

Row = tuple[str, str]  # text and label


class Split(NamedTuple):
    """Rows to draw from, and rows to test on."""

    train: list[Row]
    test: list[Row]


def load(name: str, assets: Path) -> Split:
    """The rows of a data set, in a fixed random order; `assets` has `datasets` and `corpora`."""
    return SETS[name](assets)


def draw(rows: list[Row], count: int, seed: int) -> list[Row]:
    """About `count` random rows, as many of each label."""
    by_label = defaultdict[str, list[Row]](list)
    for row in random.Random(seed).sample(rows, len(rows)):
        by_label[row[1]].append(row)
    each = max(2, round(count / len(by_label)))
    return [row for label in sorted(by_label) for row in by_label[label][:each]]


def write(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("text", "label"), *rows])


def _sst2(assets: Path) -> Split:
    folder = assets / "datasets" / "sst2"
    return _given(_tabs(folder / "train.tsv")[1:], _tabs(folder / "test.tsv")[1:])


def _subj(assets: Path) -> Split:
    folder = assets / "datasets" / "subj"
    return _given(*([(b, a) for a, b in _tabs(folder / f"{n}.tsv")] for n in ("train", "dev")))


def _trec(assets: Path) -> Split:
    def read(part: str) -> list[Row]:
        text = (assets / "datasets" / "trec-qc" / f"{part}.txt").read_text(encoding="latin-1")
        pairs = (line.split(" ", 1) for line in text.splitlines())
        return [(question, label.split(":")[0]) for label, question in pairs]

    return _given(read("train"), read("test"))


def _topics(_: Path) -> Split:
    with sample_data().open(encoding="utf-8", newline="") as file:
        return _divided([(row["text"], row["topic"]) for row in csv.DictReader(file)])


def _authors(assets: Path) -> Split:
    return _sentences(assets / "corpora" / "gutenberg-nltk", AUTHORS)


def _presidents(assets: Path) -> Split:
    return _sentences(assets / "corpora" / "sotu", PRESIDENTS)


SETS: dict[str, Callable[[Path], Split]] = {
    "sst2": _sst2,
    "subj": _subj,
    "trec-qc": _trec,
    "topics": _topics,
    "authors": _authors,
    "presidents": _presidents,
}


def _sentences(folder: Path, names: tuple[str, ...]) -> Split:
    """Sentences of the files whose names have one of these, which is the label."""
    rows = list[Row]()
    for name in names:
        for path in sorted(folder.glob(f"*{name}*.txt")):
            text = " ".join(path.read_text(encoding="utf-8", errors="replace").split())
            parts = re.split(r"(?<=[.!?]) ", text)
            rows += [(p, name) for p in parts if MIN_WORDS <= len(p.split()) <= MAX_WORDS]
    return _divided(rows)


def _divided(rows: list[Row]) -> Split:
    shuffled = random.Random(0).sample(rows, len(rows))
    tested = min(TEST_ROWS, len(rows) // 3)
    return Split(shuffled[tested:], shuffled[:tested])


def _given(train: list[Row], test: list[Row]) -> Split:
    chosen = random.Random(0).sample(test, min(TEST_ROWS, len(test)))
    return Split(train, chosen)


def _tabs(path: Path) -> list[Row]:
    lines = path.read_text(encoding="utf-8-sig").split("\n")
    cells = [line.split("\t") for line in lines if line.strip()]
    return [(line[0], line[1]) for line in cells]
