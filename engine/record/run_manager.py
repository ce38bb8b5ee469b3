"""Which run starts, how each one stands, and which has crashed.

Everything here may wait for a disk or a process, so the window calls it in one thread of its own;
that thread alone changes states. What is new comes back as a list for the window to tell.
"""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from pydantic_core import from_json
from sqlalchemy.orm import Session

from engine.atomic_write import clear_leftovers
from engine.errors import StudioError
from engine.home import Home, free_folder
from engine.messages import now
from engine.messages.events import AnyEvent, Ended, Measured, Noted, Progressed, Started
from engine.record import rebuild
from engine.record.backups import back_up_daily
from engine.record.follow import catch_up, crash, take_in
from engine.record.opening import Record
from engine.record.runs import (
    RESUMABLE,
    WORKING,
    Run,
    add_run,
    all_runs,
    remove_run,
    runs_in,
)
from engine.record.runs import run as find
from engine.runs import launch
from engine.runs.branching import branch
from engine.runs.copying import copy_run
from engine.runs.folder import RunFolder
from engine.runs.groups import split
from engine.runs.standby import StandbyWorker
from engine.spec.job import JobSpec

SIGN_OF_LIFE = 60.0  # s that a started process may take to take the lock
REAPING = 1.0  # s that a process whose lock is free may take to leave its exit code
VECTORS = "vectors"  # in the cache of the home, a folder for each layer bench
PIECES = 8  # of one run's events in one look, so that no run waits for another

News = tuple[
    Literal["run_added", "run_changed", "run_removed", "measured", "progressed", "noted"],
    tuple[object, ...],
]


