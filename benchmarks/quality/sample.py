"""Score and time of the first training, as the tour does it, against TF-IDF.

MiniLM is fine-tuned on the sample and scored on its test rows. Limit: five points better within two
minutes on two cores; on a busy machine read the CPU seconds.
"""

import json
import resource
import time
from pathlib import Path
from typing import Any

from benchmarks import harness


def main(arguments: list[str]) -> None:
    parser = harness.parser("quality sample", __doc__)
    parser.add_argument("work", type=Path, help="a new folder")
    work = parser.parse_args(arguments).work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    harness.run_studio("tour", "--into", work / "run", home=work / "home")
    wall, usage = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{wall:.0f} s by the clock, {usage.ru_utime + usage.ru_stime:.0f} s of CPU time")
    command = ("evaluate", "--run", work / "run", "--part", "test", "--baseline", "--json")
    print(*summary(json.loads(harness.run_studio(*command, home=work / "home"))), sep="\n")


def summary(report: dict[str, Any]) -> list[str]:
    """Accuracy, and each baseline with its difference; with 95 % intervals, in percent."""
    lines = [f"MiniLM: accuracy {_percent(report['intervals']['accuracy'])}"]
    for baseline in report["baselines"]:
        score, difference = _percent(baseline["score"]), _percent(baseline["difference"])
        lines.append(f"{baseline['name']}: {score}; MiniLM is {difference} better")
    return lines


def _percent(interval: list[float]) -> str:
    value, low, high = (f"{100 * bound:.1f}" for bound in interval)
    return f"{value} ({low} to {high})"
