"""Time to open and to filter results of many rows in the window.

Opening ends when the list and the confusion matrix are painted, a filter (a click on a cell of the
matrix) when the list is. The window is offscreen; figures are the median and maximum of five, with
the CPU time of all threads.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks import harness
from benchmarks.harness import wait_until

if TYPE_CHECKING:
    from engine.results.predictions import Predictions

LABELS = ("negative", "positive", "mixed", "neither")
WORDS = ("a", "quiet", "wonder", "of", "film", "that", "never", "finds", "its", "feet", "dull")
REPEATS = 5
OPENING_LIMITS, FILTER_LIMIT = {100_000: 1.0, 1_000_000: 3.0}, 0.1  # s


def main(arguments: list[str]) -> None:
    parser = harness.parser("results", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    options = parser.parse_args(arguments)
    with harness.work_folder() as work, harness.offscreen_studio(work / "home") as studio:
        from engine.results.store import predictions_file

        for rows in options.rows:
            folder = work / str(rows)
            file = predictions_file(folder, "validation")
            make_predictions(rows).write(file)
            print(f"{rows:,} rows, {file.stat().st_size / 1e6:.0f} MB")
            measure(studio, folder, rows)


def make_predictions(rows: int) -> "Predictions":
    """Predictions of four classes, 85 % of them right, with texts of 20 words."""
    import pyarrow as pa

    from engine.config.dataset import Mapping
    from engine.results.predictions import PredictionInfo, Predictions

    rng = np.random.default_rng(0)
    gold = rng.integers(0, len(LABELS), rows)
    logits = rng.normal(size=(rows, len(LABELS)))
    logits[np.arange(rows), gold] += 2.2
    scores = np.exp(logits)
    scores = (scores / scores.sum(axis=1, keepdims=True)).astype(np.float32)
    predicted, labels = scores.argmax(axis=1), np.array(LABELS)
    texts = [f"{' '.join(rng.choice(WORDS, 20))} {row}" for row in range(rows)]
    info = PredictionInfo(
        task="text_classification",
        labels=LABELS,
        part="validation",
        source="benchmark",
        mapping=Mapping(text="text", label="label"),
        model="benchmark",
        made=datetime.now(UTC),
    )
    flat = pa.FixedSizeListArray.from_arrays(pa.array(scores.ravel()), len(LABELS))
    columns = {
        "row": np.arange(rows),
        "line": np.arange(rows) + 2,
        "gold": labels[gold],
        "predicted": labels[predicted],
        "probability": scores.max(axis=1),
        "loss": -np.log(scores[np.arange(rows), gold]),
        "score": (gold == predicted).astype(np.float32),
        "scores": flat.cast(pa.list_(pa.float32())),
    }
    return Predictions.from_columns(info, columns, {"text": texts, "label": labels[gold].tolist()})


def measure(studio: Any, folder: Path, rows: int) -> None:
    """Open and filter several times, and print medians."""
    opened, filtered = list[tuple[float, float]](), list[tuple[float, float]]()
    for _ in range(REPEATS):
        open_and_filter(studio, folder, rows, opened, filtered)
    for name, times, limit in (
        ("opened", opened, OPENING_LIMITS.get(rows)),
        ("filtered", filtered, FILTER_LIMIT),
    ):
        wall, cpu = zip(*times, strict=True)
        remark = "" if limit is None else f"; limit {limit:g} s"
        print(
            f"  {name} in {median(wall):.3f} s, at most {max(wall):.3f} s; "
            f"CPU {median(cpu):.3f} s{remark}"
        )


def open_and_filter(
    studio: Any,
    folder: Path,
    rows: int,
    opened: list[tuple[float, float]],
    filtered: list[tuple[float, float]],
) -> None:
    """Append (wall, CPU) seconds of one opening and two filters."""
    from app.results.evaluating import ResultsSource
    from app.results.view import ResultsView

    view = ResultsView(studio, ResultsSource(folder, lambda _: None, lambda _: None))
    view.resize(1000, 600)
    model, pictures = view.rows.model, view.pictures

    def until(is_done: Callable[[], bool]) -> None:
        wait_until(is_done, 60, pause=0)
        view.grab()

    def open_view() -> None:
        view.show()
        until(
            lambda: (
                model.rowCount() == rows
                and "confusion" in pictures.pictures
                and pictures.pictures["confusion"].matrix.confusion is not None
            )
        )

    def click(cell: tuple[int, int]) -> None:
        before = model.rowCount()
        pictures.pictures["confusion"].matrix.pressed.emit(cell)
        until(lambda: model.rowCount() != before)

    opened.append(harness.timed(open_view))
    filtered += [harness.timed(lambda cell=cell: click(cell)) for cell in ((0, 1), (2, 3))]
    view.hide()
    view.deleteLater()
