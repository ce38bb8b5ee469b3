"""How fast this program trains beside what else one would use, and how near to the machine's limit.

    python benchmarks/training.py                        everything; half an hour on two cores
    python benchmarks/training.py --rows small --threads 1 --pairs 5 --clock cpu
    python benchmarks/training.py --rows finetuning-base --best --pairs 3    without the slow side
    python benchmarks/training.py --device cuda          base and large on a GPU
    python benchmarks/training.py --device cuda --dry    the same with tiny networks on a simulated
                                                         one: does it run to its end?

Prints one table. Every figure is made by a fresh process; all sides take turns in every round, and
see the same text, threads, precision, OpenMP policy and number of warm-up steps. Ratios are taken
within a round, and their median and range are shown. `transformers` with `accelerate` must be
there: `pip install -e ".[benchmarks]"`.

A share of the limit is what a step cannot do without (see `Size.needed` in peers/size.py) against
the best matrix product of the same round, threads and precision. `--clock cpu` counts the seconds
of the processor, which a busy machine disturbs less; it is for one thread.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

PEERS = Path(__file__).parent / "peers"
sys.path[:0] = [str(PEERS.parents[1]), str(PEERS)]

import dry  # noqa: E402 (these stand beside the peers)
import synthetic  # noqa: E402

SIZES = {"large": (24, 1024), "base": (12, 768), "small": (4, 256)}  # layers and width
OURS = ("studio.py",)
WITHOUT_GRAPHS = {"BERT Studio, without CUDA graphs": ("studio.py", "--graphs=off")}  # on GPUs
AS_IT_COMES = "Trainer as it comes: fp32, padded to 128"
AT_ITS_BEST = {
    "BERT Studio": OURS,
    "Trainer, best: group_by_length, eager": ("trainer.py", "--padding=group", "--attention=eager"),
    "Trainer, best: group_by_length, sdpa": ("trainer.py", "--padding=group", "--attention=sdpa"),
}
FINE_TUNING = AT_ITS_BEST | {
    AS_IT_COMES: ("trainer.py", "--padding=max", "--precision=fp32", "--warm=1", "--steps=2")
}
FROZEN = {
    **AT_ITS_BEST,
    "BERT Studio": ("studio.py", "--cached"),
    "BERT Studio, frozen layers in every step": OURS,
}
PRETRAINING = {
    "BERT Studio": OURS,
    "Trainer, eager, no next sentence": ("trainer.py", "--attention=eager"),
    "plain loop, fused AdamW, sdpa": ("trainer.py", "--loop=plain", "--attention=sdpa"),
}


@dataclass(frozen=True)
class Row:
    """A comparison: what is done, by a network of which size, in batches of how many rows."""

    work: str
    size: str
    batch: int
    warm: int  # steps of each side before the clock begins
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
GROUP = synthetic.ROWS // (4 * BATCH)  # steps in which the Trainer at its best goes from long texts
# to short ones: it sorts a quarter of all at a time, where they are no more than 6,400
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
CORES = (  # for all cores, and beside a busy process
    Row("finetuning", "base", 32, 1, 2),
    Row("finetuning", "small", 32, 3, 20),
)


def main() -> None:
    given = _arguments()
    if given.families:
        import families

        families.main(given.pairs, given.threads or 1)
        return
    every = ROWS if given.device == "cpu" else ON_GPU
    rows = [row for row in every if any(part in row.name for part in given.rows.split(","))]
    if given.dry:
        rows = [replace(row, batch=dry.BATCH, warm=1, steps=1) for row in rows]
    precision = given.precision if given.precision != "auto" else _precision(given)
    print(_conditions(given, precision), flush=True)
    with tempfile.TemporaryDirectory(prefix="bert-studio-benchmark-") as folder:
        synthetic.write(Path(folder), *((0, dry.ROWS, dry.DOCUMENTS) if given.dry else ()))
        bench = Bench(Path(folder), given, precision)
        for row in rows:
            print(*bench.compare(row), sep="\n", flush=True)
        if "cores" in given.rows and given.device == "cpu" and not given.dry:
            for row in CORES:
                print(*bench.cores(row), sep="\n", flush=True)


class Bench:
    """Runs the sides in turn, and makes lines of a table from what they measured."""

    def __init__(self, folder: Path, given: argparse.Namespace, precision: str) -> None:
        self._folder, self._given, self._precision = folder, given, precision

    def compare(self, row: Row) -> Iterator[str]:
        """A table of all sides, the best peer first after ours."""
        rounds = list[dict[str, dict[str, float]]]()
        every = row.sides | (WITHOUT_GRAPHS if self._given.device == "cuda" else {})
        sides = {n: side for n, side in every.items() if not self._is_left_out(n, every[n], row)}
        for number in range(self._given.pairs):
            names = list(sides) if number % 2 == 0 else list(reversed(sides))
            found = {name: self._side(row, sides[name]) for name in names}
            peak = self._peak(self._given.threads)
            rounds.append({name: one | {"peak": peak} for name, one in found.items()})
        speeds = {
            name: statistics.median(self._speed(one[name]) for one in rounds) for name in sides
        }
        yield f"\n### {row.name}: batches of {row.batch}, {row.warm} + {row.steps} steps\n"
        yield "| | real tokens/s | ours is × as fast (range) | share of the limit | memory | load |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for name in sorted(sides, key=lambda n: (n != "BERT Studio", -speeds[n])):
            own = [one[name] for one in rounds]
            ratios = [self._speed(one["BERT Studio"]) / self._speed(one[name]) for one in rounds]
            share = statistics.median(
                one["operations"] / self._seconds(one) / one["peak"] for one in own
            )
            memory = statistics.median(one["memory"] for one in own) / 1e9
            load = max(one["load"] for one in own)
            times = "" if name == "BERT Studio" else _spread(ratios)
            yield (
                f"| {name} | {speeds[name]:,.0f} | {times} | {share:.0%} | {memory:.2f} GB "
                f"| {load:.1f} |"
            )
        limit = statistics.median(one["BERT Studio"]["peak"] for one in rounds)
        yield f"\nThe limit: {limit / 1e9:,.0f} GFLOP/s in {self._precision}."
        if left_out := [name for name in row.sides if name not in sides]:
            yield f"\nLeft out: {'; '.join(left_out)}; {self._why_left_out(row)}."

    def _is_left_out(self, name: str, side: tuple[str, ...], row: Row) -> bool:
        """A dry run does without what cannot run here; a real one needs all but peft."""
        given = self._given
        if row.lora and side[0] == "trainer.py" and not dry.has_peft():
            return True
        if given.best and name == AS_IT_COMES:
            return True
        return bool(given.dry) and not dry.can_run(side, given.device, self._precision)

    def _why_left_out(self, row: Row) -> str:
        if not dry.has_accelerate():
            return "accelerate is not installed"
        if row.lora and not dry.has_peft():
            return "peft is not installed"
        if self._given.dry:
            return "the simulated device has fp32 alone for it"
        return "--best does without it"

    def cores(self, row: Row) -> Iterator[str]:
        """All cores against one, and all cores beside a process that never rests."""
        every = os.cpu_count() or 1
        rounds = list[tuple[float, float, float]]()
        for _ in range(self._given.pairs):
            one, all_cores = (
                self._speed(self._side(row, OURS, threads), wall=True) for threads in (1, every)
            )
            with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as busy:
                try:
                    beside = self._speed(self._side(row, OURS, every), wall=True)
                finally:
                    busy.kill()
            rounds.append((one, all_cores, beside))
        yield f"\n### {row.name}: {every} cores\n"
        yield "| | median (range) |"
        yield "| --- | --- |"
        gained, kept = ([b / a for a, b, _ in rounds], [c / b for _, b, c in rounds])
        yield f"| {every} cores against one | {_spread(gained)} |"
        yield f"| beside a busy process, against without | {_spread(kept)} |"

    def _side(self, row: Row, side: tuple[str, ...], threads: int = 0) -> dict[str, float]:
        layers, width = (dry.SIZES if self._given.dry else SIZES)[row.size]
        script, *settings = side
        found = self._run(
            script,
            *(row.work, f"--synthetic={self._folder}", f"--layers={layers}", f"--width={width}"),
            *(f"--threads={threads or self._given.threads}", f"--precision={self._precision}"),
            f"--device={self._given.device}",
            *(f"--batch={row.batch}", f"--warm={row.warm}", f"--steps={row.steps}"),
            *([f"--frozen={2 * layers // 3}"] if row.frozen else []),
            *([f"--lora={row.lora}"] if row.lora else []),
            *settings,  # the last word
        )
        if self._given.verbose:
            print(row.name, *side, json.dumps(found), file=sys.stderr, flush=True)
        return found

    def _peak(self, threads: int) -> float:
        """Operations per second of the best matrix product."""
        options = (
            f"--threads={threads}",
            f"--precision={self._precision}",
            f"--device={self._given.device}",
        )
        peak: float = self._run("gemm.py", *options)["peak"]
        return peak

    def _run(self, script: str, *options: str) -> dict[str, Any]:
        if self._given.dry:
            return dry.run(script, options)
        done = subprocess.run(
            [sys.executable, str(PEERS / script), *options],
            env=_environment(self._given.openmp),
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(f"{script} {' '.join(options)} failed:\n{done.stderr[-3000:]}")
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    def _speed(self, found: dict[str, float], wall: bool = False) -> float:
        """Real tokens per second."""
        return found["tokens"] / (found["seconds"] if wall else self._seconds(found))

    def _seconds(self, found: dict[str, float]) -> float:
        return found["cpu_seconds" if self._given.clock == "cpu" else "seconds"]


def _environment(openmp: str) -> dict[str, str]:
    """The same for all sides: how the threads of GNU OpenMP wait."""
    from engine.worker import SPINS

    kept = {n: v for n, v in os.environ.items() if not n.startswith(("OMP_", "GOMP_"))}
    if openmp == "passive":
        return kept | {"OMP_WAIT_POLICY": "PASSIVE"}
    if openmp == "default":
        return kept | {"GOMP_SPINCOUNT": "300000"}  # what GNU OpenMP has where nothing is said
    return kept | {"GOMP_SPINCOUNT": SPINS}


def _precision(given: argparse.Namespace) -> str:
    """What is clearly faster here, for all sides but the Trainer as it comes."""
    from engine.system.precision import Speeds

    rates = {}
    for name in ("fp32", "bf16") if given.device == "cpu" else ("fp32", "bf16", "fp16"):
        options = (f"--threads={given.threads}", f"--precision={name}", f"--device={given.device}")
        if given.dry:
            rates[name] = dry.run("gemm.py", options)["peak"]
            continue
        command = [sys.executable, str(PEERS / "gemm.py"), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        rates[name] = json.loads(done.stdout)["peak"]
    return Speeds("", **rates).fastest


def _conditions(given: argparse.Namespace, precision: str) -> str:
    from importlib.metadata import version

    names = ["torch", "transformers", *(["accelerate"] if dry.has_accelerate() else [])]
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    warning = "Dry run, no figure counts. " if given.dry else ""
    return (
        f"{warning}{_device(given)}, {given.threads} of {os.cpu_count()} cores, {precision}; "
        f"{versions}; Python {platform.python_version()}; OpenMP {given.openmp}; "
        f"{given.pairs} rounds; clock: {given.clock}; load at the start {os.getloadavg()[0]:.1f}"
    )


def _device(given: argparse.Namespace) -> str:
    if given.device == "cpu":
        return _processor()
    if given.dry:
        return "Simulated device"
    import torch

    return f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}"


def _processor() -> str:
    known = Path("/proc/cpuinfo")
    lines = known.read_text(encoding="utf-8").splitlines() if known.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _spread(ratios: list[float]) -> str:
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = ", ".join((*(row.name for row in ROWS), "cores"))
    parser.add_argument("--rows", default=DEFAULT, help=f"of {names}")
    parser.add_argument(
        "--families", action="store_true", help="every family beside transformers, and no more"
    )
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
    return parser.parse_args()


if __name__ == "__main__":
    main()
