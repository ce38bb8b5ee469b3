"""Training speed against transformers and accelerate, and the fraction of the machine's limit.

    python -m benchmarks training                        everything; half an hour on two cores
    python -m benchmarks training --rows small --threads 1 --pairs 5 --clock cpu
    python -m benchmarks training --device cuda --dry    on a simulated GPU: does it run?

Prints one table. Every figure comes from a fresh process; all sides take turns in every round, with
the same text, threads, precision, OpenMP policy and warm-up steps. Ratios are taken within a round.
Needs `pip install -e ".[benchmarks]"`. The fraction of the limit is the minimum FLOP of a step
(`Size.needed`) against the best matrix product of the same round. `--clock cpu` counts CPU seconds,
which a busy machine disturbs less; for one thread.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks import harness, synthetic
from benchmarks.training import dry

SIZES = {"large": (24, 1024), "base": (12, 768), "small": (4, 256)}  # layers and width
OURS = ("studio",)
WITHOUT_GRAPHS = {"BERT Studio, without CUDA graphs": ("studio", "--graphs=off")}  # on GPUs
AS_IT_COMES = "Trainer as it comes: fp32, padded to 128"
AT_ITS_BEST = {
    "BERT Studio": OURS,
    "Trainer, best: group_by_length, eager": ("trainer", "--padding=group", "--attention=eager"),
    "Trainer, best: group_by_length, sdpa": ("trainer", "--padding=group", "--attention=sdpa"),
}
FINE_TUNING = AT_ITS_BEST | {
    AS_IT_COMES: ("trainer", "--padding=max", "--precision=fp32", "--warm=1", "--steps=2")
}
FROZEN = {
    **AT_ITS_BEST,
    "BERT Studio": ("studio", "--cached"),
    "BERT Studio, frozen layers in every step": OURS,
}
PRETRAINING = {
    "BERT Studio": OURS,
    "Trainer, eager, no next sentence": ("trainer", "--attention=eager"),
    "plain loop, fused AdamW, sdpa": ("trainer", "--loop=plain", "--attention=sdpa"),
}


@dataclass(frozen=True)
class Row:
    """A comparison."""

    work: str
    size: str
    batch: int
    warm: int  # steps of each side before timing starts
    steps: int
    frozen: bool = False  # the embeddings and the lower two thirds of the layers
    lora: int = 0  # rank of adapters

    @property
    def name(self) -> str:
        work = "frozen" if self.frozen else "lora" if self.lora else self.work
        return f"{work}-{self.size}"

    @property
    def sides(self) -> dict[str, tuple[str, ...]]:
        if self.frozen or self.lora:
            return FROZEN if self.frozen else AT_ITS_BEST
        return FINE_TUNING if self.work == "finetuning" else PRETRAINING


BATCH = 32
# steps in which the grouping Trainer goes from long to short texts: it sorts a quarter of the rows
GROUP = synthetic.ROWS // (4 * BATCH)
ROWS = (
    Row("finetuning", "base", BATCH, 1, GROUP),
    Row("finetuning", "small", BATCH, 3, GROUP),
    Row("pretraining", "base", 8, 1, 4),
    Row("pretraining", "small", 16, 1, 3),
    Row("finetuning", "base", BATCH, 1, GROUP, frozen=True),
    Row("finetuning", "base", BATCH, 1, GROUP, lora=8),
)
ON_GPU = (
    Row("finetuning", "small", 32, 10, 60),
    Row("finetuning", "base", 32, 10, 60),
    Row("finetuning", "large", 32, 10, 60),
    Row("pretraining", "base", 64, 5, 30),
    Row("pretraining", "base", 256, 5, 10),
    Row("pretraining", "large", 64, 5, 30),
    Row("finetuning", "base", 32, 10, 60, frozen=True),
    Row("finetuning", "base", 32, 10, 60, lora=8),
)
DEFAULT = "finetuning,pretraining,frozen,lora,cores"  # rows by parts of their names
CORES = (  # for all cores, and next to a busy process
    Row("finetuning", "base", 32, 1, 2),
    Row("finetuning", "small", 32, 3, 20),
)


def main(arguments: list[str]) -> None:
    options = _arguments(arguments)
    if options.families:
        from benchmarks.training import families

        families.main(options.pairs, options.threads or 1)
        return
    if options.shapes:
        from benchmarks.training import shapes

        shapes.main(options.threads or 1)
        return
    all_rows = ROWS if options.device == "cpu" else ON_GPU
    rows = [row for row in all_rows if any(part in row.name for part in options.rows.split(","))]
    if options.dry:
        rows = [replace(row, batch=dry.BATCH, warm=1, steps=1) for row in rows]
    precision = options.precision if options.precision != "auto" else _precision(options)
    print(_conditions(options, precision), flush=True)
    with harness.work_folder() as folder:
        synthetic.write(folder, *((0, dry.ROWS, dry.DOCUMENTS) if options.dry else ()))
        bench = Bench(folder, options, precision)
        for row in rows:
            print(*bench.compare(row), sep="\n", flush=True)
        if "cores" in options.rows and options.device == "cpu" and not options.dry:
            for row in CORES:
                print(*bench.cores(row), sep="\n", flush=True)


class Bench:
    """Runs the sides in turn and makes table rows."""

    def __init__(self, folder: Path, options: argparse.Namespace, precision: str) -> None:
        self._folder, self._options, self._precision = folder, options, precision

    def compare(self, row: Row) -> Iterator[str]:
        """A table of all sides, ours first, then the peers by speed."""
        rounds = list[dict[str, dict[str, float]]]()
        all_sides = row.sides | (WITHOUT_GRAPHS if self._options.device == "cuda" else {})
        sides = {n: s for n, s in all_sides.items() if not self._is_left_out(n, s, row)}
        for number in range(self._options.pairs):
            names = list(sides) if number % 2 == 0 else list(reversed(sides))
            results = {name: self._side(row, sides[name]) for name in names}
            peak = self._peak(self._options.threads)
            rounds.append({name: result | {"peak": peak} for name, result in results.items()})
        speeds = {
            name: statistics.median(self._speed(turn[name]) for turn in rounds) for name in sides
        }
        yield f"\n### {row.name}: batches of {row.batch}, {row.warm} + {row.steps} steps\n"
        heads = ("real tokens/s", "ours is × as fast (range)", "fraction of the limit")
        yield harness.table_head("", *heads, "memory", "load")
        for name in sorted(sides, key=lambda n: (n != "BERT Studio", -speeds[n])):
            measured = [turn[name] for turn in rounds]
            ratios = [self._speed(turn["BERT Studio"]) / self._speed(turn[name]) for turn in rounds]
            fraction = statistics.median(
                result["operations"] / self._seconds(result) / result["peak"] for result in measured
            )
            memory = statistics.median(result["memory"] for result in measured) / 1e9
            load = max(result["load"] for result in measured)
            times = "" if name == "BERT Studio" else harness.median_range(ratios)
            yield (
                f"| {name} | {speeds[name]:,.0f} | {times} | {fraction:.0%} | {memory:.2f} GB "
                f"| {load:.1f} |"
            )
        limit = statistics.median(turn["BERT Studio"]["peak"] for turn in rounds)
        yield f"\nThe limit: {limit / 1e9:,.0f} GFLOP/s in {self._precision}."
        if left_out := [name for name in row.sides if name not in sides]:
            yield f"\nLeft out: {'; '.join(left_out)}; {self._why_left_out(row)}."

    def _is_left_out(self, name: str, side: tuple[str, ...], row: Row) -> bool:
        """A dry run leaves out what cannot run here; a real one needs everything but peft."""
        options = self._options
        if row.lora and side[0] == "trainer" and not dry.has_peft():
            return True
        if options.best and name == AS_IT_COMES:
            return True
        return bool(options.dry) and not dry.can_run(side, options.device, self._precision)

    def _why_left_out(self, row: Row) -> str:
        if not dry.has_accelerate():
            return "accelerate is not installed"
        if row.lora and not dry.has_peft():
            return "peft is not installed"
        if self._options.dry:
            return "the simulated device has only fp32 for it"
        return "--best does without it"

    def cores(self, row: Row) -> Iterator[str]:
        """All cores against one, and all cores next to a busy process."""
        count = os.cpu_count() or 1
        rounds = list[tuple[float, float, float]]()
        for _ in range(self._options.pairs):
            one, all_cores = (
                self._speed(self._side(row, OURS, threads), wall=True) for threads in (1, count)
            )
            with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
                try:
                    when_busy = self._speed(self._side(row, OURS, count), wall=True)
                finally:
                    busy.kill()
            rounds.append((one, all_cores, when_busy))
        yield f"\n### {row.name}: {count} cores\n"
        yield "| | median (range) |"
        yield "| --- | --- |"
        gained, kept = ([b / a for a, b, _ in rounds], [c / b for _, b, c in rounds])
        yield f"| {count} cores against one | {harness.median_range(gained)} |"
        yield f"| beside a busy process, against without | {harness.median_range(kept)} |"

    def _side(self, row: Row, side: tuple[str, ...], threads: int = 0) -> dict[str, float]:
        layers, width = (dry.SIZES if self._options.dry else SIZES)[row.size]
        script, *settings = side
        result = self._run(
            script,
            *(row.work, f"--synthetic={self._folder}", f"--layers={layers}", f"--width={width}"),
            *(f"--threads={threads or self._options.threads}", f"--precision={self._precision}"),
            f"--device={self._options.device}",
            *(f"--batch={row.batch}", f"--warm={row.warm}", f"--steps={row.steps}"),
            *([f"--frozen={2 * layers // 3}"] if row.frozen else []),
            *([f"--lora={row.lora}"] if row.lora else []),
            *settings,  # the last word
        )
        if self._options.verbose:
            print(row.name, *side, json.dumps(result), file=sys.stderr, flush=True)
        return result

    def _peak(self, threads: int) -> float:
        """Operations per second of the best matrix product."""
        flags = (
            f"--threads={threads}",
            f"--precision={self._precision}",
            f"--device={self._options.device}",
        )
        peak: float = self._run("gemm", *flags)["peak"]
        return peak

    def _run(self, module: str, *flags: str) -> dict[str, Any]:
        return _run(self._options, module, *flags)

    def _speed(self, result: dict[str, float], wall: bool = False) -> float:
        """Real tokens per second."""
        return result["tokens"] / (result["seconds"] if wall else self._seconds(result))

    def _seconds(self, result: dict[str, float]) -> float:
        return result["cpu_seconds" if self._options.clock == "cpu" else "seconds"]


def openmp_environment(openmp: str) -> dict[str, str]:
    """Waiting policy of GNU OpenMP threads on all sides."""
    from engine.worker import SPINS

    environment = {n: v for n, v in os.environ.items() if not n.startswith(("OMP_", "GOMP_"))}
    if openmp == "passive":
        return environment | {"OMP_WAIT_POLICY": "PASSIVE"}
    if openmp == "default":
        return environment | {"GOMP_SPINCOUNT": "300000"}  # the default of GNU OpenMP
    return environment | {"GOMP_SPINCOUNT": SPINS}


def _run(options: argparse.Namespace, module: str, *flags: str) -> dict[str, Any]:
    """Result of a module of this package in a fresh process, or in this one for a dry run."""
    if options.dry:
        return dry.run(module, flags)
    env = openmp_environment(options.openmp)
    result: dict[str, Any] = harness.run_json(f"benchmarks.training.{module}", *flags, env=env)
    return result


def _precision(options: argparse.Namespace) -> str:
    """The precision that is clearly faster here, as a run chooses it."""
    from engine.system.precision import Speeds

    rates, flags = {}, (f"--threads={options.threads}", f"--device={options.device}")
    for name in ("fp32", "bf16") if options.device == "cpu" else ("fp32", "bf16", "fp16"):
        rates[name] = _run(options, "gemm", *flags, f"--precision={name}")["peak"]
    return Speeds("", **rates).fastest


def _conditions(options: argparse.Namespace, precision: str) -> str:
    from importlib.metadata import version

    names = ["torch", "transformers", *(["accelerate"] if dry.has_accelerate() else [])]
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    warning = "Dry run, no figure counts. " if options.dry else ""
    return (
        f"{warning}{_device(options)}, {options.threads} of {os.cpu_count()} cores, {precision}; "
        f"{versions}; Python {platform.python_version()}; OpenMP {options.openmp}; "
        f"{options.pairs} rounds; clock: {options.clock}; initial load {os.getloadavg()[0]:.1f}"
    )


def _device(options: argparse.Namespace) -> str:
    if options.device == "cpu":
        return harness.cpu_name()
    if options.dry:
        return "Simulated device"
    import torch

    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = harness.parser("training", __doc__)
    names = ", ".join((*(row.name for row in ROWS), "cores"))
    parser.add_argument("--rows", default=DEFAULT, help=f"of {names}")
    parser.add_argument(
        "--families", action="store_true", help="only: every family against transformers"
    )
    parser.add_argument("--shapes", action="store_true", help="only: cost of new product shapes")
    parser.add_argument(
        "--best", action="store_true", help="leave out the Trainer as it comes, which is slow"
    )
    parser.add_argument("--pairs", type=int, default=3, help="rounds")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16", "fp16"), default="auto")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument(
        "--openmp",
        choices=("studio", "default", "passive"),
        default="studio",
        help="how threads wait: as in our workers, as OpenMP has it, or asleep",
    )
    parser.add_argument(
        "--dry", action="store_true", help="tiny networks, a GPU simulated: does it run?"
    )
    parser.add_argument("--verbose", action="store_true", help="print every measurement too")
    return parser.parse_args(arguments)
