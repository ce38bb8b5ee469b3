"""Fraction of deliberately changed labels that confident learning finds.

DATASETS has a folder for each set. For each seed 5 % of the training rows get another random label;
printed is how many of them are in the first 10 % of the list: mean, standard deviation, each seed.
The encoder is `--model`, by default the included MiniLM; `--words` also measures without it.
"""

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import harness
from engine.data.datasets.rows import Rows
from engine.files.shipped import minilm
from engine.results.out_of_sample import out_of_sample
from engine.tasks.suggesting import label_errors

WRONG, LISTED = 0.05, 0.1  # of all rows: changed, and listed
Row = tuple[str, str]  # text and label


def _sst2(folder: Path) -> list[Row]:
    lines = (folder / "train.tsv").read_text("utf-8").splitlines()[1:]
    return [(text, label) for text, label in (line.rsplit("\t", 1) for line in lines)]


def _trec(folder: Path) -> list[Row]:
    lines = (folder / "train.txt").read_text("latin-1").splitlines()
    pairs = (line.split(" ", 1) for line in lines)
    return [(text, label.split(":")[0]) for label, text in pairs]


def _subj(folder: Path) -> list[Row]:
    lines = (folder / "train.tsv").read_text("utf-8").splitlines()
    return [(text, label) for label, text in (line.split("\t", 1) for line in lines)]


SETS: dict[str, Callable[[Path], list[Row]]] = {"sst2": _sst2, "trec-qc": _trec, "subj": _subj}


def main(arguments: list[str]) -> None:
    parser = harness.parser("quality label_errors", __doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("sets", nargs="+", choices=tuple(SETS))
    parser.add_argument("--model", type=Path, default=minilm(), help="folder of an encoder")
    parser.add_argument("--rows", type=int, default=0, help="drawn from each set; 0: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--words", action="store_true", help="also without the encoder")
    options = parser.parse_args(arguments)
    for name in options.sets:
        rows = sample_rows(SETS[name](options.datasets / name), options.rows)
        if options.words:
            print(measure(name, rows, "words", None, options.seeds), flush=True)
        vectors = vectors_with(options.model, rows)
        print(measure(name, rows, "words and vectors", vectors, options.seeds), flush=True)


def sample_rows(rows: list[Row], count: int) -> list[Row]:
    """`count` random rows, the same every time."""
    order = np.random.default_rng(1).permutation(len(rows))
    return [rows[n] for n in order[: count or len(rows)]]


def measure(
    name: str, rows: list[Row], models: str, vectors: NDArray[np.float32] | None, seeds: int
) -> str:
    """A table row: fractions found over the seeds, and CPU seconds of one."""
    names = sorted({label for _, label in rows})
    true = np.array([names.index(label) for _, label in rows], dtype=np.int64)
    texts, fractions, began = [text for text, _ in rows], [], time.process_time()
    for seed in range(seeds):
        labels, wrong = change_labels(true, len(names), seed)
        p = out_of_sample(texts, labels, len(names), vectors)
        fractions.append(fraction_found(p, labels, wrong))
    seconds = (time.process_time() - began) / seeds
    each = " ".join(f"{fraction:.1%}" for fraction in fractions)
    spread = f" ± {np.std(fractions, ddof=1):.1%}" if seeds > 1 else ""
    mean = f"{np.mean(fractions):.1%}{spread} ({each})"
    return harness.table_row((name, f"{len(rows):,}", models, mean, f"{seconds:.0f} s"))


def change_labels(
    true: NDArray[np.int64], classes: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Labels of which 5 % are replaced at random, and a mask of these rows."""
    rng = np.random.default_rng(seed)
    changed = rng.permutation(len(true))[: round(WRONG * len(true))]
    labels, wrong = true.copy(), np.zeros(len(true), dtype=bool)
    labels[changed] = (true[changed] + rng.integers(1, classes, len(changed))) % classes
    wrong[changed] = True
    return labels, wrong


def fraction_found(
    p: NDArray[np.float64], labels: NDArray[np.int64], wrong: NDArray[np.bool_]
) -> float:
    """Fraction of the changed labels in the first 10 % of the list."""
    first = label_errors(p, labels).order[: round(LISTED * len(labels))]
    return float(wrong[first].sum() / wrong.sum())


def vectors_with(model: Path, rows: list[Row]) -> NDArray[np.float32]:
    """Vectors of the frozen encoder, float32 [rows, L, D]."""
    from engine.models import checkpoint
    from engine.tasks.suggesting import vectors_for_errors

    loaded, began = checkpoint.load(model), time.process_time()
    texts = Rows([text for text, _ in rows])
    vectors = vectors_for_errors(loaded, texts, lambda *_: None)
    print(f"vectors of {len(rows):,} rows: {time.process_time() - began:.0f} s of CPU time")
    return vectors
