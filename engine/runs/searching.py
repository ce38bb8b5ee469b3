"""A search over several values: its combinations, their results, and its end.

The runs are its only storage. Each has the search in its group, so the search can be continued from
the runs: by a window, the queue runner, or a command in a folder.
"""

import math
import random
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, product

from pydantic import JsonValue, ValidationError

from engine.config.job import JobSpec, RunGroup
from engine.config.search import SEED, SearchField, SearchSpec, with_values
from engine.messages.events import Ended, Event, Measured, Prepared, Started
from engine.messages.searching import Suggest, Trial, TrialState
from engine.phrases import Phrase, phrase
from engine.runs.folder import RunFolder

Combination = dict[str, JsonValue]

PRUNED = "Pruned at step "  # beginning of the reason why a search stopped a run
STARTUP_RUNS = 5  # finished runs before the first is pruned, as in Optuna
MAX_FAILURES = 3  # combinations in a row after which the search ends
MAX_DRAWS = 50  # attempts to find a possible, new combination
MAX_GAP = 3600.0  # seconds between events; the machine slept during a longer gap


def is_by_search(problem: str) -> bool:
    """True if a run was stopped by its search, according to its problem."""
    return problem.startswith(PRUNED)


# ── the combinations ─────────────────────────────────────────────────────────────────────────


def get_seeds(job: JobSpec) -> tuple[int, ...]:
    """The seeds with which every combination of a job is trained."""
    for field in job.search.fields if job.search is not None else ():
        if field.path == SEED:
            if field.is_range:
                return tuple(range(int(field.low or 0), int(field.high or 0) + 1))
            return tuple(int(str(value)) for value in field.values)
    first = job.training.seed
    return tuple(range(first, first + job.training.seeds))


def first_combinations(job: JobSpec) -> list[Combination]:
    """The combinations known at the start; those that break a rule are left out.

    TPE starts with one; each further combination depends on the scores so far.
    """
    search = job.search
    assert search is not None
    if search.method == "grid":
        possible = (values for values in _grid(search) if is_possible(job, values))
        return list(islice(possible, search.limit))
    rng, settings = random.Random(job.training.seed), list[Combination]()
    limit = 1 if search.method == "tpe" else search.limit
    while len(settings) < limit:
        if (values := _draw(job, search, rng, settings)) is None:
            break
        settings.append(values)
    return settings


def _grid(search: SearchSpec) -> Iterable[Combination]:
    paths = [field.path for field in search.varied]
    for values in product(*(field.values for field in search.varied)):
        yield dict(zip(paths, values, strict=True))


def _draw(
    job: JobSpec, search: SearchSpec, rng: random.Random, tried: list[Combination]
) -> Combination | None:
    if not any(field.is_range for field in search.varied):
        remaining = [v for v in _grid(search) if v not in tried and is_possible(job, v)]
        return rng.choice(remaining) if remaining else None
    for _ in range(MAX_DRAWS):
        values = {field.path: _value(field, rng) for field in search.varied}
        if values not in tried and is_possible(job, values):
            return values
    return None


def _value(field: SearchField, rng: random.Random) -> JsonValue:
    if not field.is_range:
        return rng.choice(field.values)
    assert field.low is not None and field.high is not None, "checked by the job"
    ends = (math.log(field.low), math.log(field.high)) if field.log else (field.low, field.high)
    sample = rng.uniform(*ends)
    value = math.exp(sample) if field.log else sample
    if field.whole:
        return round(value)
    return min(max(float(f"{value:.3g}"), field.low), field.high)


def is_possible(job: JobSpec, values: Combination) -> bool:
    try:
        with_values(job, values)
    except ValidationError:
        return False
    return True


def get_values(job: JobSpec, search: SearchSpec) -> Combination:
    """The values of a run of a search for its fields, as in JSON."""
    raw = job.model_dump(mode="json")
    return {field.path: _value_at(raw, field.path, field) for field in search.varied}


def _value_at(raw: JsonValue, path: str, field: SearchField) -> JsonValue:
    """The value at a path; for a data set or model, the searched value it was made from."""
    for part in path.split("."):
        raw = raw.get(part) if isinstance(raw, dict) else None
    return next((value for value in field.values if _is_same(raw, value)), raw)


