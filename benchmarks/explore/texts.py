"""Explore rows over many texts: head statistics, importance and the map."""

import random
import time
from typing import Any

import numpy as np

from benchmarks import harness
from engine.files.shipped import sample_data

ROWS, IMPORTANT, PLACED, TSNE = 872, 128, 2_000, 1_000
EARLY_TEXTS = 100  # texts after which means should be close to the final ones
PCA = """
import time, numpy as np
from engine.explore.text_map import pca
vectors = np.random.default_rng(0).normal(size=({count}, 768))
pca(vectors[:10])
began = time.perf_counter()
pca(vectors)
print(time.perf_counter() - began)
"""
WORDS = 23  # of a text: 25 tokens with the special ones
IDLE_SECONDS = 3.0  # s before the button is pressed, in which a worker loads torch


def measure(bench: Any) -> None:
    """Each from the button to the last number on the screen."""
    heads, place = bench.page.bench.docks["heads"].panel, bench.page.bench.docks["map"].panel
    sentences = make_sentences(PLACED)
    bench.page.bench.show_panel("heads")
    choose(bench, sentences[:ROWS])
    heads._state.choose_method("patterns")
    early: list[dict[str, np.ndarray]] = []
    state = heads._state
    connection = state.changed.connect(
        lambda: (
            early.append(dict(state._columns))
            if not early and state.counted is not None and state.counted.done >= EARLY_TEXTS
            else None
        )
    )
    first, seconds = timed(bench, state, state.count)
    state.changed.disconnect(connection)
    bench.row(f"heads in {ROWS} texts, 25 tokens: all", f"{seconds:.1f} s", "≤ 60 s")
    bench.row("… first numbers", f"{first:.1f} s", "≤ 5 s")
    bench.row(f"… after {EARLY_TEXTS} texts from all", deviation(early[0], state._columns), "≤ 5 %")
    choose(bench, sentences[:IMPORTANT])
    heads._state.choose_method("importance")
    seconds = timed(bench, heads._state, heads._state.count)[1]
    bench.row(f"importance of all heads, {IMPORTANT} texts", f"{seconds:.1f} s", "≤ 20 s")
    heads._state.choose_method("each")
    seconds = timed(bench, heads._state, heads._state.count)[1]
    bench.row(f"each head off, {IMPORTANT} texts", f"{seconds / 60:.1f} min", "≤ 8 min")
    bench.page.bench.show_panel("map")
    choose(bench, sentences)
    seconds = timed(bench, place._state, place._state.compute)[1]
    bench.row(f"vectors of {PLACED} texts at all layers", f"{seconds:.1f} s", "≤ 90 s")
    seconds = timed(bench, place._state, lambda: place._state.set(layer=6))[1]
    bench.row("… PCA at another layer, with the start of its process", f"{seconds:.1f} s", "–")
    bench.row(f"PCA of {PLACED} vectors of 768", f"{pca_seconds():.2f} s", "≤ 1 s")
    choose(bench, sentences[:TSNE])
    timed(bench, place._state, place._state.compute)
    seconds = timed(bench, place._state, lambda: place._state.set(method="tsne"))[1]
    bench.row(f"t-SNE of {TSNE} texts, with the start of its process", f"{seconds:.1f} s", "≤ 20 s")


def deviation(early: dict[str, np.ndarray], final: dict[str, np.ndarray]) -> str:
    """Deviation of early head statistics from the final ones.

    The maximum over heads, in percentage points for fractions of attention and relative for the
    others; and the median and 95th percentile of all relative deviations.
    """
    names = [name for name in final if name in early and name != "offset"]
    errors = {name: np.abs(early[name][0] - final[name][0]) for name in names}
    relative = {name: errors[name] / np.maximum(np.abs(final[name][0]), 1e-3) for name in names}
    wide = ("entropy", "uniformity", "distance")
    most = 100 * max(relative[name].max() for name in wide)
    points = 100 * max(errors[name].max() for name in names if name not in wide)
    deviations = np.concatenate([relative[name].ravel() for name in names])
    return (
        f"entropy and distance {most:.1f} %, fractions {points:.1f} points at most; "
        f"relative {100 * np.median(deviations):.1f} % in the median, "
        f"{100 * np.percentile(deviations, 95):.1f} % at most in 95 %"
    )


def pca_seconds() -> float:
    """Time of PCA in a separate process, since the window loads no NumPy engine."""
    return float(harness.run_python("-c", PCA.format(count=PLACED)))


def make_sentences(count: int) -> list[str]:
    """Random texts of equal length from the words of the sample."""
    words = sorted(set(sample_data().read_text(encoding="utf-8").lower().split()))
    plain = [word for word in words if word.isalpha()]
    rng = random.Random(7)
    return [" ".join(rng.choices(plain, k=WORDS)) for _ in range(count)]


def choose(bench: Any, sentences: list[str]) -> None:
    """Type these texts and wait `IDLE_SECONDS`."""
    bench.page.bench.docks["texts"].panel.typed.setPlainText("\n".join(sentences))
    explore = bench.page.state
    bench.until(
        lambda: (
            explore.chosen is not None
            and [text.text for text in explore.chosen.texts.typed] == sentences
        )
    )
    began = time.perf_counter()
    bench.until(lambda: time.perf_counter() - began > IDLE_SECONDS)


def timed(bench: Any, state: Any, start: Any) -> tuple[float, float]:
    """Seconds until the first and until all numbers."""
    first: list[float] = []
    began = time.perf_counter()
    connection = state.work.told.connect(lambda _: first.append(time.perf_counter() - began))
    start()
    end = began + 3600
    while state.work.is_running and time.perf_counter() < end:
        bench.app.processEvents()
        time.sleep(0.02)  # leaves the CPU to the worker
    state.work.told.disconnect(connection)
    if state.work.problem or not first:
        raise SystemExit(state.work.problem or "No numbers came.")
    return first[0], time.perf_counter() - began
