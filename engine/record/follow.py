"""Copy the events of a run folder into the record.

The rows and the byte position in the events are saved in the same transaction, so that no event is
lost or counted twice, even if the program is killed.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import groupby, pairwise

from sqlalchemy.orm import Session

from engine.config.job import JobSpec
from engine.messages import now
from engine.messages.events import (
    AnyEvent,
    Branched,
    Ended,
    Measured,
    Noted,
    Prepared,
    Progressed,
    Removed,
    Saved,
    Started,
    Waiting,
)
from engine.phrases import phrase
from engine.record.checkpoints import add_saved, match_folders, remove_checkpoint
from engine.record.metrics import TIE_BREAKER, add_metrics, best_point
from engine.record.runs import MAX_REMARKS, WORKING, Run, State, add_run
from engine.runs.folder import RunFolder, checkpoint_step

BATCH_BYTES = 256 << 10  # per transaction, about 2,000 lines
MAX_GAP = timedelta(hours=1)  # between events; the machine slept during a longer gap
ZERO = timedelta()


def catch_up(session: Session, run: Run, folder: RunFolder) -> list[AnyEvent]:
    """Record the next batch of events and return it; call again until it is empty."""
    events = _record_next(session, run, folder)
    if any(isinstance(event, Ended) for event in events):
        match_folders(session, run.id, folder)
    return events


def _record_next(session: Session, run: Run, folder: RunFolder) -> list[AnyEvent]:
    events, offset = folder.events_after(run.bytes_read, BATCH_BYTES)
    if offset < run.bytes_read:
        run.remarks = []  # the file was replaced, and read from its start
    points: list[Measured] = []
    prepared = False
    state: State | None = None
    for kind, group_events in groupby(events, type):
        if kind is Measured:
            group: list[Measured] = list(group_events)  # type: ignore[arg-type]  # grouped by type
            points += group
            state = _apply_points(run, folder, group) or state
            continue
        prepared = prepared or kind is Prepared
        for event in group_events:
            state = _apply(session, run, folder, event) or state
    add_metrics(session, run.id, points)
    if prepared or {point.name for point in points} & {run.best_metric, TIE_BREAKER}:
        best = best_point(session, run.id, run.best_metric, run.higher_is_better)
        run.best_step, run.best_score = best if best is not None else (0, None)
    run.bytes_read = offset
    if state is not None:
        run.state = state
    return events


def record_folder(session: Session, folder: RunFolder, job: JobSpec, queued: bool = False) -> Run:
    """Record an existing run folder: all events, and its present state.

    A run that never started is queued only if `queued`; nothing is trained unasked.
    """
    run = add_run(session, folder, job, "queued" if queued else "stopped")
    has_worker = folder.has_worker()  # before the lines are read, so that no last event is missed
    with session.no_autoflush:  # no query below depends on the row of the run
        while _record_next(session, run, folder):
            pass
    if has_worker and run.state not in WORKING:
        run.state, run.launched = "starting", now()
    elif not has_worker and run.state in WORKING:
        record_crash(session, run, folder)
    match_folders(session, run.id, folder)
    return run


def record_crash(
    session: Session,
    run: Run,
    folder: RunFolder,
    exit_code: int | None = None,
    by_user: bool = False,
) -> None:
    """Record that the worker of `run` died without an Ended event.

    `exit_code` is minus the signal after a signal, and None if unknown.
    """
    match_folders(session, run.id, folder)
    saved = folder.checkpoint_folders()
    run.state, run.ended, run.bug = "crashed", run.heard or now(), False
    run.stage = ""
    run.problem = _cause(exit_code, by_user, run.step)
    run.advice = (
        phrase("Resume continues from step {saved:,}.", saved=checkpoint_step(saved[-1]))
        if saved
        else phrase("Resume starts from the beginning, because no checkpoint was saved.")
    )
    run.details = folder.log_end()


def _cause(exit_code: int | None, by_user: bool, step: int) -> str:
    if by_user:
        return phrase("You force-stopped the training process at step {step:,}.", step=step)
    match exit_code:
        case None:
            return phrase("The training process disappeared at step {step:,}.", step=step)
        case -9:
            return phrase(
                "The training process was killed by signal 9 at step {step:,}; perhaps memory ran"
                " out.",
                step=step,
            )
        case -4 | -6 | -7 | -8 | -11:
            return phrase(
                "The training process was killed by signal {exit_code} at step {step:,}; a library"
                " crashed.",
                exit_code=-exit_code,
                step=step,
            )
        case code if code < 0:
            return phrase(
                "The training process was killed by signal {code} at step {step:,}.",
                code=-code,
                step=step,
            )
        case code:
            return phrase(
                "The training process ended with exit code {code} at step {step:,}.",
                code=code,
                step=step,
            )


def _apply(session: Session, run: Run, folder: RunFolder, event: AnyEvent) -> State | None:
    if not isinstance(event, Started):
        run.seconds += _gap(run.heard or event.at, event.at).total_seconds()
    run.heard = event.at
    _follow_stage(run, event)
    new_state: State | None = None
    if run.problem and isinstance(event, Prepared | Progressed | Saved):
        run.problem = run.advice = ""  # the wait is over
        new_state = working_state(folder)
    match event:
        case Started():
            run.started, run.step = run.started or event.at, event.step
            run.ended = run.paced_from = None
            run.problem = run.advice = run.details = ""
            return working_state(folder)
        case Prepared():
            run.steps, run.examples, run.parameters = event.steps, event.examples, event.parameters
            run.device, run.threads, run.versions = event.device, event.threads, event.versions
            run.best_metric, run.higher_is_better = event.best_metric, event.higher_is_better
            if event.processes > 1:
                run.versions = {"processes": str(event.processes), **event.versions}
        case Saved():
            add_saved(session, run.id, folder, event)
        case Removed():
            remove_checkpoint(session, folder.checkpoint(event.step))
        case Noted():
            run.remarks = [*run.remarks, event.text][-MAX_REMARKS:]
        case Branched():
            run.remarks = [*run.remarks, event.sentence()][-MAX_REMARKS:]
        case Waiting():
            run.problem, run.advice = event.problem, event.advice
            return "paused"
        case Ended():
            run.step = max(run.step, event.step)  # a failed worker may not know its step
            run.ended, run.bug = event.at, event.bug
            run.problem, run.advice, run.details = event.problem, event.advice, event.details
            return event.outcome
    return new_state


def _apply_points(run: Run, folder: RunFolder, points: Sequence[Measured]) -> State | None:
    """Record points of curves, which most events are.

    Sets each field of the run only once, because SQLAlchemy tracks every assignment.
    """
    times = [point.at for point in points]
    elapsed = sum((_gap(*pair) for pair in pairwise((run.heard or times[0], *times))), ZERO)
    run.heard, run.seconds = times[-1], run.seconds + elapsed.total_seconds()
    _follow_stage(run, points[-1])
    if run.paced_from is None:
        run.paced_from, run.paced_step = points[0].at, points[0].step
    run.step = max(run.step, *(point.step for point in points))
    losses = [point.value for point in points if point.name == "loss"]
    if losses:
        run.loss = losses[-1]
    if not run.problem:
        return None
    run.problem = run.advice = ""  # the wait is over
    return working_state(folder)


def _follow_stage(run: Run, event: AnyEvent) -> None:
    """Keep the stage of work other than training until another event ends it."""
    match event:
        case Progressed(stage=stage, done=done, total=total) if not total or done < total:
            run.stage, run.stage_done, run.stage_total = stage, done, total
        case Noted() | Branched() | Removed():
            pass
        case _:
            run.stage, run.stage_done, run.stage_total = "", 0, 0


def working_state(folder: RunFolder) -> State:
    return "stopping" if folder.stop_requested() else "running"


def _gap(before: datetime, after: datetime) -> timedelta:
    """Time between two events, robust against clock changes."""
    return min(max(after - before, ZERO), MAX_GAP)