def _is_same(actual: JsonValue, value: JsonValue) -> bool:
    if isinstance(actual, dict) and isinstance(value, dict):
        return all(_is_same(actual.get(name), inner) for name, inner in value.items())
    return actual == value and isinstance(actual, bool) == isinstance(value, bool)


# ── their results ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class SearchRun:
    """A run of a search and its progress. `state` is the record's.

    `evaluations` are its scores on the validation rows, one after another; None if not finite.
    """

    job: JobSpec
    state: str
    score: float | None
    evaluations: tuple[float | None, ...] = ()
    seconds: float = 0.0
    by_search: bool = False  # it was pruned

    @property
    def has_ended(self) -> bool:
        """True if it will not continue; a run stopped by the user may be resumed."""
        return self.state in ("finished", "failed", "crashed", "unreadable") or self.is_pruned

    @property
    def is_pruned(self) -> bool:
        """True if the search has stopped it."""
        return self.state == "stopped" and self.by_search


def list_trials(runs: Sequence[SearchRun]) -> list[Trial]:
    """The combinations of these runs of one search, in the order in which they were tried."""
    by_setting: dict[int, list[SearchRun]] = {}
    for run in runs:
        assert run.job.group is not None
        by_setting.setdefault(run.job.group.setting, []).append(run)
    return [_trial(by_setting[number]) for number in sorted(by_setting)]


def _trial(runs: list[SearchRun]) -> Trial:
    group = runs[0].job.group
    assert group is not None and group.search is not None
    scores = [run.score for run in runs if run.state == "finished" and run.score is not None]
    state: TrialState = "running"
    if all(run.has_ended for run in runs):
        pruned = any(run.is_pruned for run in runs)
        state = "pruned" if pruned else "finished" if scores else "failed"
    return Trial(
        values=get_values(runs[0].job, group.search),
        state=state,
        score=statistics.fmean(scores) if scores else None,
        evaluations=next((run.evaluations for run in runs if run.is_pruned), ()),
    )


def best_trial(trials: Sequence[Trial], higher_is_better: bool) -> Trial | None:
    ended = [trial for trial in trials if trial.state == "finished" and trial.score is not None]
    sign = 1 if higher_is_better else -1
    return max(ended, key=lambda trial: sign * (trial.score or 0.0), default=None)


# ── the next run ─────────────────────────────────────────────────────────────────────────────


def end_reason(runs: Sequence[SearchRun], higher_is_better: bool) -> Phrase | None:
    """The reason why a search starts nothing more; None if it continues."""
    trials, search = list_trials(runs), _search(runs)
    if search.hours and sum(run.seconds for run in runs) >= 3600 * search.hours:
        return phrase("the {hours:g} hours of training are used up", hours=search.hours)
    ended = [trial for trial in trials if trial.state != "running"]
    best = best_trial(ended, higher_is_better) if search.stop_after else None
    if best is not None and len(ended) - 1 - ended.index(best) >= search.stop_after:
        return phrase("{n} combination(s) in a row were not better", n=search.stop_after)
    last = [trial.state for trial in ended[-MAX_FAILURES:]]
    if search.method == "tpe" and last == ["failed"] * MAX_FAILURES:
        return phrase("{n} combination(s) in a row failed", n=MAX_FAILURES)
    return None


def next_question(runs: Sequence[SearchRun], higher_is_better: bool) -> Suggest | None:
    """The question for the next combination, if one is needed now.

    None while a run is waiting, working, or stopped by the user, and if the search is over.
    """
    search = _search(runs)
    if search.method != "tpe" or not all(run.has_ended for run in runs):
        return None
    trials = list_trials(runs)
    if len(trials) >= search.limit or end_reason(runs, higher_is_better) is not None:
        return None
    return Suggest(
        job=runs[0].job,
        search=search,
        trials=tuple(trials),
        higher_is_better=higher_is_better,
        seed=_group(runs).seeds[0] if _group(runs).seeds else 0,
    )


