"""Results from stored predictions: slices, and comparisons."""

import math
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from engine.cli.naming import find_run
from engine.cli.options import AsJson
from engine.cli.several import is_several, list_runs
from engine.config.dataset import SplitName
from engine.config.tasks import metric_text
from engine.results.comparing import Comparison, compare
from engine.results.conditions import CONDITIONS
from engine.results.intervals import Interval
from engine.results.predictions import Predictions, read_predictions
from engine.results.row_figures import text_columns
from engine.results.seeds import compare_runs
from engine.results.slices import MIN_ROWS, worst_slices
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from engine.system.terminal import echo, echo_json

MAX_FLIPS = 10  # printed rows of each kind of flip
MAX_TEXT = 80  # characters per printed row

Part = Annotated[SplitName, typer.Option(help="For a run folder: the part of the data set.")]


def slices(
    result: Annotated[
        Path,
        typer.Argument(help="A run by name or folder, or predictions.", callback=find_run),
    ],
    part: Part = "validation",
    min_rows: Annotated[
        int, typer.Option(min=2, help="Minimum number of rows of a slice.")
    ] = MIN_ROWS,
    as_json: AsJson = False,
) -> None:
    "Find slices in which the model is significantly worse."
    worst = find_slices(load_predictions(result, part), min_rows)
    if as_json:
        echo_json(worst)
        return
    echo(*slice_lines(worst))


def compare_results(
    first: Annotated[
        Path,
        typer.Argument(
            help="A run by name or folder, a folder of several seeds, or predictions.",
            callback=find_run,
        ),
    ],
    second: Annotated[
        Path, typer.Argument(help="Another run, over the same rows.", callback=find_run)
    ],
    part: Part = "validation",
    as_json: AsJson = False,
) -> None:
    """Compare two results over the same rows: the flipped rows, and the significance.

    Two jobs with several seeds are compared by a t-test over their runs.
    """
    if is_several(first) and is_several(second):
        _compare_seeds(first, second, as_json)
        return
    comparison = compare(load_predictions(first, part), load_predictions(second, part))
    if as_json:
        echo_json(_comparison_json(comparison))
        return
    echo(comparison.matching.sentence)
    for item in comparison.metrics if comparison.rows else ():
        sides = (metric_text(item.name, side.value) for side in (item.first, item.second))
        gap, low, high = (metric_text(item.name, end, "+") for end in item.difference)
        echo(f"{item.name}: {' and '.join(sides)}, difference {gap} ({low} to {high})")
    for title, rows in (("better", comparison.better), ("worse", comparison.worse)):
        echo(f"{title} in the second: {int(rows.sum())} rows")
        echo(*_flips(comparison, rows))
    echo(comparison.sentence)


def _compare_seeds(first: Path, second: Path, as_json: bool) -> None:
    comparison = compare_runs(list_runs(first), list_runs(second))
    metric, scores = comparison.metric, comparison.scores
    if as_json:
        ends = comparison.difference._asdict().items()
        bounds = {name: value if math.isfinite(value) else None for name, value in ends}
        echo_json({"metric": metric, "first": scores[0], "second": scores[1], "difference": bounds,
                  "claim": str(comparison.claim)})  # fmt: skip
        return
    for side, aggregate in zip(scores, comparison.aggregates, strict=True):
        text = partial(metric_text, metric)
        echo(f"{metric}: " + ", ".join(f"{text(side[seed])} (seed {seed})" for seed in side))
        if aggregate is not None and aggregate.deviation is not None:
            echo(f"  mean {text(aggregate.mean)} ± {text(aggregate.deviation)}")
    echo(comparison.claim)


def load_predictions(result: Path, part: SplitName) -> Predictions:
    """Stored predictions of a run folder, or in a file. Raises StudioError if there are none."""
    if result.is_dir():
        return read_predictions(predictions_file(RunFolder(result.absolute()).results, part))
    return read_predictions(result)


def find_slices(predictions: Predictions, min_rows: int = MIN_ROWS) -> dict[str, Any]:
    worst = worst_slices(predictions, min_rows=min_rows)
    return {
        "tried": worst.tried,
        "rows": worst.rows,
        "slices": [
            {
                "conditions": CONDITIONS.dump_python(item.conditions, mode="json"),
                "sentence": str(item.sentence),
                "rows": item.group.count,
                "score": _interval_facts(item.group.score),
                "elsewhere": _interval_facts(item.elsewhere),
                "p": item.p,
            }
            for item in worst.slices
        ],
    }


def slice_lines(worst: dict[str, Any]) -> list[str]:
    tested = f"{worst['tried']:,} slices of {worst['rows']:,} rows were tested"
    if not worst["slices"]:
        return [f"No significantly worse slice; {tested}."]
    return [
        *(f"{item['sentence']} (adjusted p = {item['p']:.2g})" for item in worst["slices"]),
        f"{tested}; at most 5 % of those above are expected to be chance.",
    ]


def _interval_facts(interval: Interval) -> dict[str, float | None]:
    """A figure and its interval; null if not finite."""
    return {n: v if math.isfinite(v) else None for n, v in interval._asdict().items()}


def _comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "rows": comparison.rows,
        "only_first": comparison.matching.only_first,
        "only_second": comparison.matching.only_second,
        "relabelled": comparison.matching.relabelled,
        "metrics": {
            metric.name: {
                "first": _interval_facts(metric.first),
                "second": _interval_facts(metric.second),
                "difference": _interval_facts(metric.difference),
            }
            for metric in (comparison.metrics if comparison.rows else ())
        },
        "better": _row_numbers(comparison, comparison.better),
        "worse": _row_numbers(comparison, comparison.worse),
        "mcnemar_p": comparison.mcnemar,
        "claim": str(comparison.sentence),
    }


def _row_numbers(comparison: Comparison, rows: NDArray[np.bool_]) -> list[int]:
    numbers: list[int] = (
        comparison.second.table["row"].to_numpy()[comparison.indices[1][rows]].tolist()
    )
    return numbers


def _flips(comparison: Comparison, rows: NDArray[np.bool_]) -> list[str]:
    lines = []
    shown = [side[rows][:MAX_FLIPS] for side in comparison.indices]
    first, second = (
        side.table.take(indices)
        for side, indices in zip((comparison.first, comparison.second), shown, strict=True)
    )
    texts = Predictions(comparison.second.info, second)
    for index in range(len(second)):
        text = " | ".join(str(texts.cells(name)[index]) for name in text_columns(texts))
        lines.append(
            f"  row {second['row'][index]}, true label {second['gold'][index]}: "
            f"{first['predicted'][index]} → {second['predicted'][index]}: {text[:MAX_TEXT]}"
        )
    return lines
