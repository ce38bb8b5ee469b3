"""How long the next snapshot of a run takes in Explore: kept in memory, and not kept.

    python benchmarks/snapshots.py [--steps 12] [--sizes starter,base]

For each size a run folder with snapshots of random weights is made, and the questions of the panels
Words and Attention are asked of one snapshot after another, in this process, as the worker answers
them. Prints medians; the processor time hardly depends on what else the machine does.
"""

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROJECT = Path(__file__).parents[1]
sys.path.insert(0, str(PROJECT))

import torch  # noqa: E402

from engine.config.model import EncoderSpec  # noqa: E402
from engine.files.atomic_write import atomic_folder  # noqa: E402
from engine.files.shipped import starter_model, tiny_model  # noqa: E402
from engine.messages.explore.attention import Attend  # noqa: E402
from engine.messages.explore.fill_mask import FillMask  # noqa: E402
from engine.messages.question import Question  # noqa: E402
from engine.models import checkpoint  # noqa: E402
from engine.models.heads import Heads  # noqa: E402
from engine.models.network import Network  # noqa: E402
from engine.runs.folder import RunFolder  # noqa: E402
from engine.runs.snapshots import run_of, snapshot, snapshot_folders  # noqa: E402
from engine.tokenizers.tokenizer import Tokenizer  # noqa: E402
from engine.worker.context import WorkerContext  # noqa: E402
from engine.worker.explore import answer  # noqa: E402

BARS = {"starter": "≤ 500 and 100 ms", "base": "≤ 3 s, and it is said"}
BASE = {"layers": 12, "hidden_size": 768, "heads": 12, "intermediate_size": 3072}
TEXT = "the president spoke to the [MASK] of the united states in the city ."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--steps", type=int, default=12, help="snapshots of each run")
    parser.add_argument("--sizes", default="starter,base")
    parser.add_argument("--make", type=Path, help="make such a run here, and measure nothing")
    arguments = parser.parse_args()
    starter = checkpoint.load(starter_model())
    sizes = {
        "starter": starter.spec,
        "base": starter.spec.model_copy(update=BASE),
    }
    if arguments.make:
        make(arguments.make, sizes[arguments.sizes], starter.tokenizer, arguments.steps)
        return
    print("| network | snapshot | not kept | kept | their processor time | bars |")
    print("| --- | --- | --- | --- | --- | --- |")
    for size in arguments.sizes.split(","):
        with tempfile.TemporaryDirectory(prefix="bert-studio-snapshots-") as folder:
            run = make(Path(folder) / "run", sizes[size], starter.tokenizer, arguments.steps)
            print(row(size, run, Path(folder)))


def make(path: Path, spec: EncoderSpec, tokenizer: Tokenizer, steps: int) -> RunFolder:
    """A run folder with as many snapshots, and the settings of the run of Tiny."""
    run = RunFolder(path)
    network = Network(spec, Heads(mlm=True))
    half = checkpoint.HALF["float16"]
    with atomic_folder(run.snapshots) as inside:
        checkpoint.write_config(inside, network, tokenizer, (), half)
    tiny = run_of(tiny_model())
    assert tiny is not None
    shutil.copy(tiny.spec_file, run.spec_file)
    for step in range(steps):
        with torch.no_grad():
            next(network.parameters()).add_(0.001)
        with atomic_folder(snapshot(run, step)) as inside:
            checkpoint.write_weights(inside, checkpoint.finite_tensors(network, half))
    return run


def row(size: str, run: RunFolder, scratch: Path) -> str:
    """The times of the first and of the second way through the snapshots."""
    context = WorkerContext(scratch, lambda _: None)
    folders = snapshot_folders(run)
    ask(context, folders[0])  # loads libraries
    first = [timed(lambda f=folder: ask(context, f)) for folder in folders[1:]]
    held = context.models.snapshots.held
    second = [timed(lambda f=folder: ask(context, f, "a ")) for folder in held]
    bytes_ = (folders[0] / "model.safetensors").stat().st_size
    (wall, busy), (kept, kept_busy) = medians(first), medians(second)
    times = (
        f"{wall:,.0f} ms | {kept:,.0f} ms, {len(held)} kept | {busy:,.0f} and {kept_busy:,.0f} ms "
        f"| {BARS[size]}"
    )
    return f"| {size} | {bytes_ / 1e6:.0f} MB | {times} |"


def medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    """ms of the wall clock and of all threads together."""
    wall, busy = zip(*times, strict=True)
    return 1000 * statistics.median(wall), 1000 * statistics.median(busy)


def ask(context: WorkerContext, folder: Path, before: str = "") -> None:
    """What Words and Attention ask of 16 tokens."""
    asked: list[Question] = [
        FillMask(checkpoint=folder, text=before + TEXT, exact=False),
        Attend(checkpoint=folder, text=before + TEXT, exact=False),
    ]
    for question in asked:
        answer(question, context)


def timed(act: Callable[[], None]) -> tuple[float, float]:
    """Seconds of the wall clock, and of the processor in all threads."""
    began = time.perf_counter(), time.process_time()
    act()
    return time.perf_counter() - began[0], time.process_time() - began[1]


if __name__ == "__main__":
    main()
