"""Scores of several runs on the same rows, with intervals and tests against the first one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from engine.config.dataset import SplitName
from engine.errors import StudioError
from engine.progress import ProgressCallback, no_progress
from engine.results.comparing import compare
from engine.results.intervals import Interval
from engine.results.measures import main_metric, main_score
from engine.results.predictions import Predictions, read_predictions
from engine.results.significance import benjamini_hochberg
from engine.results.store import stored_predictions
from engine.runs.folder import RunFolder

PARTS: tuple[SplitName, ...] = ("validation", "test", "train")


class ComparedRun(NamedTuple):
    """A compared run: its key, name and folder."""

    key: str
    name: str
    folder: Path


@dataclass(frozen=True)
class RunScore:
    """One run on one part of its data, compared with the first run that has a score there.

    `p` is from McNemar's exact test, corrected for the number of runs (Benjamini and Hochberg
    1995); None if rows are not right or wrong. `better` and `worse` count flipped rows. `problem`
    is the reason for a missing comparison.
    """

    run: ComparedRun
    file: Path
    metric: str
    score: Interval
    difference: Interval | None = None
    p: float | None = None
    better: int = 0
    worse: int = 0
    claim: str = ""
    problem: str = ""


def stored_parts(runs: Sequence[ComparedRun]) -> list[SplitName]:
    """The parts of data for which some run has predictions."""
    stored = {
        item.info.part for run in runs for item in stored_predictions(RunFolder(run.folder).results)
    }
    return [part for part in PARTS if part in stored]


def score_runs(
    runs: Sequence[ComparedRun],
    part: SplitName,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] = lambda: False,
) -> list[RunScore]:
    """Score the runs with predictions for `part`, in order; takes seconds for each.

    Only two results are in memory at a time. Empty if `cancelled`.
    """
    scored: list[RunScore] = []
    first: Predictions | None = None
    for index, run in enumerate(runs):
        progress(index, len(runs))
        if cancelled():
            return []
        stored = stored_predictions(RunFolder(run.folder).results)
        file = next((item.file for item in stored if item.info.part == part), None)
        if file is None:
            continue
        predictions = read_predictions(file)
        if not predictions.is_labelled:
            continue
        score = RunScore(run, file, main_metric(predictions).name, main_score(predictions))
        if first is None:
            first = predictions
        else:
            score = _compare_with(first, predictions, score)
        scored.append(score)
    progress(len(runs), len(runs))
    return _correct_p(scored)


def _compare_with(first: Predictions, second: Predictions, score: RunScore) -> RunScore:
    try:
        comparison = compare(first, second)
    except StudioError as error:
        return replace(score, problem=error.problem)
    if not comparison.rows:
        return replace(score, problem=str(comparison.sentence))
    metrics = comparison.metrics
    main = next((metric for metric in metrics if metric.name == score.metric), metrics[0])
    return RunScore(
        score.run,
        score.file,
        score.metric,
        score.score,
        main.difference,
        comparison.mcnemar,
        int(comparison.better.sum()),
        int(comparison.worse.sum()),
        comparison.sentence,
    )


def _correct_p(scores: Sequence[RunScore]) -> list[RunScore]:
    tested = {score.run.key: score.p for score in scores if score.p is not None}
    corrected = benjamini_hochberg(list(tested.values())).tolist() if tested else []
    by_run = dict(zip(tested, corrected, strict=True))
    return [replace(score, p=by_run.get(score.run.key)) for score in scores]
