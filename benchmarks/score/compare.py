"""Time until a fine-tuned network has the score of the full recipe, against transformers' Trainer.

    python -m benchmarks fidelity prepare ASSETS/datasets WORK
    python -m benchmarks score WORK --model MINILM --results runs.jsonl
    python -m benchmarks score WORK --model MINILM --results runs.jsonl --data trec-qc \\
        --seeds 1 2 --rows 1600 --minutes 8
    python -m benchmarks score WORK --results runs.jsonl --table

Arms: our recipes, and the Trainer with the settings of the recipe “paper”. All arms of a data set
and seed take turns in fresh processes with the same rows, threads and OpenMP policy. A run is timed
from its tokenized rows to its end, with all evaluations and checkpoints; its score is that of its
best checkpoint. Each run is a line of the results, and runs that are there are not made again, so
this may be stopped at any time. `--arm NAME:field=value,…` adds an arm with changed settings of the
recipe “paper”.

“quick” exists for models of MiniLM's size; for others, such as a published BERT-Base, give
`--arms paper Trainer` and an `--arm`. Needs `pip install -e ".[benchmarks]"`.
"""

import argparse
import json
import math
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

from benchmarks import harness
from benchmarks.score.plan import Work, as_argument
from benchmarks.training.compare import openmp_environment

FULL, TRAINER = "paper", "Trainer"
SETS = ("sst2", "trec-qc", "subj", "mrpc", "stsb", "wnut17")
ATTENTION = ("eager", "sdpa")  # the Trainer's: the faster one of each data set and seed counts
POINT = 0.01
STORED = Path(__file__).parent / "runs.jsonl"
Line = dict[str, Any]


def main(arguments: list[str]) -> None:
    options = _arguments(arguments)
    if not options.table:
        _measure(options)
    lines = read(options.results)
    print(*table(lines), sep="\n")


def _measure(options: argparse.Namespace) -> None:
    """Make the runs that are missing, and append a line for each."""
    print(f"{harness.cpu_name()}, {options.threads} of {os.cpu_count()} cores", flush=True)
    done, began = {line["key"] for line in read(options.results)}, time.monotonic()
    for number, (work, arm) in enumerate(_runs(options)):
        key = f"{work.model_name}|{work.data}|{work.rows}|{work.seed}|{arm}"
        if key in done:
            continue
        if options.minutes and time.monotonic() - began > 60 * options.minutes:
            print(f"Stopped after {options.minutes} minutes.")
            return
        side = "trainer" if arm.startswith(TRAINER) else "studio"
        result = harness.run_json(
            f"benchmarks.score.{side}", as_argument(work), env=openmp_environment("studio")
        )
        same = {"model": work.model_name, "data": work.data, "rows": work.rows, "seed": work.seed}
        load = round(os.getloadavg()[0], 1)
        how = {"validation": work.validation, "threads": work.threads, "load": load}
        line = {"key": key, "arm": arm, **same, **how, **result}
        with options.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        print(number, key, line["cpu"], line["seconds"], best(line), flush=True)


def _runs(options: argparse.Namespace) -> Iterator[tuple[Work, str]]:
    """All runs; those to be compared are neighbours, and every second time in reverse order."""
    for seed in options.seeds:
        for model in options.model:
            for index, data in enumerate(options.data):
                work = Work(
                    work=str(options.work.absolute()),
                    model=str(model.absolute()),
                    data=data,
                    seed=seed,
                    rows=options.rows,
                    validation=options.validation,
                    threads=options.threads,
                )
                arms = list(_arms(options, work))
                yield from arms if (seed + index) % 2 else reversed(arms)


def _arms(options: argparse.Namespace, work: Work) -> Iterator[tuple[Work, str]]:
    for name in options.arms:
        if name == TRAINER:
            for attention in ATTENTION:
                yield replace(work, attention=attention), f"{TRAINER} {attention}"
        else:
            yield replace(work, recipe=name), name
    for text in options.arm:
        name, _, fields = text.partition(":")
        pairs = (pair.partition("=") for pair in fields.split(","))
        yield replace(work, changed={field: _value(text) for field, _, text in pairs}), name


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def best(line: Line) -> float:
    """The score of the best checkpoint of a run."""
    return max(float(score) for *_, score in line["scores"])


