"""Coverage of prediction sets on held-out rows of real data.

    python -m benchmarks fidelity prepare ASSETS/datasets WORK
    python -m benchmarks sets WORK

The model that ships is fine-tuned on some rows and predicts others, which are divided at random
into 500 that calibrate and the rest, 500 times. Columns: the coverage of the first division with
its interval; the mean of all, and the fifth and 95th percentile; labels per set. The theorem is
about the mean; one calibration with 500 rows differs by 1.3 points (standard deviation at 90 %).
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from benchmarks import harness
from benchmarks.defaults.measure import sample_file, shuffled
from benchmarks.defaults.plan import SETS
from benchmarks.fidelity.settings import data_folder
from engine.evaluation.prediction_sets import calibrate, members
from engine.files.shipped import starter_model
from engine.results.intervals import wilson

NAMES = ("trec-qc", "sst2", "subj", "mrpc")
TESTED = ("sst2", "mrpc")  # the other training rows of sst2 are phrases, and mrpc has few
COVERAGES = (0.8, 0.9, 0.95)
CALIBRATING, DIVISIONS, MAX_POOL = 500, 500, 2_500
EPOCHS, RATE = 5, 3e-4


def main(arguments: list[str]) -> None:
    options = _arguments(arguments)
    print(f"{harness.cpu_name()}; {options.rows:,} training rows, {CALIBRATING} calibrate\n")
    print(harness.table_head("data set", "sets", "coverage", "first", "mean", "5–95 %", "labels"))
    with harness.work_folder() as scratch:
        for name in options.data:
            _measure(name, options.work, options.rows, scratch)


def _measure(name: str, work: Path, rows: int, scratch: Path) -> None:
    data, run, out = SETS[name], scratch / name, scratch / f"{name}.parquet"
    job, pool = scratch / f"{name}.json", _pool(name, data_folder(work), rows, scratch)
    train = sample_file(data_folder(work), data.train, rows).absolute()
    settings = ("--epochs", EPOCHS, "--learning-rate", RATE, "--max-length", data.max_length)
    fixed = ("--seed", 1, "--threads", 1, "--set", "hardware.device=cpu")
    job.write_text(
        harness.run_studio(
            *("job", "--task", data.task, "--data", train, "--base-model", starter_model()),
            *settings,
            *fixed,
        ),
        encoding="utf-8",
    )
    harness.run_studio("train", job, "--into", run)
    harness.run_studio("predict", pool, "--model", run, "--out", out)
    table = pq.read_table(out)
    columns = [column for column in table.column_names if column.startswith("p(")]
    labels = [column[2:-1] for column in columns]
    scores = np.column_stack([table[column].to_numpy() for column in columns])
    true = np.array([labels.index(label) for label in table["label"].to_pylist()])
    for by_class in (False, True):
        for coverage in COVERAGES:
            _print_row(name, labels, scores, true, coverage, by_class)


def _print_row(
    name: str,
    labels: list[str],
    scores: np.ndarray,
    true: np.ndarray,
    coverage: float,
    by_class: bool,
) -> None:
    rng, covered, sizes = np.random.default_rng(0), list[float](), list[float]()
    first = None
    for _ in range(DIVISIONS):
        order = rng.permutation(len(true))
        given, held_out = order[:CALIBRATING], order[CALIBRATING:]
        counts = np.bincount(true[given], minlength=len(labels))
        if by_class and counts.min() * (1 - coverage) < coverage:
            continue  # refused: too few rows of a label
        sets = calibrate(scores[given], true[given], labels, coverage, by_class)
        inside = members(sets, scores[held_out], labels)
        hits = inside[np.arange(len(held_out)), true[held_out]]
        covered.append(float(hits.mean()))
        sizes.append(float(inside.sum(axis=1).mean()))
        first = first or wilson(int(hits.sum()), len(hits))
    kind = "by label" if by_class else "all rows"
    if first is None:
        harness.print_row(name, kind, f"{coverage:.0%}", "too few rows of a label", "", "", "")
        return
    low, high = np.quantile(covered, (0.05, 0.95))
    harness.print_row(
        *(name, kind, f"{coverage:.0%}"),
        f"{first.value:.1%} ({first.low:.1%} to {first.high:.1%})",
        *(f"{np.mean(covered):.1%}", f"{low:.1%} to {high:.1%}", f"{np.mean(sizes):.2f}"),
    )


def _pool(name: str, folder: Path, rows: int, scratch: Path) -> Path:
    """A file of rows that are not trained on."""
    data = SETS[name]
    if name in TESTED:
        return (folder / data.validation).absolute()
    header, *lines = (folder / data.train).read_text(encoding="utf-8").splitlines()
    path = scratch / f"{name}-pool.tsv"
    others = shuffled(lines)[rows : rows + MAX_POOL]
    path.write_text("".join(f"{line}\n" for line in (header, *others)), encoding="utf-8")
    return path


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = harness.parser("sets", __doc__)
    parser.add_argument("work", type=Path, help="the folder of `fidelity prepare`")
    parser.add_argument("--data", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--rows", type=int, default=1_000, help="for training")
    return parser.parse_args(arguments)
