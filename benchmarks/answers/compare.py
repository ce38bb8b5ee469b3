"""Inference speed against transformers and onnxruntime.

    python -m benchmarks answers                               every row of the table
    python -m benchmarks answers words --pairs 9 --threads 2   one of them, more often
    python -m benchmarks answers words --exact                 without reduced precision
    python -m benchmarks answers rows --exact --rows 20000 --pairs 1   a whole evaluation
    python -m benchmarks answers int8 CHECKPOINT               a trained model, with its agreement
    python -m benchmarks answers vectors MODEL --texts FILE    vectors of sentences

Both sides have the same weights (BERT base, random), texts and threads. Each side is a separate
process, started once and warm; they take turns. The table gives the median and range of the ratios
within a turn. The fraction of products is the minimum FLOP of an answer (`Size`) against the best
float32 matrix product of the same turn; reduced precision may exceed 100 %. The fraction of reading
is the time to read every weight once at the rate at which a large table is read.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.answers import texts
from benchmarks.training.size import Size

LIMITS = ("peak", "reading")
WIDTH, PIECES = 768, 30_522  # of base
BYTES = {"float16": 2, "bfloat16": 2, "int8": 1}  # of a weight; of all others 4


@dataclass(frozen=True)
class Work:
    """A kind of question, and the sides that answer it."""

    title: str
    ours: tuple[str, ...]
    peers: tuple[str, ...]
    calls: int  # per turn; the median counts


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
        "classes of {rows:,} rows, lengths as in SST-2",
        (EXACT, "studio bfloat16", QUICK),
        (*TRANSFORMERS, *ORT),
        1,
    ),
    "rows-by-two": Work(
        "classes of {rows:,} rows, a batch for each of two threads", (EXACT,), (IN_TURN,), 1
    ),
}


def main(arguments: list[str]) -> None:
    if arguments[:1] in (["int8"], ["vectors"]):
        from benchmarks.answers import served

        served.main(arguments)
        return
    options = _arguments(arguments)
    with harness.work_folder(options.work) as folder:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(options.threads),
            "PYTHONWARNINGS": "ignore",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        sizes = (f"--layers={options.layers}", f"--rows={options.rows}")
        command = ("-m", "benchmarks.answers.studio", "make", folder, *sizes)
        harness.run_python(*command, env=environment)
        heads = ("what", "ours", "ms", "of float32 products", "of reading", "against", "ms")
        print(harness.table_head(*heads, "times as fast", "range"))
        works = options.works or WORKS
        turns = {name: measure(name, folder, options, environment) for name in works}
    clock = "CPU time" if options.cpu else "the clock"
    limits = [limit for turn in turns.values() for limit in turn.limits]
    product, reading = (median(limit[name] for limit in limits) / 1e9 for name in LIMITS)
    print(f"\nThe limits: {product:,.0f} GFLOP/s in products of float32, {reading:.1f} GB/s read.")
    load = os.getloadavg()[0]
    print(f"{options.threads} threads, {options.pairs} pairs, by {clock}; final load {load:.1f}")
    if options.json:
        result = {name: turn.spent | {"limits": turn.limits} for name, turn in turns.items()}
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def has_bf16() -> bool:
    """True if the CPU has bfloat16 matrix instructions."""
    import torch

    capabilities = torch.cpu.get_capabilities()
    return bool(capabilities.get("amx_bf16") or capabilities.get("avx512_bf16"))


@dataclass(frozen=True)
class Turns:
    """Measurements of a work by turn."""

    spent: dict[str, list[float]]  # s by side
    limits: list[dict[str, float]]  # operations and bytes per second at the best


def measure(
    name: str, folder: Path, options: argparse.Namespace, environment: dict[str, str]
) -> Turns:
    """Ask all sides in turn and print the rows of a work."""
    work = WORKS[name]
    short = tuple(BYTES) if options.exact else () if has_bf16() else ("bfloat16",)
    chosen = [who for who in (*work.ours, *work.peers) if not who.endswith(short)]
    sides = {who: Side(who, name, folder, options, environment) for who in chosen}
    turns = Turns({who: [] for who in sides}, [])
    try:
        for _ in range(options.pairs):
            for who, side in sides.items():
                turns.spent[who].append(side.ask(work.calls))
            turns.limits.append(limits(options.threads, environment))
    finally:
        for side in sides.values():
            side.end()
    for line in table(name, folder, options, turns):
        print(line, flush=True)
    return turns


def table(name: str, folder: Path, options: argparse.Namespace, turns: Turns) -> Iterator[str]:
    """A row for each of ours and each peer."""
    work, spent = WORKS[name], turns.spent
    title = work.title.format(rows=options.rows)
    for ours in (who for who in work.ours if who in spent):
        operations, size = needed(name, ours, folder, options.layers)
        pairs = list(zip(spent[ours], turns.limits, strict=True))
        products = median(operations / s / limit["peak"] for s, limit in pairs)
        reading = median(size / s / limit["reading"] for s, limit in pairs)
        for peer in (who for who in work.peers if who in spent):
            ratios = [b / a for a, b in zip(spent[ours], spent[peer], strict=True)]
            mine, others = median(spent[ours]) * 1000, median(spent[peer]) * 1000
            yield (
                f"| {title} | {ours} | {mine:.1f} | {products:.0%} | {reading:.0%} | {peer} | "
                f"{others:.1f} | **{median(ratios):.2f}** | {min(ratios):.2f} – {max(ratios):.2f} |"
            )


def needed(name: str, who: str, folder: Path, layers: int) -> tuple[float, int]:
    """Minimum FLOP of an answer, and the bytes of all weights that it reads."""
    network = Size(layers, WIDTH, PIECES)
    what, _, count = name.partition("-")
    if what == "words":
        operations = network.answered(np.array([16]), outputs=1, predicted=1)
    elif what == "rows":
        lengths = np.array([len(row.split()) + 2 for row in texts.rows(folder)])
        operations = network.answered(lengths, outputs=len(lengths))
    elif what == "attention":
        operations = network.mapped(np.array([int(count)]))
    else:
        operations = network.answered(np.array([128]), outputs=128)
    kind = who.split()[1]
    return operations, BYTES.get(kind, 4) * network.weights(predicts=what == "words")


def limits(threads: int, environment: dict[str, str]) -> dict[str, float]:
    """Current FLOP/s in `peak` and bytes per second in `reading`."""
    options = (f"--threads={threads}", "--precision=fp32", "--reading")
    result: dict[str, float] = harness.run_json(
        "benchmarks.training.gemm", *options, env=environment
    )
    return result


class Side:
    """A process that answers one kind of question and reports times."""

    def __init__(
        self,
        who: str,
        work: str,
        folder: Path,
        options: argparse.Namespace,
        environment: dict[str, str],
    ) -> None:
        module = f"benchmarks.answers.{'studio' if who.startswith('studio') else 'peers'}"
        command = [sys.executable, "-m", module, "answer", folder, work, who]
        command += ["--threads", options.threads]
        if options.rows != texts.ROWS:
            command += ["--warm", 0]  # one answer is long enough to be warm
        self._by_cpu = options.cpu
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=harness.PROJECT,
            env=environment,
        )
        self._line()  # ready

    def ask(self, calls: int) -> float:
        """Median seconds of `calls` answers."""
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
            raise SystemExit("One of the sides ended; its error is above.")
        result: dict[str, Any] = json.loads(line)
        return result


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = harness.parser("answers", __doc__)
    parser.add_argument("works", nargs="*", help=f"of {', '.join(WORKS)}; without any: all")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--layers", type=int, default=12, help="of a network as wide as base")
    parser.add_argument("--exact", action="store_true", help="leave out all that is not float32")
    parser.add_argument("--rows", type=int, default=texts.ROWS, help="of the works with rows")
    parser.add_argument("--cpu", action="store_true", help="CPU time, for a busy machine")
    parser.add_argument("--work", type=Path, help="a folder that keeps the models")
    parser.add_argument("--json", type=Path, help="file for all single times")
    given = parser.parse_args(arguments)
    if given.cpu and given.threads > 1:
        parser.error("CPU time counts all threads together: it is for one thread.")
    for name in given.works:
        if name not in WORKS:
            parser.error(f"There is no “{name}”; there are {', '.join(WORKS)}.")
    return given
