"""Calculated cost of pre-training BERT base on 16 GB of text with 1, 8 and 64 GPUs.

Prints the tables of docs/SCALE.md, which names the source of each assumption. Nothing is measured
on a GPU. Failures are simulated with a fixed seed.
"""

import math
import random
from dataclasses import dataclass, replace

from benchmarks import harness

HOUR = 3600.0  # s
LAYERS, WIDTH, INNER, VOCABULARY = 12, 768, 3072, 30_522  # BERT base
PARAMETERS = 110e6
MASKED = 0.15  # of the tokens are predicted

CORPUS = 16e9  # bytes of text
BYTES_PER_TOKEN = 4.62  # measured: English Wikipedia, a vocabulary of 30,522
TOKENIZED = 1.33e6  # bytes a second on one core, measured
EXAMPLES = 256e6  # one million steps of 256 (Devlin et al. 2019, A.2)
LONG = 0.1  # of the steps see 512 tokens, the others 128
BATCH = 4096  # of RoBERTa and of Izsak et al. 2021, instead of 256

HOST = 45e-3 / (4096 * 128)  # s of one core for each token of a batch, measured
LOCKED = 10e-3 / (4096 * 128)  # the part of it that only one thread can do
THREADS = 4  # that prefetch batches

SAVED = 3.0  # s to write 1.3 GB with checksums and flush it, while all ranks wait
RESTART = 120.0  # s from a failure to the next step: noticed, torch loaded, checkpoint read
BETWEEN_FAILURES = 16_384 * 54 * 24 / 419  # h of one GPU: Llama 3 (Dubey et al. 2024)
PREEMPTED = 24.0  # h between preemptions of one spot machine
VALIDATION = 0.01  # of the corpus; rank 0 evaluates alone
EVALUATIONS = 4  # in a run
RUNS = 400  # simulated, of each interval


@dataclass(frozen=True)
class Machines:
    """GPUs and what connects them."""

    gpus: int
    per_machine: int = 8
    peak: float = 312e12  # bf16 operations a second of an A100
    mfu: float = 0.40  # fraction of the peak that is reached
    inside: float = 225e9  # bytes a second that each rank sums over NVLink: 3/4 of 300 GB/s
    between: float = 150e9  # and a machine over 8 x 200 Gb/s: 3/4 of 200 GB/s
    price: float = 2.0  # an hour of one GPU

    @property
    def machines(self) -> int:
        return math.ceil(self.gpus / self.per_machine)


def operations(length: int) -> float:
    """FLOP per token, forward and backward, at this sequence length; matrix products only."""
    layer = 2 * (4 * WIDTH**2 + 2 * WIDTH * INNER) + 4 * length * WIDTH
    head = MASKED * 2 * (WIDTH**2 + WIDTH * VOCABULARY)
    return 3 * (LAYERS * layer + head)


def summing(machines: Machines) -> float:
    """Seconds of the float32 all-reduce: a ring within machines, and one between them."""
    data = 4 * PARAMETERS
    n, m = min(machines.gpus, machines.per_machine), machines.machines
    inside = 2 * (n - 1) / n * data / machines.inside
    return inside + 2 * (m - 1) / m * data / machines.between


@dataclass(frozen=True)
class Step:
    """Time of a step in seconds."""

    compute: float
    sums: float
    host: float  # until the next batch is made, in parallel with the GPU

    @property
    def seconds(self) -> float:
        return max(self.compute + self.sums, self.host)


def step(machines: Machines, length: int, batch: int = BATCH, threads: int = THREADS) -> Step:
    """Times of a step; every rank makes the whole batch and computes its part."""
    tokens = batch * length
    each = math.ceil(batch / machines.gpus) * length
    compute = each * operations(length) / (machines.peak * machines.mfu)
    return Step(compute, summing(machines), tokens * max(HOST / threads, LOCKED))


def evaluating(machines: Machines, validation: float = VALIDATION) -> float:
    """Hours in which rank 0 evaluates and the others wait; a forward pass is a third of a step."""
    tokens = validation * CORPUS / BYTES_PER_TOKEN
    return EVALUATIONS * tokens * operations(128) / 3 / (machines.peak * machines.mfu) / HOUR


def hours(
    machines: Machines, batch: int = BATCH, threads: int = THREADS, validation: float = VALIDATION
) -> float:
    """Hours of all examples and evaluations without failures."""
    steps = EXAMPLES / batch
    short = step(machines, 128, batch, threads).seconds
    long = step(machines, 512, batch, threads).seconds
    return steps * ((1 - LONG) * short + LONG * long) / HOUR + evaluating(machines, validation)


def best_interval(between: float, saved: float = SAVED) -> float:
    """Seconds of work between two checkpoints (Daly 2006, equation 37; Young 1974 for small)."""
    if saved >= 2 * between:
        return between
    part = saved / (2 * between)
    return math.sqrt(2 * saved * between) * (1 + math.sqrt(part) / 3 + part / 9) - saved


def disturbed(work: float, interval: float, between: float, rng: random.Random) -> float:
    """Seconds that `work` takes with random failures, `between` seconds apart on average."""
    done = clock = 0.0
    failure = rng.expovariate(1 / between)
    while done < work:
        piece = min(interval, work - done)
        if clock + piece + SAVED <= failure:
            clock += piece + SAVED
            done += piece
        else:
            clock = failure + RESTART
            failure = clock + rng.expovariate(1 / between)
    return clock


def lost(work: float, interval: float, between: float) -> float:
    """Mean fraction of time lost to checkpoints and failures, over `RUNS` simulated runs."""
    rng = random.Random(0)
    times = [disturbed(work, interval, between, rng) for _ in range(RUNS)]
    return sum(times) / RUNS / work - 1