class RunManager:
    """The runs of one home. One thread at a time."""

    def __init__(self, record: Record, home: Home) -> None:
        self._record = record
        self._home = home
        self._workers: dict[str, subprocess.Popen[bytes]] = {}  # those that this process started
        self._leaving: list[subprocess.Popen[bytes]] = []  # those that are done, but still there
        self._spare: StandbyWorker | None = (
            None  # a worker that has loaded torch and has no run yet
        )
        self._silent_since: dict[str, float] = {}  # monotonic time, of runs that are starting
        self._ended_by_user: set[str] = set()
        self.is_behind = False  # more events wait to be read
        self.is_busy = False  # some run is not finished

    # ── looking ──────────────────────────────────────────────────────────────────────────────

    def first_look(self) -> None:
        """Correct the runs that only seem to be alive, quickly, before anybody sees them."""
        with self._record.read() as session:
            doubtful = [r for r in runs_in(session, WORKING) if not r.run_folder().has_worker()]
        for seen in doubtful:
            words = seen.run_folder().last_words()
            ends = [event for event in words if isinstance(event, Started | Ended)]
            with self._record.session() as session:
                run = find(session, seen.id)
                if run is None:
                    continue
                if ends and isinstance(ends[-1], Ended):
                    run.state = ends[-1].outcome
                elif run.state != "starting" or _launched_long_ago(run):
                    run.step = next(
                        (e.step for e in reversed(words) if isinstance(e, Measured)), run.step
                    )
                    crash(session, run, run.run_folder())

    def settle(self) -> list[News]:
        """Clear away what an interrupted copy left, list runs that are new, back up the record."""
        clear_leftovers(self._home.runs)
        self._clear_vectors()
        news: list[News] = []
        if self._record.set_aside is not None:
            text = (
                f"The record was damaged. It was kept as {self._record.set_aside.name}, and a new"
                " one was made from the folders of your runs."
            )
            news.append(("noted", ("", text)))
        found = rebuild.refill(self._record, self._home)
        news += [("run_added", (run_id,)) for run_id in found.added]
        news += [("noted", ("", problem)) for problem in found.problems]
        back_up_daily(self._record.path, self._home.backups)
        return news + self.look(everything=True)

    def _clear_vectors(self) -> None:
        """Delete the cached vectors of layer benches that no run will read any more."""
        with self._record.read() as session:
            runs = [*runs_in(session, ("queued", *WORKING, *RESUMABLE))]
        groups = {str((from_json(run.job).get("group") or {}).get("id")) for run in runs}
        cached = self._home.cache / VECTORS
        for folder in cached.iterdir() if cached.is_dir() else ():
            if folder.name not in groups:
                shutil.rmtree(folder, ignore_errors=True)

    def look(self, everything: bool = False) -> list[News]:
        """Follow the runs that work, judge those that are silent, and start what can start.

        `everything`: also runs that ended, which may have been resumed without the window.
        """
        news: list[News] = []
        self.is_behind = False
        with self._record.read() as session:
            runs = all_runs(session) if everything else runs_in(session, WORKING)
        for run in runs:
            news += self._follow(run)
        news += self._start_queued()
        with self._record.read() as session:
            self.is_busy = bool(runs_in(session, ("queued", *WORKING)))
        self._reap()
        return news

    def _follow(self, seen: Run) -> list[News]:
        """Read what one run said, and judge it where it is silent."""
        folder = seen.run_folder()
        held = seen.state in WORKING and folder.has_worker()  # before its lines are read
        if held:
            self._silent_since.pop(seen.id, None)
        news: list[News] = []
        changed = behind = False
        for _ in range(PIECES):
            if folder.events_size() == seen.bytes_read:
                break
            with self._record.session() as session:
                run = find(session, seen.id)
                if run is None:
                    return news
                before, events = run.bytes_read, catch_up(session, run, folder)
                seen = run
            if seen.bytes_read == before:
                break  # the last line is still being written
            changed = True
            news += _told(seen.id, events)
        else:
            behind = self.is_behind = True
        if seen.state in WORKING and not held and not behind:
            changed = self._judge_silent(seen, folder) or changed
        if changed:
            news.append(("run_changed", (seen.id,)))
        return news

    def _judge_silent(self, seen: Run, folder: RunFolder) -> bool:
        """Whether a run without a worker has crashed; then it is recorded."""
        worker = self._workers.get(seen.id)
        if seen.state == "starting" and (worker is None or worker.poll() is None):
            since = self._silent_since.setdefault(seen.id, time.monotonic())
            if time.monotonic() - since < SIGN_OF_LIFE:
                return False
        elif seen.state != "starting" and folder.has_worker():
            return False  # it took the lock just now
        exit_code = _exit_code(worker)
        with self._record.session() as session:
            run = find(session, seen.id)
            if run is None:
                return False
            while catch_up(session, run, folder):  # its last words, said after it was looked at
                session.flush()
            if run.state in WORKING:
                crash(session, run, folder, exit_code, seen.id in self._ended_by_user)
        self._silent_since.pop(seen.id, None)
        self._ended_by_user.discard(seen.id)
        return True

    def _reap(self) -> None:
        """Let go of the processes that have ended."""
        for run_id in [i for i, worker in self._workers.items() if worker.poll() is not None]:
            with self._record.read() as session:
                run = find(session, run_id)
            if run is None or run.state not in WORKING:
                del self._workers[run_id]
        self._leaving = [worker for worker in self._leaving if worker.poll() is None]
        if self._spare is not None and not self._spare.is_of_use():
            self.stand_down()

    # ── the queue ────────────────────────────────────────────────────────────────────────────

    def _start_queued(self) -> list[News]:
        """Start the runs whose device is free, one on each device, in the order of their making."""
        with self._record.read() as session:
            taken = {_device(run) for run in runs_in(session, WORKING)}
            queued = runs_in(session, ("queued",))
        news: list[News] = []
        for run in queued:
            device = _device(run)
            if not _is_taken(device, taken) and not run.run_folder().has_worker():
                self._launch(run)
                news.append(("run_changed", (run.id,)))
            taken.add(device)  # also by one that waits: nobody overtakes it
        return news

    def _launch(self, queued: Run) -> None:
        """Start a worker; the state is saved first, so that no worker is ever started twice."""
        with self._record.session() as session:
            run = find(session, queued.id)
            if run is None or run.state != "queued":
                return
            run.state, run.launched = "starting", now()
        if run.id in self._workers:
            self._leaving.append(self._workers.pop(run.id))
        try:
            self._workers[run.id] = self._given(run) or launch.start(run.folder)
        except StudioError as error:
            with self._record.session() as session:
                failed = find(session, queued.id)
                if failed is not None:
                    failed.state, failed.ended = "failed", now()
                    failed.problem, failed.advice = error.problem, error.advice

    def _given(self, run: Run) -> "subprocess.Popen[bytes] | None":
        """The spare worker, at work on a run; None where there is none, or where others are to do
        the work, whom it would start and not join.
        """
        if self._spare is None or from_json(run.job)["hardware"].get("processes", 1) > 1:
            return None
        spare, self._spare = self._spare, None
        return spare.give(run.folder)

    # ── what the user wants ──────────────────────────────────────────────────────────────────

    def stand_by(self) -> list[News]:
        """Have a spare worker for a run that may be started soon, unless others work now."""
        if self._spare is not None and self._spare.is_of_use():
            self._spare.want()
        elif not self.is_busy:
            self.stand_down()
            self._spare = StandbyWorker()
        return []

    def stand_down(self) -> list[News]:
        """End the spare worker, where there is one."""
        spare, self._spare = self._spare, None
        if spare is not None:
            spare.end()
        return []

    def add(self, job: JobSpec) -> list[str]:
        """Make a folder for each run of `job` and put them in the queue; gives their ids.

        Quick, and as its own transaction safe beside the thread that steers; all or none.
        """
        made: list[Path] = []
        try:
            with self._record.session() as session:
                ids = []
                for one in split(job, self._home.cache / VECTORS):
                    made.append(free_folder(self._home.runs, one.name))
                    ids.append(add_run(session, RunFolder.create(made[-1], one), one, "queued").id)
                return ids
        except BaseException:
            for path in made:
                shutil.rmtree(path, ignore_errors=True)
            raise

    def stop(self, run_id: str) -> list[News]:
        """Ask a run to save and end; one that waits in the queue just leaves it."""
        with self._record.session() as session:
            run = self._find(session, run_id)
            if run.state == "queued":
                run.state, run.ended = "stopped", now()
            elif run.state in WORKING:
                run.run_folder().ask_stop()
                run.state = "stopping" if run.state in ("running", "paused") else run.state
        return [("run_changed", (run_id,))]

    def resume(self, run_id: str) -> list[News]:
        """Put a run that ended before its time in the queue again: same folder, last checkpoint."""
        with self._record.session() as session:
            run = self._find(session, run_id)
            if run.state not in RESUMABLE:
                raise StudioError(
                    f"“{run.name}” cannot go on: it is {run.state}.",
                    "Only a run that was stopped, failed or crashed can.",
                )
            folder = run.run_folder()
            folder.job()
            folder.clear_stop()
            run.state = "queued"
            run.problem = run.advice = run.details = ""
        return [("run_changed", (run_id,)), *self._start_queued()]

    def end_now(self, run_id: str) -> list[News]:
        """Kill the worker of a run with all that it started; what it has not saved is lost."""
        with self._record.read() as session:
            run = self._find(session, run_id)
        self._ended_by_user.add(run_id)
        worker = self._workers.get(run_id)
        if not launch.stop_now(run.folder) and worker is not None and run.state == "starting":
            worker.kill()
        return self.look()

    def remove(self, run_id: str, to_trash: Callable[[Path], bool]) -> list[News]:
        """Forget a run and move its folder to the trash, or delete it where there is no trash."""
        with self._record.read() as session:
            run = self._find(session, run_id)
        if run.state in WORKING or run.run_folder().has_worker():
            raise StudioError(f"“{run.name}” is being trained.", "Stop it first, then remove it.")
        news: list[News] = [("run_removed", (run_id,))]
        if run.folder.exists() and not to_trash(run.folder):
            try:
                shutil.rmtree(run.folder)
            except OSError as error:
                raise StudioError(
                    f"Not all of {run.folder} could be deleted: {error.strerror or error}.",
                    "The run stays in the list; check who may write in that folder.",
                ) from error
            text = f"There is no trash here: the folder of “{run.name}” was deleted for good."
            news.append(("noted", (run_id, text)))
        with self._record.session() as session:
            remove_run(session, run_id)
        return news

    def copy(
        self, source: Path, report: Callable[[int, int], None], cancelled: Callable[[], bool]
    ) -> RunFolder:
        """Copy a run that was trained elsewhere into the home. May take long; in any thread."""
        return copy_run(source.absolute(), self._home.runs, report, cancelled)

    def adopt(self, folder: RunFolder, queued: bool = False) -> list[News]:
        """List a run that was copied into the home; one that is `queued` is trained."""
        with self._record.session() as session:
            run = take_in(session, folder, folder.job(), queued)
        return [("run_added", (run.id,)), *(self._start_queued() if queued else [])]

    def branch(self, run_id: str, step: int, job: JobSpec) -> RunFolder:
        """Make a run that begins with a checkpoint of another one. May take long; in any thread."""
        with self._record.read() as session:
            source = self._find(session, run_id).run_folder()
        return branch(source, step, job, free_folder(self._home.runs, job.name))

    def leave(self) -> None:
        """Let go of the workers: they train on after this process, all but a spare one."""
        self.stand_down()
        for worker in (*self._workers.values(), *self._leaving):
            launch.leave(worker)
        self._workers.clear()
        self._leaving.clear()

    def _find(self, session: Session, run_id: str) -> Run:
        run = find(session, run_id)
        if run is None:
            raise StudioError(
                "This run is not in the record any more.", "It may have been removed."
            )
        return run


def _told(run_id: str, events: Iterable[AnyEvent]) -> list[News]:
    """What the window hears of new events."""
    points = [event for event in events if isinstance(event, Measured)]
    news: list[News] = [("measured", (run_id, points))] if points else []
    stages = {e.stage: e for e in events if isinstance(e, Progressed)}
    news += [("progressed", (run_id, e.stage, e.done, e.total)) for e in stages.values()]
    news += [("noted", (run_id, e.text)) for e in events if isinstance(e, Noted)]
    return news


def _exit_code(worker: subprocess.Popen[bytes] | None) -> int | None:
    try:
        return None if worker is None else worker.wait(REAPING)
    except subprocess.TimeoutExpired:
        return None


def _launched_long_ago(run: Run) -> bool:
    if run.launched is None:
        return True
    return not 0 <= (now() - run.launched).total_seconds() <= SIGN_OF_LIFE


def _device(run: Run) -> str:
    """The device that a run has, or asks for as long as that is not known."""
    return (run.device or run.asked_device()).partition(":")[0]


def _is_taken(device: str, taken: set[str]) -> bool:
    """“auto” may turn out to be any device."""
    return device in taken or "auto" in taken or (device == "auto" and bool(taken))
