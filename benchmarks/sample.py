"""Whether the first training beats its baseline, and how long it takes.

    python benchmarks/sample.py WORK

MiniLM is fine-tuned on the sample as the tour does it, in a process of its own, and its test rows
are scored beside TF-IDF. WORK is a new folder. The bar: five points better, within two minutes on
two cores. On a busy machine the seconds of the processor say more than the clock.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", type=Path)
    work = parser.parse_args().work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    say(work, "tour", "--into", str(work / "run"))
    clock, used = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{clock:.0f} s by the clock, {used.ru_utime + used.ru_stime:.0f} s of the processor")
    given = ("--run", str(work / "run"), "--part", "test", "--baseline", "--json")
    print(*lines(json.loads(say(work, "evaluate", *given))), sep="\n")


def lines(report: dict[str, Any]) -> list[str]:
    """What is printed of the report of `evaluate`: the score, and each baseline with its distance.

    Intervals are of 95 %; values are shares.
    """
    own = f"MiniLM: accuracy {_shown(report['intervals']['accuracy'])}"
    return [
        own,
        *(
            f"{one['name']}: {_shown(one['score'])}; MiniLM is {_shown(one['difference'])} better"
            for one in report["baselines"]
        ),
    ]


def _shown(interval: list[float]) -> str:
    value, low, high = (f"{100 * one:.1f}" for one in interval)
    return f"{value} ({low} to {high})"


def say(work: Path, *command: str) -> str:
    """What a command of the program prints. Ends this script where the command fails."""
    done = subprocess.run(
        [sys.executable, "-m", "app", *command],
        cwd=REPOSITORY,
        env={**os.environ, "BERT_STUDIO_HOME": str(work / "home")},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
