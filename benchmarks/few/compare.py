"""Ways to train a classifier of few rows: six data sets, 16 to 1,024 rows, several seeds.

    python -m benchmarks few ASSETS --model MINILM
    python -m benchmarks few ASSETS --model MINILM --rows 16 64 --seeds 1 2 --minutes 8
    python -m benchmarks few --table

Ways: fine-tuning with the recommended settings, a linear probe on the mean of the last vectors,
contrastive fine-tuning with the recommended settings, and with `--ways setfit` the package SetFit
with the same rates, pairs and batches. All ways of a seed have the same rows, as many of each
label, and no validation rows. The score is the accuracy of the last weights on at most 500 test
rows. One thread, fp32. Each run is a line of the results, and runs that are there are not made
again. ASSETS has the folders datasets and corpora; the data sets are in data.py.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchmarks import harness
from benchmarks.few import data
from engine.files.shipped import minilm

STORED = Path(__file__).parent / "runs.jsonl"
FINE_TUNING, LINEAR = "fine-tuning", "features + linear"
CONTRASTIVE, SETFIT = "contrastive", "setfit"
WAYS = (FINE_TUNING, LINEAR, CONTRASTIVE)
ROWS = (16, 64, 256, 1024)
MAX_LENGTH = 64  # tokens
Line = dict[str, Any]


def main(arguments: list[str]) -> None:
    options = _arguments(arguments)
    if not options.table:
        _measure(options)
    print(*table(harness.read_lines(options.results)), sep="\n")


def _measure(options: argparse.Namespace) -> None:
    """Make the runs that are missing, and append a line for each."""
    os.environ["OMP_NUM_THREADS"] = "1"
    done, began = {line["key"] for line in harness.read_lines(options.results)}, time.monotonic()
    splits: dict[str, data.Split] = {}
    for seed in options.seeds:
        for rows in options.rows:
            for name in options.data:
                for way in options.ways:
                    key = f"{options.name}|{name}|{rows}|{seed}|{way}{options.suffix}"
                    if key in done:
                        continue
                    if time.monotonic() - began > 60 * options.minutes:
                        print(f"Stopped after {options.minutes:g} minutes.")
                        return
                    if name not in splits:
                        splits[name] = data.load(name, options.assets)
                    drawn = data.draw(splits[name].train, rows, seed)
                    line = _run(way, drawn, splits[name].test, seed, options)
                    same = {"model": options.name, "data": name, "rows": len(drawn), "seed": seed}
                    line = {"key": key, "way": way + options.suffix, "asked": rows, **same, **line}
                    with options.results.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(line) + "\n")
                    print(key, line["score"], line["cpu"], flush=True)


def _run(
    way: str, rows: list[data.Row], test: list[data.Row], seed: int, options: argparse.Namespace
) -> Line:
    """Train once, and score the test rows."""
    with tempfile.TemporaryDirectory(prefix="bert-studio-benchmark-") as scratch:
        folder = Path(scratch)
        data.write(folder / "train.csv", rows)
        data.write(folder / "test.csv", test)
        if way == SETFIT:
            settings = {"rate": options.rate, "epochs": options.epochs, "seed": seed}
            return dict(
                harness.run_json("benchmarks.few.peer", options.model, folder, json.dumps(settings))
            )
        return _studio(way, folder, seed, options)


def _studio(way: str, folder: Path, seed: int, options: argparse.Namespace) -> Line:
    from engine.cli.recommending import recommend_for
    from engine.config.dataset import FileData, Mapping, Split
    from engine.config.features import Features
    from engine.config.job import FromCheckpoint, JobSpec
    from engine.config.recommended import PROBE_RATES
    from engine.config.tasks.text_classification import TextClassification
    from engine.config.training import HardwareSpec
    from engine.data.formats.reading import recognise
    from engine.runs.folder import RunFolder
    from engine.training.loop import train

    features = Features()
    if way == LINEAR:
        rate = PROBE_RATES["linear"]
        features = Features(vectors="last", probe="linear", learning_rate=rate)
    elif way == CONTRASTIVE:
        features = Features(vectors="contrastive")
    job = JobSpec(
        name=way,
        task=TextClassification(),
        base_model=FromCheckpoint(path=options.model.absolute()),
        data=FileData(
            path=folder / "train.csv",
            reading=recognise(folder / "train.csv").reading,
            mapping=Mapping(text="text", label="label"),
            split=Split(validation=0, test=0),
        ),
        features=features,
        hardware=HardwareSpec(device="cpu", precision="fp32", threads=1),
    )
    training = recommend_for(job).training.model_dump() | {"seed": seed, "max_length": MAX_LENGTH}
    if way == LINEAR:
        training |= {"learning_rate": features.learning_rate, "epochs": features.epochs}
    if way == CONTRASTIVE:
        chosen = {"learning_rate": options.rate, "epochs": options.epochs}
        training |= {name: value for name, value in chosen.items() if value}
    job = JobSpec.model_validate(job.model_dump() | {"training": training})
    run = RunFolder.create(folder / "run", job)
    began = time.process_time()
    train(job, run)
    cpu = time.process_time() - began
    score = _score(run.checkpoint_folders()[-1], folder / "test.csv")
    shutil.rmtree(run.path)
    told = {name: training[name] for name in ("learning_rate", "epochs", "batch_size")}
    return {"score": score, "cpu": round(cpu, 1), **told}


def _score(checkpoint: Path, test: Path) -> float:
    import csv

    from engine.data.datasets.rows import Rows
    from engine.tasks.predicting import Predictor

    with test.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = Predictor(checkpoint, MAX_LENGTH).predict(Rows([row["text"] for row in rows]))
    right = [a["label"] == b["label"] for a, b in zip(found, rows, strict=True)]
    return round(fmean(right), 4)


def scores(lines: list[Line]) -> dict[tuple[str, str, int], dict[str, dict[int, float]]]:
    """Scores by model, data set and rows, then by way and seed."""
    cells: dict[tuple[str, str, int], dict[str, dict[int, float]]] = defaultdict(dict)
    for line in lines:
        cell = cells[line["model"], line["data"], line["asked"]]
        cell.setdefault(line["way"], {})[line["seed"]] = line["score"]
    return cells


def gains(lines: list[Line], rows: int, other: str) -> dict[str, list[float]]:
    """Contrastive fine-tuning with so many rows less another way, in points.

    The differences of each data set that has both, by seed.
    """
    return {
        name: [100 * (ours[seed] - theirs[seed]) for seed in ours.keys() & theirs.keys()]
        for (_, name, asked), cell in scores(lines).items()
        if asked == rows
        and (ours := cell.get(CONTRASTIVE, {})).keys() & (theirs := cell.get(other, {})).keys()
    }


def table(lines: list[Line]) -> Iterator[str]:
    """A row for each model, data set and number of rows: the mean score of each way."""
    ways = list(dict.fromkeys(line["way"] for line in lines))
    yield harness.table_head("model", "data set", "rows", *ways)
    for (model, name, rows), cell in sorted(scores(lines).items()):
        yield harness.table_row((model, name, rows, *(_cell(cell.get(way, {})) for way in ways)))


def _cell(by_seed: dict[int, float]) -> str:
    """Mean in per cent, with the standard deviation over seeds and their number."""
    values = [100 * score for score in by_seed.values()]
    if not values:
        return "missing"
    spread = f" ± {stdev(values):.1f}" if len(values) > 1 else ""
    return f"{fmean(values):.1f}{spread} ({len(values)})"


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = harness.parser("few", __doc__)
    parser.add_argument("assets", type=Path, nargs="?", help="a folder with datasets and corpora")
    parser.add_argument("--results", type=Path, default=STORED, help="a file of JSON lines")
    parser.add_argument("--model", type=Path, default=minilm(), help="folder of a checkpoint")
    parser.add_argument("--name", default="MiniLM", help="of the model in the results")
    parser.add_argument("--data", nargs="+", choices=data.SETS, default=list(data.SETS))
    parser.add_argument("--ways", nargs="+", choices=(*WAYS, SETFIT), default=WAYS)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="for training")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--rate", type=float, default=0, help="of the pairs; 0: as recommended")
    parser.add_argument("--epochs", type=float, default=0, help="of the pairs; 0: as recommended")
    parser.add_argument("--suffix", default="", help="of the way in the results")
    parser.add_argument("--minutes", type=float, default=1e6, help="start no run after so many")
    parser.add_argument("--table", action="store_true", help="only print the table")
    return parser.parse_args(arguments)
