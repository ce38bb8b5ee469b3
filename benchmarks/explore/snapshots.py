"""Explore rows about the snapshots of a training run."""

import shutil
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import harness

if TYPE_CHECKING:
    from engine.config.model import EncoderSpec
    from engine.runs.folder import RunFolder
    from engine.tokenizers.tokenizer import Tokenizer
    from engine.worker.context import WorkerContext

LIMITS = {"starter": "≤ 500 and 100 ms", "base": "≤ 3 s, with a notice"}
WINDOW_LIMITS = (("starter", "≤ 500 ms", "≤ 100 ms"), ("base", "≤ 3 s, with a notice", "–"))
BASE = {"layers": 12, "hidden_size": 768, "heads": 12, "intermediate_size": 3072}
TEXT = "the president spoke to the [MASK] of the united states in the city ."
STEPS = 8  # snapshots of a run in the window


def main(arguments: list[str]) -> None:
    parser = harness.parser("explore snapshots", "Time to the next snapshot, by a worker's code.")
    parser.add_argument("--steps", type=int, default=12, help="snapshots of each run")
    parser.add_argument("--sizes", default="starter,base")
    options = parser.parse_args(arguments)
    print(harness.table_head("network", "snapshot", "not cached", "cached", "CPU time", "limits"))
    for size in options.sizes.split(","):
        with harness.work_folder() as folder:
            run = make(folder / "run", size, options.steps)
            harness.print_row(size, *measure(run, folder), LIMITS[size])


def make(path: Path, size: str, steps: int) -> "RunFolder":
    """A run of the starter's size, or of base size, with `steps` snapshots."""
    from engine.files.shipped import starter_model
    from engine.models import checkpoint

    starter = checkpoint.load(starter_model())
    spec = starter.spec.model_copy(update=BASE if size == "base" else {})
    return make_run(path, spec, starter.tokenizer, steps)


def make_run(path: Path, spec: "EncoderSpec", tokenizer: "Tokenizer", steps: int) -> "RunFolder":
    """A run folder with snapshots of random weights, and the job of the shipped Tiny run."""
    import torch

    from engine.files.atomic_write import atomic_folder
    from engine.files.shipped import tiny_model
    from engine.models import checkpoint
    from engine.models.heads import Heads
    from engine.models.network import Network
    from engine.runs.folder import RunFolder
    from engine.runs.snapshots import find_run, snapshot_folder

    run = RunFolder(path)
    network = Network(spec, Heads(mlm=True))
    half = checkpoint.HALF_DTYPES["float16"]
    with atomic_folder(run.snapshots) as inside:
        checkpoint.write_config(inside, network, tokenizer, (), half)
    tiny = find_run(tiny_model())
    assert tiny is not None
    shutil.copy(tiny.spec_file, run.spec_file)
    for step in range(steps):
        with torch.no_grad():
            next(network.parameters()).add_(0.001)
        with atomic_folder(snapshot_folder(run, step)) as inside:
            checkpoint.write_weights(inside, checkpoint.finite_tensors(network, half))
    return run


def measure(run: "RunFolder", scratch: Path) -> tuple[str, ...]:
    """Cells of the first and of the second pass through the snapshots."""
    from engine.runs.snapshots import snapshot_folders
    from engine.worker.context import WorkerContext

    context = WorkerContext(scratch, lambda _: None)
    folders = snapshot_folders(run)
    ask(context, folders[0])  # loads libraries
    first = [harness.timed(lambda f=folder: ask(context, f)) for folder in folders[1:]]
    cached = list(context.models.snapshots.folders)
    second = [harness.timed(lambda f=folder: ask(context, f, "a ")) for folder in cached]
    size = (folders[0] / "model.safetensors").stat().st_size
    (wall, cpu), (cached_wall, cached_cpu) = (
        [1000 * statistics.median(times) for times in zip(*both, strict=True)]
        for both in (first, second)
    )
    return (
        f"{size / 1e6:.0f} MB",
        f"{wall:,.0f} ms",
        f"{cached_wall:,.0f} ms, {len(cached)} cached",
        f"{cpu:,.0f} and {cached_cpu:,.0f} ms",
    )


def ask(context: "WorkerContext", folder: Path, before: str = "") -> None:
    """Ask what Words and Attention ask about 16 tokens."""
    from engine.messages.explore.attention import Attend
    from engine.messages.explore.fill_mask import FillMask
    from engine.worker.answerers import answer

    text = before + TEXT
    answer(FillMask(checkpoint=folder, text=text, exact=False), context)
    answer(Attend(checkpoint=folder, text=text, exact=False), context)


# ── in the window ────────────────────────────────────────────────────────────────────────────


def measure_window(bench: Any, folder: Path, sentence: Callable[..., None]) -> None:
    """Another step, from its key to the painted bars, not cached and cached."""
    for size, first_limit, cached_limit in WINDOW_LIMITS:
        harness.run_python("-m", "benchmarks", "explore", "make-run", folder / size, size, STEPS)
        state = open_run(bench, folder / size, sentence)
        first = next_steps(bench, state, range(1, STEPS))
        cached = next_steps(bench, state, [STEPS - 2, STEPS - 1] * 5)
        bench.row(f"next step of a training, {size}, not cached", f"{first:.0f} ms", first_limit)
        bench.row(f"next step of a training, {size}, cached", f"{cached:.0f} ms", cached_limit)


def open_run(bench: Any, run: Path, sentence: Callable[..., None]) -> Any:
    """State of the run's bar at its first snapshot, with the bars of a masked word."""
    page = bench.page
    first = min((run / "snapshots").glob("step-*"))
    page.bench.show_panel("words")
    bench.window.go("explore", {"model": str(first)})
    state = page.training_bar.state
    bench.until(lambda: state.snapshots is not None and first in state.snapshots.folders)
    sentence(bench, 16)
    bench.until(lambda: page.state.first.checkpoint == first and state.is_answered)
    return state


def next_steps(bench: Any, state: Any, numbers: Iterable[int]) -> float:
    """Median time to another step in ms."""
    times = []
    words = bench.page.bench.docks["words"].panel
    for number in numbers:
        answer = words._state.mask_queries[0].answer
        began = time.perf_counter()
        state.show(number)
        bench.until(
            lambda answer=answer: (
                words._state.mask_queries[0].answer is not answer and state.is_answered
            )
        )
        card = words.predictions.cards[0]
        bench.watch(card)
        card.update()
        bench.until_painted(card, 0)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)
