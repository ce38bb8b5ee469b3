"""Print both sides as a Markdown table: the mean and standard deviation over the seeds.

    python benchmarks/fidelity/table.py WORK

Figures are in hundredths. The spread of a figure is the larger of the two standard deviations (of
samples, n - 1); where ours lies below the reference by more, the line says so.
"""

import argparse
import statistics
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import results
from settings import SEEDS, TASKS

HEADER = ("task", "figure", "transformers", "ours", "difference", "below by more than the spread")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path, help="the folder with the results")
    work = parser.parse_args().work
    print(_line(HEADER))
    print(_line("---" for _ in HEADER))
    for task, setting in TASKS.items():
        reference, ours = (results.of_now(work, side, task) for side in ("transformers", "ours"))
        for figure in setting.figures:
            print(_line((task, figure.replace("_", " "), *_compare(reference, ours, figure))))


def _compare(
    reference: list[dict[str, Any]], ours: list[dict[str, Any]], figure: str
) -> tuple[str, ...]:
    theirs, own = ([100 * line["figures"][figure] for line in side] for side in (reference, ours))
    if not (theirs and own):
        return (_shown(theirs), _shown(own), "", "")
    difference = statistics.fmean(own) - statistics.fmean(theirs)
    if min(len(theirs), len(own)) < 2:
        return (_shown(theirs), _shown(own), f"{difference:+.2f}", "")
    spread = max(statistics.stdev(theirs), statistics.stdev(own))
    below = "yes" if difference < -spread else "no"
    return (_shown(theirs), _shown(own), f"{difference:+.2f}", below)


def _shown(values: list[float]) -> str:
    """Mean ± standard deviation, and how many runs where these are not as many as the seeds."""
    if not values:
        return ""
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    runs = "" if len(values) == len(SEEDS) else f" (runs: {len(values)})"
    return f"{statistics.fmean(values):.2f}{spread}{runs}"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
