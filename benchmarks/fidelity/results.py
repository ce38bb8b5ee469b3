"""Results of both sides as JSON Lines, and their table."""

import hashlib
import json
import statistics
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from benchmarks import harness
from benchmarks.fidelity.settings import SEEDS, TASKS, Setting, data_folder, results_file

Side = Literal["transformers", "ours"]


def read(work: Path) -> list[dict[str, Any]]:
    """All results, the oldest first."""
    path = results_file(work)
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def add(
    work: Path,
    side: Side,
    task: str,
    seed: int,
    figures: dict[str, float],
    seconds: float,
    versions: dict[str, str],
) -> None:
    """Add a line: `seconds` include loading and evaluation."""
    line = {
        "side": side,
        "task": task,
        "seed": seed,
        "figures": figures,
        "seconds": round(seconds, 1),
        "versions": versions,
        **_version(work, TASKS[task]),
    }
    print(json.dumps(line), flush=True)
    with results_file(work).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def exists(work: Path, side: Side, task: str, seed: int) -> bool:
    """True if this run exists for the current settings and data."""
    expected = {"side": side, "task": task, "seed": seed, **_version(work, TASKS[task])}
    return any(expected.items() <= line.items() for line in read(work))


def current(work: Path, side: Side, task: str) -> list[dict[str, Any]]:
    """Last run of each seed with the current settings and data."""
    expected = {"side": side, "task": task, **_version(work, TASKS[task])}
    lines = (line for line in read(work) if expected.items() <= line.items())
    return list({line["seed"]: line for line in lines}.values())


def _version(work: Path, setting: Setting) -> dict[str, Any]:
    """Settings, and a digest of the training and evaluation files."""
    digest = hashlib.sha256()
    for name in (setting.train, *setting.evaluated.values()):
        digest.update((data_folder(work) / name).read_bytes())
    return {"setting": json.loads(json.dumps(asdict(setting))), "data": digest.hexdigest()}


# ── table ──

TABLE = """Mean and standard deviation (n - 1) over the seeds, in hundredths.

The spread of a figure is the larger of the two standard deviations; the last column says if ours is
below the reference by more.
"""
HEADER = ("task", "figure", "transformers", "ours", "difference", "below by more than the spread")


def main(options: list[str]) -> None:
    parser = harness.parser("fidelity table", TABLE)
    parser.add_argument("work", type=Path, help="the folder with the results")
    work = parser.parse_args(options).work
    print(harness.table_head(*HEADER))
    for task, setting in TASKS.items():
        reference, ours = (current(work, side, task) for side in ("transformers", "ours"))
        for figure in setting.figures:
            harness.print_row(task, figure.replace("_", " "), *_compare(reference, ours, figure))


def _compare(
    reference: list[dict[str, Any]], ours: list[dict[str, Any]], figure: str
) -> tuple[str, ...]:
    base, new = ([100 * line["figures"][figure] for line in side] for side in (reference, ours))
    if not (base and new):
        return (_format(base), _format(new), "", "")
    difference = statistics.fmean(new) - statistics.fmean(base)
    if min(len(base), len(new)) < 2:
        return (_format(base), _format(new), f"{difference:+.2f}", "")
    spread = max(statistics.stdev(base), statistics.stdev(new))
    below = "yes" if difference < -spread else "no"
    return (_format(base), _format(new), f"{difference:+.2f}", below)


def _format(values: list[float]) -> str:
    """Mean ± standard deviation, and the number of runs if seeds are missing."""
    if not values:
        return ""
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    runs = "" if len(values) == len(SEEDS) else f" (runs: {len(values)})"
    return f"{statistics.fmean(values):.2f}{spread}{runs}"
