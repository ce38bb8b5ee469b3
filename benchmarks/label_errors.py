"""How many labels that were changed on purpose are found by confident learning.

    python benchmarks/label_errors.py DATASETS sst2 trec-qc subj [--rows N] [--seeds N] [--words]

DATASETS has a folder for each set. Of the rows for training, 5 % get another label at random, once
for each seed; the table says how many of these are among the first 10 % of the list: the mean over
the seeds, its standard deviation, and each seed. The models are those of the window, with the
encoder in `--model`, else the included MiniLM; with `--words`, those of the words alone, too.
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[1]))

from engine.data.datasets.rows import Rows
from engine.files.shipped import minilm
from engine.results.labelling import label_errors
from engine.results.out_of_sample import out_of_sample

WRONG, LISTED = 0.05, 0.1  # of all rows: those that are changed, and those that are looked at
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("sets", nargs="+", choices=tuple(SETS))
    parser.add_argument("--model", type=Path, default=minilm(), help="folder of an encoder")
    parser.add_argument("--rows", type=int, default=0, help="drawn from each set; 0: all")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--words", action="store_true", help="also without the encoder")
    asked = parser.parse_args()
    for name in asked.sets:
        rows = drawn(SETS[name](asked.datasets / name), asked.rows)
        if asked.words:
            print(measured(name, rows, "words", None, asked.seeds), flush=True)
        vectors = vectors_with(asked.model, rows)
        print(measured(name, rows, "words and vectors", vectors, asked.seeds), flush=True)


def drawn(rows: list[Row], count: int) -> list[Row]:
    """So many rows at random, the same every time."""
    order = np.random.default_rng(1).permutation(len(rows))
    return [rows[n] for n in order[: count or len(rows)]]


def measured(
    name: str, rows: list[Row], models: str, vectors: NDArray[np.float32] | None, seeds: int
) -> str:
    """A line of the table: what was found over the seeds, and processor seconds of one."""
    names = sorted({label for _, label in rows})
    true = np.array([names.index(label) for _, label in rows], dtype=np.int64)
    texts, found, began = [text for text, _ in rows], [], time.process_time()
    for seed in range(seeds):
        given, wrong = changed(true, len(names), seed)
        p = out_of_sample(texts, given, len(names), vectors)
        found.append(share_found(p, given, wrong))
    seconds = (time.process_time() - began) / seeds
    shares = " ".join(f"{share:.1%}" for share in found)
    spread = f" ± {np.std(found, ddof=1):.1%}" if seeds > 1 else ""
    said = f"{np.mean(found):.1%}{spread} ({shares})"
    return f"| {name} | {len(rows):,} | {models} | {said} | {seconds:.0f} s |"


def changed(
    true: NDArray[np.int64], classes: int, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Labels of which 5 % are another one at random, and which rows these are."""
    rng = np.random.default_rng(seed)
    some = rng.permutation(len(true))[: round(WRONG * len(true))]
    given, wrong = true.copy(), np.zeros(len(true), dtype=bool)
    given[some] = (true[some] + rng.integers(1, classes, len(some))) % classes
    wrong[some] = True
    return given, wrong


def share_found(
    p: NDArray[np.float64], given: NDArray[np.int64], wrong: NDArray[np.bool_]
) -> float:
    """The share of the changed labels that is among the first 10 % of the list."""
    first = label_errors(p, given).order[: round(LISTED * len(given))]
    return float(wrong[first].sum() / wrong.sum())


def vectors_with(model: Path, rows: list[Row]) -> NDArray[np.float32]:
    """float32 [rows, L, D], of the frozen encoder."""
    from engine.models import checkpoint
    from engine.tasks.suggesting import vectors_for_errors

    loaded, began = checkpoint.load(model), time.process_time()
    texts = Rows([text for text, _ in rows])
    vectors = vectors_for_errors(loaded, texts, lambda *_: None)
    print(f"vectors of {len(rows):,} rows: {time.process_time() - began:.0f} s of processor")
    return vectors


if __name__ == "__main__":
    main()