def version_note(runs: Sequence[SearchRun], optuna: str) -> Phrase | None:
    """A sentence about a search that continues with another version of Optuna than its last run.

    Other versions draw other combinations from the same trials.
    """
    versions = [run.job.group.optuna for run in runs if run.job.group and run.job.group.optuna]
    if not versions or versions[-1] == optuna:
        return None
    return phrase(
        "The search “{name}” was under Optuna {old} and continues under {new}, so its next "
        "combinations may differ from those that {old} would have chosen.",
        name=_group(runs).name,
        old=versions[-1],
        new=optuna,
    )


def _group(runs: Sequence[SearchRun]) -> RunGroup:
    group = runs[0].job.group
    assert group is not None
    return group


def _search(runs: Sequence[SearchRun]) -> SearchSpec:
    search = _group(runs).search
    assert search is not None
    return search


# ── pruning ──────────────────────────────────────────────────────────────────────────────────


def best_score(scores: Sequence[float | None], higher_is_better: bool) -> float | None:
    """The best of the scores that are finite."""
    best = max if higher_is_better else min
    return best((score for score in scores if score is not None), default=None)


def pruning_reason(
    step: int,
    scores: Sequence[float | None],
    finished: Sequence[Sequence[float | None]],
    higher_is_better: bool,
) -> Phrase | None:
    """Reason for pruning a run at its last evaluation, as Optuna's MedianPruner decides, else None.

    The best score so far is compared with the median of the scores of finished runs at the same
    evaluation. A run without a finite score is pruned.

    Args:
        step: the step of the last evaluation.
        scores: of the run by evaluation; None if not finite.
        finished: scores of the finished runs of the search.
    """
    last = len(scores) - 1
    if last < 0 or len(finished) < STARTUP_RUNS:
        return None
    if (best := best_score(scores, higher_is_better)) is None:
        return phrase("Pruned at step {step:,}: its score is not a finite number.", step=step)
    at_step = [score for other in finished for score in other[last : last + 1] if score is not None]
    median = statistics.median(at_step) if at_step else best
    if not (best < median if higher_is_better else best > median):
        return None
    return phrase(
        "Pruned at step {step:,}: its best score of {score:.4g} is worse than {median:.4g}, the"
        " median of the other runs at this evaluation.",
        step=step,
        score=best,
        median=median,
    )


# ── runs without the record ─────────────────────────────────────────────────────────────────


def search_run(folder: RunFolder) -> tuple[SearchRun, bool]:
    """Read a run of a search, and whether a higher score is better; True if unknown."""
    metric, higher_is_better, state, problem = "", True, "", ""
    values: dict[int, float | None] = {}
    seconds, previous = 0.0, None
    for event in folder.all_events():
        if previous is not None and not isinstance(event, Started):
            seconds += min(max((event.at - previous).total_seconds(), 0.0), MAX_GAP)
        previous = event.at
        match event:
            case Started():
                state, problem = "running", ""
            case Prepared():
                metric, higher_is_better = event.best_metric, event.higher_is_better
            case Measured(name=name, step=step, value=value) if name == metric:
                values[step] = value
            case Ended():
                state, problem = event.outcome, event.problem
    scores = [values[step] for step in sorted(values)]
    run = SearchRun(
        job=folder.job(),
        state=state,
        score=best_score(scores, higher_is_better),
        evaluations=tuple(scores),
        seconds=seconds,
        by_search=is_by_search(problem),
    )
    return run, higher_is_better


def prune_handler(run: RunFolder, others: Sequence[SearchRun]) -> Callable[[Event], None]:
    """Event handler that asks a run to stop when its search prunes it."""
    finished = [other.evaluations for other in others if other.state == "finished"]
    metric, higher = "", True
    scores: list[float | None] = []

    def on_event(event: Event) -> None:
        nonlocal metric, higher
        if isinstance(event, Prepared):  # includes the evaluations before a resume
            metric, higher = event.best_metric, event.higher_is_better
            scores[:] = search_run(run)[0].evaluations
        if not isinstance(event, Measured) or event.name != metric:
            return
        scores.append(event.value)
        if (reason := pruning_reason(event.step, scores, finished, higher)) is not None:
            run.request_stop(reason)

    return on_event
