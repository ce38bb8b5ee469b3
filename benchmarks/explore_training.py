"""Rows of `benchmarks/explore.py` about the steps of a training, in the window."""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

STEPS = 8  # snapshots of each run
SIZES = (("starter", "≤ 500 ms", "≤ 100 ms"), ("base", "≤ 3 s, said", "–"))


def steps_of_training(bench: Any, folder: Path, sentence: Callable[..., None]) -> None:
    """Another step, from its key to the bars that are painted: not kept in memory, and kept."""
    for size, first_aim, kept_aim in SIZES:
        asked = ["--make", str(folder / size), "--sizes", size, "--steps", str(STEPS)]
        script = Path(__file__).with_name("snapshots.py")
        subprocess.run([sys.executable, str(script), *asked], check=True)
        state = arrived(bench, folder / size, sentence)
        first = timed(bench, state, range(1, STEPS))
        kept = timed(bench, state, [STEPS - 2, STEPS - 1] * 5)
        bench.row(f"next step of a training, {size}, not kept", f"{first:.0f} ms", first_aim)
        bench.row(f"next step of a training, {size}, kept", f"{kept:.0f} ms", kept_aim)


def arrived(bench: Any, run: Path, sentence: Callable[..., None]) -> Any:
    """The bar of the run, at its first snapshot, with the bars of a masked word."""
    page = bench.page
    first = min((run / "snapshots").glob("step-*"))
    page.bench.show_panel("words")
    bench.window.go("explore", {"model": str(first)})
    state = page.training_bar.state
    bench.until(lambda: state.moments is not None and first in state.moments.folders)
    sentence(bench, 16)
    bench.until(lambda: page.state.first.checkpoint == first and state.is_answered)
    return state


def timed(bench: Any, state: Any, numbers: Iterable[int]) -> float:
    """ms in the median."""
    times = []
    words = bench.page.panels["words"]
    for number in numbers:
        answer = words._state.query.answer
        began = time.perf_counter()
        state.go(number)
        bench.until(
            lambda answer=answer: words._state.query.answer is not answer and state.is_answered
        )
        card = words.predictions.cards[0]
        bench.watch(card)
        card.update()
        bench.until_painted(card, 0)
        times.append((time.perf_counter() - began) * 1000)
    return statistics.median(times)
