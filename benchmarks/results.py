"""How long the window takes to open and to filter the results of many rows.

    python3 benchmarks/results.py [--rows 100000 1000000]

Opening counts from the file to the list and the confusion matrix on the screen; a filter from a
click on a cell of the matrix to the list. The window is offscreen; each figure is the median of
five, and the largest. Seconds of the processor are those of all threads: where the machine is busy
with other things, they say more than the clock.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pyarrow as pa

from app.notices import Notices
from app.results.evaluating import ResultsOf
from app.results.view import ResultsView
from app.shell.opening import make_application
from app.studio import Studio
from engine.config.dataset import Mapping
from engine.files.home import Home
from engine.results.predictions import PredictionInfo, Predictions
from engine.results.store import predictions_file

LABELS = ("negative", "positive", "mixed", "neither")
WORDS = ("a", "quiet", "wonder", "of", "film", "that", "never", "finds", "its", "feet", "dull")
TEXT_WORDS = 20
TIMES = 5
PATIENCE = 60  # s
OPENING_BARS, FILTER_BAR = {100_000: 1.0, 1_000_000: 3.0}, 0.1  # s


def made(rows: int) -> Predictions:
    """Predictions of four classes, 85 % of them right, with texts of 20 words."""
    rng = np.random.default_rng(0)
    gold = rng.integers(0, len(LABELS), rows)
    logits = rng.normal(size=(rows, len(LABELS)))
    logits[np.arange(rows), gold] += 2.2
    scores = np.exp(logits)
    scores = (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)
    predicted, labels = scores.argmax(axis=1), np.array(LABELS)
    texts = [f"{' '.join(rng.choice(WORDS, TEXT_WORDS))} {row}" for row in range(rows)]
    facts = PredictionInfo(
        task="text_classification",
        labels=LABELS,
        part="validation",
        source="benchmark",
        mapping=Mapping(text="text", label="label"),
        model="benchmark",
        made=datetime.now(UTC),
    )
    flat = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), len(LABELS))
    record = {
        "row": np.arange(rows),
        "line": np.arange(rows) + 2,
        "gold": labels[gold],
        "predicted": labels[predicted],
        "probability": scores.max(axis=1),
        "loss": -np.log(scores[np.arange(rows), gold]),
        "score": (gold == predicted).astype(np.float32),
        "scores": flat.cast(pa.list_(pa.float32())),
    }
    return Predictions.of(facts, record, {"text": texts, "label": labels[gold].tolist()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    asked = parser.parse_args()
    app = make_application([])
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder) / "home")
        home.make()
        studio = Studio.open(home, Notices())
        for rows in asked.rows:
            place = Path(folder) / str(rows)
            file = predictions_file(place, "validation")
            made(rows).write(file)
            size = file.stat().st_size / 1e6
            print(f"{rows:,} rows, {size:.0f} MB")
            measure(studio, app.processEvents, place, rows)
        studio.close()


def measure(studio: Studio, turn: Callable[[], object], place: Path, rows: int) -> None:
    """Open and filter several times, and print how long it took."""
    opened: list[tuple[float, float]] = []
    filtered: list[tuple[float, float]] = []
    for _ in range(TIMES):
        once(studio, turn, place, rows, opened, filtered)
    bars = {"opened": OPENING_BARS.get(rows), "filtered": FILTER_BAR}
    for name, pairs in (("opened", opened), ("filtered", filtered)):
        wall, work = zip(*pairs, strict=True)
        bar = "" if bars[name] is None else f"; bar {bars[name]:g} s"
        print(
            f"  {name} in {median(wall):.3f} s, at most {max(wall):.3f} s; "
            f"of the processor {median(work):.3f} s{bar}"
        )


def once(
    studio: Studio,
    turn: Callable[[], object],
    place: Path,
    rows: int,
    opened: list[tuple[float, float]],
    filtered: list[tuple[float, float]],
) -> None:
    """Open once, and filter twice; seconds by the clock, and of the processor."""
    view = ResultsView(studio, ResultsOf(place, lambda _: None, lambda _: None))  # type: ignore[arg-type, return-value]
    view.resize(1000, 600)
    model, pictures = view.rows.model, view.pictures
    start = times()
    view.show()
    until(turn, lambda: model.rowCount() == rows and "confusion" in pictures.made)
    matrix = pictures.made["confusion"].matrix  # type: ignore[attr-defined]
    until(turn, lambda: matrix.confusion is not None)
    view.grab()
    opened.append(since(start))
    for cell in ((0, 1), (2, 3)):
        before = model.rowCount()
        start = times()
        matrix.pressed.emit(cell)
        until(turn, lambda before=before: model.rowCount() != before)
        view.grab()
        filtered.append(since(start))
    view.hide()
    view.deleteLater()
    turn()


def times() -> tuple[float, float]:
    return time.perf_counter(), time.process_time()


def since(start: tuple[float, float]) -> tuple[float, float]:
    wall, work = times()
    return wall - start[0], work - start[1]


def until(turn: Callable[[], object], is_so: Callable[[], bool]) -> None:
    """Let the window work until something holds."""
    end = time.perf_counter() + PATIENCE
    while not is_so():
        if time.perf_counter() > end:
            raise TimeoutError("the window did not come to its end")
        turn()


if __name__ == "__main__":
    main()
