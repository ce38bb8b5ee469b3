"""The runs of a search, read from their folders without the record."""

from collections.abc import Callable, Sequence

from engine.messages.events import Ended, Event, Measured, Prepared, Started
from engine.runs.folder import RunFolder
from engine.runs.searching import SearchRun, best_so_far, is_below_median, is_by_search, why_pruned

MAX_GAP = 3600.0  # s between two events; the machine slept during a longer gap


def search_run(folder: RunFolder) -> tuple[SearchRun, bool]:
    """Read a run of a search, and whether a higher score is better; True if unknown."""
    metric, higher, state, problem = "", True, "", ""
    values: dict[int, float] = {}
    seconds, before = 0.0, None
    for event in folder.all_events():
        if before is not None and not isinstance(event, Started):
            seconds += min(max((event.at - before).total_seconds(), 0.0), MAX_GAP)
        before = event.at
        match event:
            case Started():
                state, problem = "running", ""
            case Prepared():
                metric, higher = event.best_metric, event.higher_is_better
            case Measured(name=name, step=step, value=float(value)) if name == metric:
                values[step] = value
            case Ended():
                state, problem = event.outcome, event.problem
    scores = [values[step] for step in sorted(values)]
    best = best_so_far(scores, higher)
    run = SearchRun(
        job=folder.job(),
        state=state,
        score=best[-1] if best else None,
        evaluations=tuple(scores),
        seconds=seconds,
        by_search=is_by_search(problem),
    )
    return run, higher


def pruning(run: RunFolder, others: Sequence[SearchRun]) -> Callable[[Event], None]:
    """Event handler that asks a run to stop when its search prunes it."""
    ended = [other.evaluations for other in others if other.has_ended and other.evaluations]
    metric, higher = "", True
    own: list[float] = []

    def on_event(event: Event) -> None:
        nonlocal metric, higher
        if isinstance(event, Prepared):  # includes the evaluations before a resume
            metric, higher = event.best_metric, event.higher_is_better
            own[:] = search_run(run)[0].evaluations
        if not isinstance(event, Measured) or event.name != metric or event.value is None:
            return
        own.append(event.value)
        median = is_below_median(own, [best_so_far(o, higher) for o in ended], higher)
        if median is not None:
            run.ask_stop(why_pruned(event.step, best_so_far(own, higher)[-1], median))

    return on_event
