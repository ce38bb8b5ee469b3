"""Time of a packet: made, read and taken in, all its rows coded by two coders.

Rows are sentences of the words of `checks`. The import of the same rows as a table is measured in
turns, so that the ratio does not depend on the machine. Bar: 3 s for making and taking in 10,000
rows.
"""

import csv
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks import harness
from benchmarks.checks import VOCABULARY
from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.editing import PendingEdits, RowEdit
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.packets import (
    hand_in,
    hand_out,
    open_packet,
    read_packet,
    share_out,
    write_packet,
)
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.datasets.taking_in import take_in

CODERS, LABELS = ("A", "B"), ("good", "bad", "so-so")


def main(arguments: list[str]) -> None:
    parser = harness.parser("packets", __doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    with harness.work_folder() as work:
        dataset = write_answers(work, options.rows)
        files = code(dataset, work)
        table, made, taken = list[float](), list[float](), list[float]()
        for n in range(options.rounds):
            target = work / str(n)
            table.append(harness.timed(partial(import_answers, work, target / "1"))[1])
            made.append(harness.timed(partial(make, dataset, work / "made.packet"))[1])
            taken.append(harness.timed(partial(take, dataset, files, target / "2"))[1])
    for name, times in (("import", table), ("made", made), ("taken in", taken)):
        print(f"{name:10}{harness.median_range(times)} s of CPU time")
    both = median(made) + median(taken)
    print(f"made and taken in: {both:.2f} s, {both / median(table):.1f} times the import", end="; ")
    print(f"bar 3 s for 10,000 rows; {options.rows:,} rows; {harness.cpu_name()}")


def write_answers(work: Path, rows: int) -> Dataset:
    """A data set with a codebook, without labels."""
    random = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(VOCABULARY)])
    with (work / "answers.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text"])
        writer.writerows([" ".join(random.choice(words, 20))] for _ in range(rows))
    import_answers(work, work / "answers" / "1")
    book = Codebook(codes=tuple(Code(label=label) for label in LABELS))
    edits = Edits(codebooks={"label": book}, coded_column="label")
    derive(work / "answers" / "1", work / "answers" / "2", 2, edits=edits)
    return open_dataset(work / "answers" / "2")


def import_answers(work: Path, target: Path) -> None:
    sources = {"all": work / "answers.csv"}
    import_dataset("answers", sources, Reading(), Mapping(text="text"), Split(), target)


def make(dataset: Dataset, file: Path) -> None:
    rows = len(dataset)
    who = share_out(np.arange(rows), CODERS, rows, rows)
    write_packet(file, hand_out(dataset, who, CODERS))


def code(dataset: Dataset, work: Path) -> list[Path]:
    """The packets that the coders hand in."""
    files, random = [], np.random.default_rng(1)
    make(dataset, work / "out.packet")
    for coder in CODERS:
        open_packet(
            work / "out.packet", read_packet(work / "out.packet"), coder, work / coder / "1"
        )
        opened, now = open_dataset(work / coder / "1"), datetime.now(UTC)
        entry = read_packet(work / "out.packet").rows[0].coding.model_copy(update={"at": now})
        labels = random.choice(LABELS, len(opened)).tolist()
        rows = {
            row: RowEdit(cells={"label": label}, coding={"label": entry})
            for row, label in enumerate(labels)
        }
        edits = PendingEdits(fingerprint=opened.spec.fingerprint, rows=rows)
        files.append(work / f"{coder}.packet")
        write_packet(files[-1], hand_in(opened, edits))
    return files


def take(dataset: Dataset, files: list[Path], target: Path) -> None:
    found = take_in(dataset, [read_packet(file) for file in files])
    derive(dataset.folder, target, 3, edits=found.edits)
