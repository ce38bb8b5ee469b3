"""Comparison of two jobs that ran with several seeds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.phrases import Phrase, phrase
from engine.results.comparing import compare_seeds
from engine.results.measures import main_metric
from engine.results.predictions import PredictionInfo, Predictions
from engine.results.significance import Difference, seeds_interval
from engine.results.store import stored_predictions
from engine.runs.folder import RunFolder
from engine.runs.groups import Aggregate, aggregate, best_metrics, comparable_job, last_outcome


@dataclass(frozen=True)
class SeedsComparison:
    """A metric of the validation rows at the best checkpoint of each finished run, by seed."""

    metric: str
    scores: tuple[Mapping[int, float], Mapping[int, float]]  # of both jobs
    difference: Difference
    claim: Phrase

    @property
    def aggregates(self) -> tuple[Aggregate | None, Aggregate | None]:
        """Mean and standard deviation of each side; None without finished runs."""
        first, second = (aggregate(list(side.values())) for side in self.scores)
        return first, second


def compare_runs(first: Sequence[RunFolder], second: Sequence[RunFolder]) -> SeedsComparison:
    """Compare the finished runs of two jobs. Raises StudioError if their tasks differ."""
    metric = _metric(first[0].job(), second[0].job())
    a, b = (_scores(runs, f"validation_{metric}") for runs in (first, second))
    difference, claim = compare_seeds(metric, a, b)
    return SeedsComparison(metric, (a, b), difference, claim)


def scores_like(runs: Iterable[RunFolder], shown: PredictionInfo, metric: str) -> dict[int, float]:
    """Score the best checkpoint of each run on the shown rows, by seed.

    Runs without scores for these rows are left out; empty if `shown` is from none of the runs.
    """
    scores: dict[int, float] = {}
    is_included = False
    for run in runs:
        for stored in stored_predictions(run.results):
            info = stored.info
            if stored.file.parent == run.results and _rows(info) == _rows(shown):
                is_included = is_included or info == shown
                if metric in info.metrics:
                    scores[run.job().training.seed] = info.metrics[metric]
    return scores if is_included else {}


def scores_by_seed(run: RunFolder, shown: Predictions) -> dict[int, float]:
    """`scores_like` of a run and of the runs in the same folder that differ only in the seed."""
    if not shown.is_labelled:
        return {}
    target = comparable_job(run.job())
    folders = (RunFolder(path) for path in sorted(run.path.parent.iterdir()))
    complete = (other for other in folders if other.spec_file.is_file() and other.results.is_dir())
    same = (other for other in complete if comparable_job(other.job()) == target)
    return scores_like(same, shown.info, main_metric(shown).name)


def mean_over_seeds(shown: Predictions, scores: Mapping[int, float]) -> str:
    """The mean of the main metric with its interval, in a sentence; empty for one seed."""
    if len(scores) < 2:
        return ""
    metric = main_metric(shown)
    mean = seeds_interval(list(scores.values()), metric.limits)
    return phrase(
        "Mean of {n} runs (seeds {seeds}): {metric} {mean}, 95 % interval {low} to {high}.",
        n=len(scores),
        seeds=", ".join(map(str, sorted(scores))),
        metric=metric.name,
        mean=metric.text(mean.value),
        low=metric.text(mean.low),
        high=metric.text(mean.high),
    )


def _rows(info: PredictionInfo) -> tuple[str, str]:
    return info.part, info.source


def _metric(job: JobSpec, other: JobSpec) -> str:
    """The metric that chose both best checkpoints, else the default of the task."""
    if job.task.kind != other.task.kind:
        raise StudioError(
            "The two jobs are of different tasks.", "Compare two jobs of the same task."
        )
    chosen = job.training.best_metric
    same = chosen if chosen == other.training.best_metric else ""
    return same or job.task.info.best_metric


def _scores(runs: Iterable[RunFolder], name: str) -> dict[int, float]:
    scores = {
        run.job().training.seed: best_metrics(run)[1].get(name)
        for run in runs
        if last_outcome(run) == "finished"
    }
    return {seed: score for seed, score in scores.items() if score is not None}
