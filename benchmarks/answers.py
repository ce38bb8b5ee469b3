"""How fast a model answers, beside what else one would ask: transformers and onnxruntime.

    python benchmarks/answers.py                               # every row of the table
    python benchmarks/answers.py words --pairs 9 --threads 2   # one of them, more often
    python benchmarks/answers.py words --exact                 # without short numbers
    python benchmarks/answers.py rows --exact --rows 20000 --pairs 1   # a whole evaluation, long

Both sides have the same weights (base, drawn at random), read the same texts and have as many
threads. Each side is a process of its own, started once and warm; they answer by turns, so that
whatever else the machine does meets all of them. A pair is ours and another's in the same turn:
the table gives the median of the ratios of the pairs, and the lowest and the highest of them.

A share of the products is what an answer cannot do without (`Size` in peers/size.py) against the
best matrix product in float32 of the same turn and threads: whoever computes in shorter numbers may
come to more than all of it. A share of the reading is what it takes to read every weight once, in
the numbers that it is held in, at the rate at which a large table is read.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

PROJECT = Path(__file__).parents[1]
PEERS = PROJECT / "benchmarks" / "peers"
OURS, THEIRS = PEERS / "studio_answers.py", PEERS / "answers.py"
sys.path.insert(0, str(PEERS))

import texts  # noqa: E402 (they stand beside the peers)
from processor import has_bf16  # noqa: E402

WIDTH, PIECES = 768, 30_522  # of base
BYTES = {"float16": 2, "bfloat16": 2, "int8": 1}  # of a weight; of all others 4


@dataclass(frozen=True)
class Work:
    """One kind of question, who of ours answers it, and who else."""

    title: str
    ours: tuple[str, ...]
    peers: tuple[str, ...]
    calls: int  # in one turn, of which the median counts


EXACT, QUICK = "studio float32", "studio int8"
ORT = ("ort float32", "ort int8")
TRANSFORMERS = ("transformers float32", "transformers bfloat16")
MAPS, IN_TURN = "studio float32 with maps", "studio float32 in turn"
WORKS = {
    "words": Work(
        "masked word in 16 tokens", (EXACT, "studio float16", QUICK), ("pipeline", *ORT), 7
    ),
    "attention-128": Work(
        "attention of all heads, 128 tokens", (EXACT, QUICK), ("transformers",), 3
    ),
    "attention-512": Work(
        "attention of all heads, 512 tokens", (EXACT, QUICK), ("transformers",), 1
    ),
    "forward": Work("plain forward pass, 128 tokens", (EXACT,), (MAPS,), 3),
    "rows": Work(
        "classes of {rows:,} rows, lengths as in SST-2", (EXACT, QUICK), (*TRANSFORMERS, *ORT), 1
    ),
    "rows-by-two": Work(
        "classes of {rows:,} rows, a batch for each of two threads", (EXACT,), (IN_TURN,), 1
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
            [
                sys.executable,
                OURS,
                "make",
                folder,
                f"--layers={given.layers}",
                f"--rows={given.rows}",
            ],
            check=True,
            env=environment,
        )
        print(
            "| what | ours | ms | of float32 products | of reading | against | ms | "
            "times as fast | from – to |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        turns = {name: measure(name, folder, given, environment) for name in given.works or WORKS}
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    clock = "CPU time" if given.cpu else "the clock"
    limits = [limit for made in turns.values() for limit in made.limits]
    product, reading = (median(one[name] for one in limits) / 1e9 for name in ("peak", "reading"))
    print(f"\nThe limits: {product:,.0f} GFLOP/s in products of float32, {reading:.1f} GB/s read.")
    print(f"{given.threads} threads, {given.pairs} pairs, by {clock}; load at the end {load:.1f}")
    if given.json:
        found = {name: made.spent | {"limits": made.limits} for name, made in turns.items()}
        given.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


@dataclass(frozen=True)
class Turns:
    """What was measured of a work, turn by turn."""

    spent: dict[str, list[float]]  # s by side
    limits: list[dict[str, float]]  # operations and bytes per second at the best


def measure(
    name: str, folder: Path, given: argparse.Namespace, environment: dict[str, str]
) -> Turns:
    """Ask all sides by turns and print the rows of a work."""
    work = WORKS[name]
    short = tuple(BYTES) if given.exact else () if has_bf16() else ("bfloat16",)
    asked = [who for who in (*work.ours, *work.peers) if not who.endswith(short)]
    sides = {who: Side(who, name, folder, given, environment) for who in asked}
    found = Turns({who: [] for who in sides}, [])
    try:
        for _ in range(given.pairs):
            for who, side in sides.items():
                found.spent[who].append(side.ask(work.calls))
            found.limits.append(limits(given.threads, environment))
    finally:
        for side in sides.values():
            side.end()
    for line in table(name, folder, given, found):
        print(line, flush=True)
    return found


def table(name: str, folder: Path, given: argparse.Namespace, found: Turns) -> Iterator[str]:
    """A line for each of ours and each of the others that were asked."""
    work, spent = WORKS[name], found.spent
    title = work.title.format(rows=given.rows)
    for ours in (who for who in work.ours if who in spent):
        operations, size = needed(name, ours, folder, given.layers)
        turns = list(zip(spent[ours], found.limits, strict=True))
        products = median(operations / s / limit["peak"] for s, limit in turns)
        reading = median(size / s / limit["reading"] for s, limit in turns)
        for peer in (who for who in work.peers if who in spent):
            ratios = [b / a for a, b in zip(spent[ours], spent[peer], strict=True)]
            mine, others = median(spent[ours]) * 1000, median(spent[peer]) * 1000
            yield (
                f"| {title} | {ours} | {mine:.1f} | {products:.0%} | {reading:.0%} | {peer} | "
                f"{others:.1f} | **{median(ratios):.2f}** | {min(ratios):.2f} – {max(ratios):.2f} |"
            )


def needed(name: str, who: str, folder: Path, layers: int) -> tuple[float, int]:
    """Operations that an answer cannot do without, and the bytes of all weights that it reads."""
    from size import Size

    network = Size(layers, WIDTH, PIECES)
    what, _, count = name.partition("-")
    if what == "words":
        operations = network.answered(np.array([16]), asked=1, predicted=1)
    elif what == "rows":
        lengths = np.array([len(row.split()) + 2 for row in texts.rows(folder)])
        operations = network.answered(lengths, asked=len(lengths))
    elif what == "attention":
        operations = network.mapped(np.array([int(count)]))
    else:
        operations = network.answered(np.array([128]), asked=128)
    kind = who.split()[1]
    return operations, BYTES.get(kind, 4) * network.weights(predicts=what == "words")


def limits(threads: int, environment: dict[str, str]) -> dict[str, float]:
    """The best of this moment: operations per second in `peak`, and bytes in `reading`."""
    command = [sys.executable, str(PEERS / "gemm.py"), f"--threads={threads}"]
    command += ["--precision=fp32", "--reading"]
    said = subprocess.run(command, check=True, env=environment, capture_output=True, text=True)
    found: dict[str, float] = json.loads(said.stdout)
    return found


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
        if given.rows != texts.ROWS:
            command += ["--warm", 0]  # one answer is long enough to be warm
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
    parser.add_argument("--exact", action="store_true", help="leave out all that is not float32")
    parser.add_argument("--rows", type=int, default=texts.ROWS, help="of the works with rows")
    parser.add_argument("--cpu", action="store_true", help="CPU time, for a busy machine")
    parser.add_argument("--work", type=Path, help="keep what is made here, for the next time")
    parser.add_argument("--json", type=Path, help="where all single times go")
    given = parser.parse_args()
    if given.cpu and given.threads > 1:
        parser.error("CPU time counts all threads together: it is for one thread.")
    for name in given.works:
        if name not in WORKS:
            parser.error(f"There is no “{name}”; there are {', '.join(WORKS)}.")
    return given


if __name__ == "__main__":
    main()