def table(lines: list[Line]) -> Iterator[str]:
    """A row for each model, data set and arm: time and score against the recipe “paper”.

    “To the score”: until the first checkpoint that is as good as the mean of “paper” less half a
    point, and how many runs have one.
    """
    groups: dict[tuple[str, str, int], dict[str, dict[int, Line]]] = defaultdict(dict)
    for line in lines:
        arms = groups[line["model"], line["data"], line["rows"]]
        _keep_faster(arms.setdefault(line["arm"].split(" eager")[0].split(" sdpa")[0], {}), line)
    heads = ("model, data set, rows", "arm", "seeds", "CPU s", "× as fast as paper", "to the score")
    yield harness.table_head(*heads, "score", "points against paper (95 % interval)")
    for (model, data, rows), arms in groups.items():
        full = arms.get(FULL, {})
        target = fmean(map(best, full.values())) - POINT / 2 if full else math.inf
        for name, runs in arms.items():
            shared = sorted(full.keys() & runs.keys())
            ratios = [full[seed]["cpu"] / runs[seed]["cpu"] for seed in shared]
            gains = [(best(runs[seed]) - best(full[seed])) / POINT for seed in shared]
            yield harness.table_row(
                (
                    f"{model}, {data}, {rows:,}",
                    name,
                    len(runs),
                    harness.median_range([run["cpu"] for run in runs.values()], ".0f"),
                    harness.median_range(ratios) if ratios and name != FULL else "",
                    _to_score([_first(run, target) for run in runs.values()]),
                    f"{fmean(map(best, runs.values())):.3f}",
                    _interval(gains) if gains and name != FULL else "",
                )
            )


def figures(lines: list[Line], arm: str) -> tuple[float, list[float], int]:
    """An arm against “paper”: median of how many times as fast, lowest and highest mean difference
    of the scores in points, and number of data sets."""
    full, runs = (
        {(line["data"], line["rows"], line["seed"]): line for line in lines if line["arm"] == name}
        for name in (FULL, arm)
    )
    shared = full.keys() & runs.keys()
    speed = median(full[key]["cpu"] / runs[key]["cpu"] for key in shared)
    gains: dict[tuple[str, int], list[float]] = defaultdict(list)
    for key in shared:
        gains[key[:2]].append((best(runs[key]) - best(full[key])) / POINT)
    means = [fmean(values) for values in gains.values()]
    return speed, [min(means), max(means)], len({data for data, _ in gains})


def _keep_faster(runs: dict[int, Line], line: Line) -> None:
    if line["seed"] not in runs or line["cpu"] < runs[line["seed"]]["cpu"]:
        runs[line["seed"]] = line


def _first(line: Line, target: float) -> float | None:
    """CPU seconds until the first checkpoint of at least this score."""
    return next((cpu for _, _, cpu, score in line["scores"] if score >= target), None)


def _to_score(seconds: list[float | None]) -> str:
    reached = [value for value in seconds if value is not None]
    count = f"{len(reached)} of {len(seconds)}"
    return f"{harness.median_range(reached, '.0f')}, {count}" if reached else count


def _interval(gains: list[float]) -> str:
    """Mean with its t interval over seeds."""
    if len(gains) < 2:
        return f"{gains[0]:+.2f}"
    from scipy.stats import t

    half = t.ppf(0.975, len(gains) - 1) * stdev(gains) / len(gains) ** 0.5
    return f"{fmean(gains):+.2f} ± {half:.2f}"


def read(file: Path = STORED) -> list[Line]:
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [json.loads(line) for line in lines]


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = harness.parser("score", __doc__)
    parser.add_argument("work", type=Path, help="the folder of `fidelity prepare`")
    parser.add_argument("--results", type=Path, required=True, help="a file of JSON lines")
    parser.add_argument("--model", type=Path, nargs="+", default=[], help="folders of checkpoints")
    parser.add_argument("--data", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--arms", nargs="*", default=[FULL, "quick", TRAINER])
    parser.add_argument("--arm", action="append", default=[], metavar="NAME:field=value,…")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--rows", type=int, default=4_000, help="for training, at most")
    parser.add_argument("--validation", type=int, default=1_000, help="rows, at most")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=0, help="start no run after so many")
    parser.add_argument("--table", action="store_true", help="only print the table")
    return parser.parse_args(arguments)
