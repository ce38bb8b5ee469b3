"""How fast a model answers, beside what else one would ask: transformers and onnxruntime.

    python benchmarks/answers.py                               # every row of the table
    python benchmarks/answers.py words --pairs 9 --threads 2   # one of them, more often

Both sides have the same weights (base, drawn by chance), read the same texts and have as many
threads. Each side is a process of its own, started once and warm; they answer by turns, so that
whatever else the machine does meets all of them. A pair is ours and another's in the same turn:
the table gives the median of the ratios of the pairs, and the lowest and the highest of them.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

PROJECT = Path(__file__).parents[1]
OURS = PROJECT / "benchmarks" / "peers" / "studio_answers.py"
THEIRS = PROJECT / "benchmarks" / "peers" / "answers.py"


@dataclass(frozen=True)
class Work:
    """One kind of question, who of ours answers it, and who else."""

    title: str
    ours: tuple[str, ...]
    peers: tuple[str, ...]
    calls: int  # in one turn, of which the median counts


EXACT, QUICK = "studio float32", "studio int8"
WORKS = {
    "words": Work(
        "masked word in 16 tokens", (EXACT, "studio float16", QUICK), ("pipeline", "ort int8"), 7
    ),
    "attention-128": Work(
        "attention of all heads, 128 tokens", (EXACT, QUICK), ("transformers",), 3
    ),
    "attention-512": Work(
        "attention of all heads, 512 tokens", (EXACT, QUICK), ("transformers",), 1
    ),
    "rows": Work(
        "classes of 96 rows, lengths as in SST-2", (EXACT, QUICK), ("transformers", "ort int8"), 1
    ),
}


def main() -> None:
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="bert-studio-answers-") as made:
        folder = given.work or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(given.threads),
            "PYTHONPATH": str(PROJECT),
            "PYTHONWARNINGS": "ignore",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        subprocess.run(
            [sys.executable, OURS, "make", folder, "--layers", str(given.layers)],
            check=True,
            env=environment,
        )
        print("| what | ours | ms | against | ms | times as fast | from – to |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        results = {}
        for name in given.works or WORKS:
            results[name] = measure(name, folder, given, environment)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    clock = "CPU time" if given.cpu else "the clock"
    print(f"\n{given.threads} threads, {given.pairs} pairs, by {clock}; load at the end {load:.1f}")
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def measure(
    name: str, folder: Path, given: argparse.Namespace, environment: dict[str, str]
) -> dict[str, list[float]]:
    """Ask all sides by turns and print the rows of a work; gives s of every turn by side."""
    work = WORKS[name]
    sides = {who: Side(who, name, folder, given, environment) for who in (*work.ours, *work.peers)}
    spent: dict[str, list[float]] = {who: [] for who in sides}
    try:
        for _ in range(given.pairs):
            for who, side in sides.items():
                spent[who].append(side.ask(work.calls))
    finally:
        for side in sides.values():
            side.end()
    for ours in work.ours:
        for peer in work.peers:
            ratios = [b / a for a, b in zip(spent[ours], spent[peer], strict=True)]
            mine, others = median(spent[ours]) * 1000, median(spent[peer]) * 1000
            print(
                f"| {work.title} | {ours} | {mine:.1f} | {peer} | {others:.1f} | "
                f"**{median(ratios):.2f}** | {min(ratios):.2f} – {max(ratios):.2f} |",
                flush=True,
            )
    return spent


class Side:
    """A process that answers one kind of question in one way, and is asked for times."""

    def __init__(
        self,
        who: str,
        work: str,
        folder: Path,
        given: argparse.Namespace,
        environment: dict[str, str],
    ) -> None:
        script = OURS if who.startswith("studio") else THEIRS
        command = [sys.executable, script, "answer", folder, work, who, "--threads", given.threads]
        self._by_cpu = given.cpu
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.about = self._line()

    def ask(self, calls: int) -> float:
        """Seconds of one answer, the median of so many."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{calls}\n")
        self._process.stdin.flush()
        return median(self._line()["cpu" if self._by_cpu else "wall"])

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(30)

    def _line(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("One of the sides ended; what it said stands above.")
        said: dict[str, Any] = json.loads(line)
        return said


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("works", nargs="*", help=f"of {', '.join(WORKS)}; without any: all")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layers", type=int, default=12, help="of a network as wide as base")
    parser.add_argument("--cpu", action="store_true", help="CPU time, for a busy machine")
    parser.add_argument("--work", type=Path, help="keep what is made here, for the next time")
    parser.add_argument("--json", type=Path, help="where all single times go")
    given = parser.parse_args()
    for name in given.works:
        if name not in WORKS:
            parser.error(f"There is no “{name}”; there are {', '.join(WORKS)}.")
    return given


if __name__ == "__main__":
    main()