def failure_interval(machines: Machines) -> float:
    """Mean seconds between failures of any of these GPUs."""
    return BETWEEN_FAILURES / machines.gpus * HOUR


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Markdown; all columns but the first are aligned to the right."""
    rule = ["---", *["---:"] * (len(heads) - 1)]
    return "\n".join(harness.table_row(line) for line in (heads, rule, *rows))


def costs() -> str:
    """The main table."""
    rows = []
    for gpus in (1, 8, 64):
        for mfu in (0.20, 0.40):
            machines = Machines(gpus, mfu=mfu)
            short, long = step(machines, 128), step(machines, 512)
            alone = hours(Machines(1, mfu=mfu))
            took, between = hours(machines), failure_interval(machines)
            wasted = lost(took * HOUR, best_interval(between), between)
            took *= 1 + wasted
            rows.append(
                [
                    f"{gpus} GPU{'s' * (gpus > 1)}, MFU {mfu:.0%}",
                    f"{BATCH * 128 / short.seconds / 1e6:.2f} M",
                    f"{BATCH * 512 / long.seconds / 1e6:.2f} M",
                    f"{1000 * short.compute:,.0f} + {1000 * short.sums:.1f} ms",
                    f"{1000 * short.host:.0f} ms",
                    f"{alone / gpus / hours(machines):.0%}",
                    f"{took:,.1f} h",
                    f"${took * gpus * machines.price:,.0f}",
                ]
            )
    heads = ["", "tokens/s at 128", "at 512", "step: compute + sums", "batch made in"]
    return table([*heads, "efficiency", "whole run", "cost"], rows)


def what_if() -> str:
    """64 GPUs, MFU 40 %, with one thing changed."""
    usual = Machines(64)
    slow = replace(usual, between=10e9)
    fast = replace(usual, peak=989e12)
    cases = {
        "as above": (usual, BATCH, THREADS, VALIDATION),
        "evaluated on 0.1 % of the text": (usual, BATCH, THREADS, VALIDATION / 10),
        "batches of 256, as in the paper": (usual, 256, THREADS, VALIDATION),
        "100 Gb/s Ethernet between the machines": (slow, BATCH, THREADS, VALIDATION),
        "one thread makes the batches": (usual, BATCH, 1, VALIDATION),
        "H100 (989 TFLOP/s)": (fast, BATCH, THREADS, VALIDATION),
    }
    rows = []
    for name, (machines, batch, threads, validation) in cases.items():
        parts = step(machines, 128, batch, threads)
        ideal = hours(replace(machines, gpus=1), validation=validation) / machines.gpus
        took = hours(machines, batch, threads, validation)
        rows.append(
            [
                name,
                f"{1000 * parts.compute:.1f} ms",
                f"{1000 * parts.sums:.1f} ms",
                f"{1000 * parts.host:.1f} ms",
                f"{1 - (took - evaluating(machines, validation)) / took:.0%}",
                f"{ideal / took:.0%}",
                f"{took:.2f} h",
            ]
        )
    heads = ["64 GPUs, MFU 40 %", "compute", "sums", "batch made in"]
    return table([*heads, "evaluation", "efficiency", "whole run"], rows)


def intervals() -> str:
    """Time lost to failures and checkpoints, by checkpoint interval."""
    rows = []
    for gpus in (1, 8, 64):
        machines = Machines(gpus)
        work = hours(machines) * HOUR
        kinds = {
            f"{gpus} GPU{'s' * (gpus > 1)}, own": failure_interval(machines),
            f"{gpus} GPU{'s' * (gpus > 1)}, spot": PREEMPTED / machines.machines * HOUR,
        }
        for name, between in kinds.items():
            best = best_interval(between)
            losses = [lost(work, minutes * 60, between) for minutes in (5, 30, 240)]
            rows.append(
                [
                    name,
                    f"{between / HOUR:,.0f} h",
                    f"{best / 60:.0f} min",
                    f"{lost(work, best, between):.2%}",
                    *(f"{loss:.1%}" for loss in losses),
                ]
            )
    heads = ["", "between failures", "best interval", "lost with it"]
    return table([*heads, "every 5 min", "30 min", "4 h"], rows)


def data() -> str:
    """Size of the corpus and its tokens."""
    tokens = CORPUS / BYTES_PER_TOKEN
    inputs = tokens / 126
    seen = EXAMPLES * ((1 - LONG) * 128 + LONG * 512)
    core = CORPUS / TOKENIZED / HOUR
    work = EXAMPLES * ((1 - LONG) * 128 * operations(128) + LONG * 512 * operations(512))
    rows = [
        ["tokens", f"{tokens / 1e9:.2f} G"],
        ["inputs of 128, without [CLS] and [SEP]", f"{inputs / 1e6:.1f} M"],
        ["token file, 2 bytes each", f"{2 * tokens * 128 / 126 / 1e9:.1f} GB"],
        ["offsets and splits", f"{12 * inputs / 1e9:.2f} GB"],
        [
            "tokenized once, on 1 · 16 · 64 cores",
            f"{core:.1f} · {core / 16:.2f} · {core / 64:.2f} h",
        ],
        ["order of an epoch, in the memory of each rank", f"{32 * inputs / 1e9:.1f} GB"],
        ["tokens seen", f"{seen / 1e9:.1f} G, {seen / tokens:.0f} times each"],
        ["operations", f"{work:.2e}"],
    ]
    return table(["", "16 GB of text"], rows)


TABLES = {"costs": costs, "what if": what_if, "intervals": intervals, "data": data}


def main(arguments: list[str]) -> None:
    harness.parser("scale", __doc__).parse_args(arguments)
    for name, make_table in TABLES.items():
        print(f"{name}\n\n{make_table()}\n")
