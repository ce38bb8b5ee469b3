"""Follow runs: copy their new events to the record and the window, and notice dead workers."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from engine.messages import now
from engine.messages.events import AnyEvent, Ended, Measured, Noted, Started
from engine.phrases import phrase
from engine.record.follow import catch_up, record_crash, working_state
from engine.record.opening import Record
from engine.record.runs import WORKING, Annotations, Run, find_run, runs_in
from engine.record.workers import SILENCE, WorkerActivity, Workers
from engine.runs.folder import RunFolder
from engine.system.errors import explain_error

START_TIMEOUT = 60.0  # s until a started process must hold the lock
BUSY_STATES = ("running", "stopping")  # states with a busy worker
MAX_BATCHES_PER_RUN = 8  # of events in one round, so that no run waits for another


class RunUpdate(NamedTuple):
    """One signal of the dispatcher, to be emitted in the GUI thread."""

    signal: Literal[
        "run_added",
        "run_changed",
        "run_removed",
        "measured",
        "noted",
        "refused",
        "trashed",
        "ended",
    ]
    values: tuple[object, ...]


class Trashed(NamedTuple):
    """A run whose folder is in the trash, with its annotations."""

    name: str
    folder: Path  # original folder
    trash_path: Path
    annotations: Annotations


class RunEnd(NamedTuple):
    """The end of a working run; `score` is its best one, if any."""

    run_id: str
    name: str
    state: str  # “finished”, “failed”, “crashed”, “stopped”
    problem: str
    advice: str
    metric: str
    score: float | None
    by_user: bool  # requested by the user, so no notification
    folder: Path = Path()


class RunWatch:
    """Follows the folders of runs. One thread at a time."""

    def __init__(self, record: Record, workers: Workers) -> None:
        self._record = record
        self._workers = workers
        self._silent_since: dict[str, float] = {}  # monotonic time, of starting runs
        self._activity = WorkerActivity()
        self._force_stopped: set[str] = set()
        self._unreadable: dict[str, str] = {}  # by run id, why it cannot be followed
        self.is_behind = False  # more events wait to be read

    def correct_stale(self) -> None:
        """Quickly correct the runs that only seem to be alive, before they are shown."""
        with self._record.read() as session:
            doubtful = [run for run in runs_in(session, WORKING) if not _has_worker(run)]
        for run in doubtful:
            with suppress(OSError):  # reported when the run is followed
                self._correct(run)

    def _correct(self, stale: Run) -> None:
        last = stale.run_folder().last_events()
        ends = [event for event in last if isinstance(event, Started | Ended)]
        with self._record.session() as session:
            run = find_run(session, stale.id)
            if run is None:
                return
            if run.state == "starting" and run.run_folder().events_size() == run.bytes_read:
                run.state = "queued" if _launched_long_ago(run) else run.state
            elif ends and isinstance(ends[-1], Ended):
                run.state = ends[-1].outcome
            elif run.state != "starting" or _launched_long_ago(run):
                steps = (e.step for e in reversed(last) if isinstance(e, Measured))
                run.step = next(steps, run.step)
                record_crash(session, run, run.run_folder())

    def expect_crash(self, run_id: str) -> None:
        """Note that the user kills this run, so that its crash has a known cause."""
        self._force_stopped.add(run_id)

    def follow(self, runs: Sequence[Run]) -> list[RunUpdate]:
        """Read the new events of these runs, and find dead workers."""
        self.is_behind = False
        return [update for run in runs for update in self._follow_safely(run)]

    def _follow_safely(self, run: Run) -> list[RunUpdate]:
        """Follow one run; unreadable files are reported and do not affect other runs."""
        if run.state == "unreadable":
            return []
        try:
            updates = self._follow(run)
        except OSError as error:
            problem = explain_error(error)
            if problem is None:
                raise
            return self._set_problem(run.id, problem.problem, problem.advice)
        if run.id in self._unreadable:
            updates += self._set_problem(run.id, "", "")
        return updates

    def _set_problem(self, run_id: str, problem: str, advice: str) -> list[RunUpdate]:
        """Report once why a run cannot be followed, and clear it when it can."""
        before = self._unreadable.get(run_id, "")
        if problem == before:
            return []
        self._unreadable[run_id] = problem
        if not problem:
            del self._unreadable[run_id]
        with self._record.session() as session:
            run = find_run(session, run_id)
            if run is not None and (problem or run.problem == before):
                run.problem, run.advice = problem, advice
        return [RunUpdate("run_changed", (run_id,))]

    def _follow(self, stale: Run) -> list[RunUpdate]:
        folder = stale.run_folder()
        has_worker = stale.state in WORKING and folder.has_worker()  # before its lines are read
        if has_worker:
            self._silent_since.pop(stale.id, None)
        else:
            self._activity.discard(stale.id)
        run, updates, behind = self._read_events(stale, folder)
        if run is None:
            return updates
        self.is_behind = self.is_behind or behind
        changed = run.bytes_read != stale.bytes_read
        by_user = stale.state == "stopping" or stale.id in self._force_stopped
        if run.state in WORKING and not has_worker and not behind:
            changed = self._record_crash(run, folder) or changed
        elif has_worker:
            changed = self._check_response(run, folder) or changed
        if not changed:
            return updates
        return [*updates, RunUpdate("run_changed", (run.id,)), *self._detect_end(stale, by_user)]

    def _detect_end(self, stale: Run, by_user: bool) -> list[RunUpdate]:
        with self._record.read() as session:
            run = find_run(session, stale.id)
        if stale.state not in WORKING or run is None or run.state in WORKING:
            return []
        outcome = (run.problem, run.advice, run.best_metric, run.best_score)
        end = RunEnd(run.id, run.name, run.state, *outcome, by_user, run.folder)
        return [RunUpdate("ended", (end,))]

    def _check_response(self, stale: Run, folder: RunFolder) -> bool:
        """Record if a worker stopped or resumed responding; returns True for a change. It is never
        killed."""
        was_hung = stale.state == "not responding"
        if stale.state not in (*BUSY_STATES, "not responding"):
            return False
        if self._activity.is_silent(stale.id, folder) == was_hung:
            return False
        with self._record.session() as session:
            run = find_run(session, stale.id)
            if run is None or run.state != stale.state:
                return False
            if was_hung:
                run.state, run.problem, run.advice = working_state(folder), "", ""
            else:
                run.state = "not responding"
                run.problem = phrase("The training process is not responding.")
                run.advice = phrase(
                    "No activity for {seconds} seconds. Wait, or use “Force stop”: the steps "
                    "since the last checkpoint are then repeated.",
                    seconds=round(SILENCE),
                )
        return True

    def _read_events(
        self, stale: Run, folder: RunFolder
    ) -> tuple[Run | None, list[RunUpdate], bool]:
        """Return the updated run (None: removed), its updates, and whether more events wait."""
        updates: list[RunUpdate] = []
        run = stale
        for _ in range(MAX_BATCHES_PER_RUN):
            if folder.events_size() == run.bytes_read:
                return run, updates, False
            with self._record.session() as session:
                current = find_run(session, stale.id)
                if current is None:
                    return None, updates, False
                before, events = current.bytes_read, catch_up(session, current, folder)
                run = current
            if run.bytes_read == before:
                return run, updates, False  # the last line is still being written
            updates += _list_updates(run.id, events)
        return run, updates, True

    def _record_crash(self, stale: Run, folder: RunFolder) -> bool:
        """Record the crash, end or failed start of a run without a worker; returns True for a
        change."""
        if stale.state == "starting" and not self._workers.has_ended(stale.id):
            since = self._silent_since.setdefault(stale.id, time.monotonic())
            if time.monotonic() - since < START_TIMEOUT:
                return False
        elif stale.state != "starting" and folder.has_worker():
            return False  # it has just taken the lock
        exit_code = self._workers.exit_code(stale.id)
        with self._record.session() as session:
            run = find_run(session, stale.id)
            if run is None:
                return False
            while catch_up(session, run, folder):  # its last events, written after they were read
                session.flush()
            if run.state == "starting" and self._workers.get_process(run.id) is None:
                run.state = "queued"  # the process that was to start it died
            elif run.state in WORKING:
                record_crash(session, run, folder, exit_code, stale.id in self._force_stopped)
        self._silent_since.pop(stale.id, None)
        self._force_stopped.discard(stale.id)
        return True


def _has_worker(run: Run) -> bool:
    try:
        return run.run_folder().has_worker()
    except OSError:
        return False


def _launched_long_ago(run: Run) -> bool:
    if run.launched is None:
        return True
    return not 0 <= (now() - run.launched).total_seconds() <= START_TIMEOUT


def _list_updates(run_id: str, events: Iterable[AnyEvent]) -> list[RunUpdate]:
    points = [event for event in events if isinstance(event, Measured)]
    updates = [RunUpdate("measured", (run_id, points))] if points else []
    updates += [
        RunUpdate("noted", (run_id, event.text)) for event in events if isinstance(event, Noted)
    ]
    return updates
