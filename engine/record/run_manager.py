"""The queue of runs, and the user's commands on runs.

All of this may wait for a disk or a process, so the window calls it in one worker thread, and only
that thread changes states. Changes are returned as a list of updates for the window.
"""

import itertools
import logging
import re
import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from pydantic_core import from_json
from sqlalchemy.orm import Session

from engine.config.changes import Change, as_text, changes
from engine.config.job import RUN_NAME_LENGTH, JobSpec
from engine.desktop.awake import Awake
from engine.desktop.preferences import RunPreferencesFile
from engine.errors import StudioError
from engine.files.atomic_write import clear_leftovers
from engine.files.home import Home, free_folder
from engine.messages import now
from engine.phrases import Phrase, phrase
from engine.record import rebuild
from engine.record.backups import back_up_daily, backup_date
from engine.record.follow import record_folder
from engine.record.follow_ups import LiveCurvesWriter, notify_ends
from engine.record.opening import Record
from engine.record.run_watch import RunUpdate, RunWatch, Trashed
from engine.record.runs import (
    RESUMABLE,
    WAITING,
    WORKING,
    Run,
    add_run,
    all_runs,
    annotate,
    export_annotations,
    find_run,
    remove_run,
    run_ids,
    run_names,
    runs_in,
    runs_named,
)
from engine.record.searches import MARK, Searches
from engine.record.workers import QueueRunner, Workers
from engine.runs import launch
from engine.runs.branching import branch
from engine.runs.copying import copy_run
from engine.runs.folder import RunFolder
from engine.runs.groups import expand
from engine.runs.lock import hold

log = logging.getLogger("studio")

NUMBERED = re.compile(r" \(\d+\)$")  # suffix of a numbered name
MAX_NAMED_CHANGES = 3
FEATURES_FOLDER = "features"  # in the cache of the home, a folder for each layer sweep


class RunManager:
    """The runs of one home. One thread at a time.

    Several processes may follow runs, but only the holder of the queue lock starts them.

    Args:
        runner: continues the queue when this process ends; without it, the queue then stops.
    """

    def __init__(self, record: Record, home: Home, runner: QueueRunner | None = None) -> None:
        self._record = record
        self._home = home
        self._runner = runner
        self._queue_lock = ExitStack()
        self._has_queue = False
        self._known: set[str] | None = None  # ids of the listed runs
        self.workers = Workers()
        self.awake = Awake()
        self._sleep_reported = False
        self._preferences = RunPreferencesFile(home.settings)
        self.watch = RunWatch(record, self.workers)
        self._live_curves = LiveCurvesWriter(home)
        self._searches = Searches(record, self._add)
        self.is_busy = False  # some run is not finished

    # ── states of runs ───────────────────────────────────────────────────────────────────────

    def settle(self) -> list[RunUpdate]:
        """Remove leftovers of an interrupted copy, list new runs, and back up the record."""
        clear_leftovers(self._home.runs)
        self._clear_features()
        updates: list[RunUpdate] = []
        if (repair := _describe_repair(self._record)) is not None:
            updates.append(RunUpdate("noted", ("", repair)))
        report = rebuild.refill(self._record, self._home)
        updates += [self._register(run_id) for run_id in report.added]
        updates += [RunUpdate("noted", ("", problem)) for problem in report.problems]
        back_up_daily(self._record.path, self._home.backups)
        return updates + self.refresh(everything=True)

    def _clear_features(self) -> None:
        """Delete the cached features of layer sweeps that no run will read any more."""
        with self._record.read() as session:
            runs = [*runs_in(session, (*WAITING, *WORKING, *RESUMABLE))]
        groups = {str((from_json(run.job).get("group") or {}).get("id")) for run in runs}
        cached = self._home.cache / FEATURES_FOLDER
        for folder in cached.iterdir() if cached.is_dir() else ():
            if folder.name not in groups:
                shutil.rmtree(folder, ignore_errors=True)

    def refresh(self, everything: bool = False) -> list[RunUpdate]:
        """Follow the working runs, notice crashes, and start queued runs.

        `everything`: also runs that ended, which may have been resumed without the window. Raises
        RecordMoved.
        """
        self._record.check_moved()
        with self._record.read() as session:
            runs = all_runs(session) if everything else runs_in(session, WORKING)
        updates = [*self._new_runs(), *self.watch.follow(runs)]
        updates += notify_ends(updates, self._home, self._preferences.get())
        if self.acquire_queue():
            live = self._preferences.get().live_curves
            following = [run for run in runs if run.state in WORKING]
            updates += self._live_curves.follow(following, updates, live)
            updates += self._searches.follow(updates)
        updates += self._start_queued()
        with self._record.read() as session:
            queued, working = runs_in(session, ("queued",)), runs_in(session, WORKING)
        self.is_busy = bool(queued or working or self._searches.is_busy)
        if working and self._preferences.get().keep_awake:
            self.awake.hold()
            if self.awake.problem and not self._sleep_reported:
                self._sleep_reported = True
                log.info("the system cannot be kept awake: %s", self.awake.problem)
        else:
            self.awake.release()
        if (queued or self._is_followed(working)) and self._runner is not None:
            self._runner.ensure()
        self.workers.reap(self._is_working)
        return updates

    def _is_followed(self, working: Sequence[Run]) -> bool:
        """True if the working runs must be followed even after this process ends."""
        preferences = self._preferences.get()
        has_followers = preferences.notify or preferences.on_end or preferences.keep_awake
        has_followers = has_followers or preferences.live_curves != "off"
        return any(has_followers or MARK in run.job for run in working)

    def _new_runs(self) -> list[RunUpdate]:
        with self._record.read() as session:
            ids = run_ids(session)
        new = ids - self._known if self._known is not None else set()
        self._known = ids
        return [RunUpdate("run_added", (run_id,)) for run_id in sorted(new)]

    def _register(self, run_id: str) -> RunUpdate:
        if self._known is not None:
            self._known.add(run_id)
        return RunUpdate("run_added", (run_id,))

    def acquire_queue(self) -> bool:
        """Become the process that starts runs, unless another one is; ends with `detach` or
        `release_queue`."""
        if not self._has_queue:
            others = StudioError("Another process starts the runs.")
            try:
                self._queue_lock.enter_context(hold(self._home.queue_lock, others, timeout=0.0))
                self._has_queue = True
            except StudioError as error:
                if error is not others:
                    raise
        return self._has_queue

    def release_queue(self) -> None:
        self._queue_lock.close()
        self._has_queue = False

    def _is_working(self, run_id: str) -> bool:
        with self._record.read() as session:
            run = find_run(session, run_id)
        return run is not None and run.state in WORKING

    # ── the queue ────────────────────────────────────────────────────────────────────────────

    def _start_queued(self) -> list[RunUpdate]:
        """Start queued runs on free devices in queue order, one per device or as many as the user
        prefers. Runs that wait for another run are skipped."""
        if not self.acquire_queue():
            return []
        limit = self._preferences.get().runs_per_device
        with self._record.read() as session:
            used = Counter(_device(run) for run in runs_in(session, WORKING))
            queued = runs_in(session, ("queued",))
        updates: list[RunUpdate] = []
        for run in queued:
            if (update := self._check_predecessor(run)) is not None:
                updates += update
                continue
            device = _device(run)
            # “auto” may become any device
            in_use = used.total() if device == "auto" else used[device] + used["auto"]
            starts = in_use < limit and not run.run_folder().has_worker()
            if starts:
                self._launch(run)
                updates.append(RunUpdate("run_changed", (run.id,)))
            used[device] += 1 if starts else limit  # later runs do not overtake it
        return updates

    def _check_predecessor(self, run: Run) -> list[RunUpdate] | None:
        """Return None if a run may start; if it waits for another one, the updates caused by that.

        If the other run has ended without finishing, this one is put on hold.
        """
        before_id = run.run_folder().waits_for()
        if not before_id:
            return None
        with self._record.read() as session:
            predecessor = find_run(session, before_id)
        if predecessor is not None and predecessor.state == "finished":
            return None
        if predecessor is not None and predecessor.state in (*WAITING, *WORKING):
            return []
        with self._record.session() as session:
            if (run_row := find_run(session, run.id)) is not None and run_row.state == "queued":
                run_row.state = "on hold"
                run_row.problem = phrase(
                    "Set to start after “{run}”, which has not finished.",
                    run=predecessor.name if predecessor is not None else before_id,
                )
                run_row.advice = phrase("Release it to start it without that run.")
        return [RunUpdate("run_changed", (run.id,))]

    def _launch(self, queued: Run) -> None:
        """Start a worker. The state is saved first, so that no worker is ever started twice."""
        with self._record.session() as session:
            run = find_run(session, queued.id)
            if run is None or run.state != "queued":
                return
            run.state, run.launched = "starting", now()
        try:
            self.workers.start(run)
        except StudioError as error:
            with self._record.session() as session:
                failed = find_run(session, queued.id)
                if failed is not None:
                    failed.state, failed.ended = "failed", now()
                    failed.problem, failed.advice = error.problem, error.advice

    # ── commands of the user ─────────────────────────────────────────────────────────────────

    def keep_standby(self) -> list[RunUpdate]:
        """Keep a standby worker for a run that may start soon, unless others work now."""
        self.workers.keep_standby(start_new=not self.is_busy)
        return []

    def end_standby(self) -> list[RunUpdate]:
        self.workers.end_standby()
        return []

    def add(self, job: JobSpec, after: str = "") -> list[str]:
        """Create and queue the runs of `job`; returns their ids.

        A duplicate name gets the settings that differ, or a number. `after`: the id of a run that
        must have finished before they start; “” for none. Fast, and safe in another thread than the
        managing one, as its own transaction; all or none.
        """
        with self._record.read() as session:
            renamed = _rename(job, session)
        return self._add(expand(renamed, self._home.cache / FEATURES_FOLDER), after)

    def _add(self, jobs: Sequence[JobSpec], after: str = "") -> list[str]:
        folders: list[Path] = []
        try:
            with self._record.session() as session:
                ids = []
                for job in jobs:
                    folders.append(free_folder(self._home.runs, job.name))
                    folder = RunFolder.create(folders[-1], job)
                    if after:
                        folder.wait_for(after)
                    ids.append(add_run(session, folder, job, "queued").id)
        except BaseException:
            for path in folders:
                shutil.rmtree(path, ignore_errors=True)
            raise
        for run_id in ids:
            self._register(run_id)
        return ids

    def stop(self, run_id: str) -> list[RunUpdate]:
        """Ask a run to save and end; a waiting one just leaves the queue."""
        with self._record.session() as session:
            run = self._find(session, run_id)
            if run.state in WAITING:
                run.state, run.ended = "stopped", now()
            elif run.state in WORKING:
                run.run_folder().request_stop()
                is_alive = run.state in ("running", "paused", "not responding")
                run.state = "stopping" if is_alive else run.state
        return [RunUpdate("run_changed", (run_id,))]

    def resume(self, run_id: str) -> list[RunUpdate]:
        """Queue a stopped or failed run again, in the same folder from its last checkpoint, or
        release one that is on hold."""
        with self._record.session() as session:
            run = self._find(session, run_id)
            if run.state == "queued" or run.state in WORKING:
                return []  # requested twice
            if run.state not in (*RESUMABLE, "on hold"):
                raise StudioError(
                    "“{run}” cannot be resumed.",
                    "Only a run that was stopped, failed or crashed can be resumed.",
                    run=run.name,
                )
            folder = run.run_folder()
            folder.job()
            folder.clear_stop()
            if run.state == "on hold" and run.problem:
                folder.wait_for("")  # the run it waited for has not finished
            run.state = "queued"
            run.problem = run.advice = run.details = ""
        return [RunUpdate("run_changed", (run_id,)), *self._start_queued()]

    def hold(self, run_id: str) -> list[RunUpdate]:
        """Keep a queued run from starting until it is resumed; the others continue."""
        with self._record.session() as session:
            run = self._find(session, run_id)
            if run.state == "queued":
                run.state = "on hold"
        return [RunUpdate("run_changed", (run_id,))]

    def start_next(self, run_ids: Sequence[str]) -> list[RunUpdate]:
        """Move waiting runs to the front of the queue, in the given order."""
        with self._record.session() as session:
            waiting = runs_in(session, WAITING)
            highest = max((run.priority for run in waiting), default=0)
            chosen = {run.id: run for run in waiting if run.id in run_ids}
            for offset, run_id in enumerate(reversed(run_ids), 1):
                if run_id in chosen:
                    chosen[run_id].priority = highest + offset
        return [RunUpdate("run_changed", (run_id,)) for run_id in chosen]

    def order(self, run_ids: Sequence[str]) -> list[RunUpdate]:
        """Reorder the waiting runs; those not given come last."""
        with self._record.session() as session:
            waiting = {run.id: run for run in runs_in(session, WAITING)}
            requested = [run_id for run_id in run_ids if run_id in waiting]
            ordered = [*requested, *(run_id for run_id in waiting if run_id not in requested)]
            for rank, run_id in enumerate(ordered):
                waiting[run_id].priority = len(ordered) - rank
        return [RunUpdate("run_changed", (run_id,)) for run_id in ordered]

    def start_after(self, run_ids: Sequence[str], before_id: str) -> list[RunUpdate]:
        """Start waiting runs only after another one has finished; “”: at any time.

        Raises StudioError if runs would wait for one another.
        """
        with self._record.read() as session:
            waiting = [run for run in runs_in(session, WAITING) if run.id in run_ids]
            before = self._find(session, before_id) if before_id else None
            seen = set[str]()
            while before is not None and before.id not in seen:
                seen.add(before.id)
                if before.id in run_ids:
                    raise StudioError(
                        "“{run}” cannot start after itself.",
                        "Choose a run that is not set to start after this one.",
                        run=before.name,
                    )
                before = find_run(session, before.run_folder().waits_for())
        for run in waiting:
            run.run_folder().wait_for(before_id)
        return [RunUpdate("run_changed", (run.id,)) for run in waiting]

    def force_stop(self, run_id: str) -> list[RunUpdate]:
        """Kill the worker of a run and its child processes; unsaved work is lost."""
        with self._record.read() as session:
            run = self._find(session, run_id)
        self.watch.expect_crash(run_id)
        if not launch.kill_worker(run.folder) and run.state == "starting":
            self.workers.kill(run_id)
        return self.refresh()

    def remove(
        self, run_ids: Sequence[str], to_trash: Callable[[Path], Path | None]
    ) -> list[RunUpdate]:
        """Remove runs and move their folders to the trash, or delete them if there is none.

        Failures are reported for each run; a run that is not listed counts as removed.
        """
        updates: list[RunUpdate] = []
        trashed: list[Trashed] = []
        for run_id in run_ids:
            with self._record.read() as session:
                run = find_run(session, run_id)
            if run is None:
                continue
            try:
                trash = self._to_trash(run, to_trash, updates)
            except StudioError as error:
                updates.append(RunUpdate("refused", (run_id, error)))
                continue
            with self._record.session() as session:
                remove_run(session, run_id)
            updates.append(RunUpdate("run_removed", (run_id,)))
            if trash is not None:
                annotations = export_annotations(run)
                annotations["archived"] = run.archived
                trashed.append(Trashed(run.name, run.folder, trash, annotations))
        return [*updates, RunUpdate("trashed", (tuple(trashed),))] if trashed else updates

    def _to_trash(
        self, run: Run, to_trash: Callable[[Path], Path | None], updates: list[RunUpdate]
    ) -> Path | None:
        """Return the path in the trash, or None if the folder is not there."""
        is_readable = run.state != "unreadable"
        if run.state in WORKING or (is_readable and run.run_folder().has_worker()):
            raise StudioError(
                "“{run}” is still being trained.", "Stop it first, then delete it.", run=run.name
            )
        if not run.folder.exists():
            return None
        if (trash := to_trash(run.folder)) is None:
            _delete(run.folder)
            text = phrase(
                "The system has no trash for this folder: “{run}” was deleted permanently.",
                run=run.name,
            )
            updates.append(RunUpdate("noted", ("", text)))
        return trash

    def restore(self, trashed: Sequence[Trashed]) -> list[RunUpdate]:
        """List runs again whose folders are back from the trash, with their annotations."""
        updates = []
        for item in trashed:
            folder = RunFolder(item.folder)
            with self._record.session() as session:
                run = record_folder(session, folder, folder.job())
                annotate(session, run.id, **item.annotations)
            updates.append(self._register(run.id))
        return updates

    def copy(
        self, source: Path, report: Callable[[int, int], None], cancelled: Callable[[], bool]
    ) -> RunFolder:
        """Copy a run that was trained elsewhere into the home. Slow; safe in any thread."""
        return copy_run(source.absolute(), self._home.runs, report, cancelled)

    def adopt(self, folder: RunFolder, queued: bool = False) -> list[RunUpdate]:
        """List a run that was copied into the home; train it if `queued`."""
        with self._record.session() as session:
            run = record_folder(session, folder, folder.job(), queued)
        return [self._register(run.id), *(self._start_queued() if queued else [])]

    def branch(self, run_id: str, step: int, job: JobSpec) -> RunFolder:
        """Create a run from a checkpoint of another one. Slow; safe in any thread."""
        with self._record.read() as session:
            source = self._find(session, run_id).run_folder()
            renamed = _rename(job, session)
        return branch(source, step, renamed, free_folder(self._home.runs, renamed.name))

    def detach(self) -> None:
        """Detach the workers: all but the standby one continue after this process.

        The queue runner continues the queue.
        """
        self.workers.detach()
        self.awake.release()
        self.release_queue()
        if self._runner is not None:
            self._runner.detach()

    def _find(self, session: Session, run_id: str) -> Run:
        run = find_run(session, run_id)
        if run is None:
            raise StudioError("This run is no longer listed.", "It may have been deleted.")
        return run


def _rename(job: JobSpec, session: Session) -> JobSpec:
    """Give the job a free name if one of its runs has the name of another.

    The settings that differ from that run are appended, as “Topics · Learning rate 3e-5”; a number
    if there are none, or if that name is used, too.
    """
    used, base = run_names(session), NUMBERED.sub("", job.name)
    namesakes = (run.readable_job() for run in runs_named(session, job.name))
    differences = (_label(changes(other, job)) for other in namesakes if other is not None)
    suffixes = (f" · {label}" for label in differences if label)
    numbers = (f" ({number})" for number in itertools.count(2))
    for suffix in itertools.chain(suffixes, numbers):
        if used.isdisjoint(member.name for member in expand(job)):
            break
        suffix = suffix[: RUN_NAME_LENGTH // 2]
        job = job.model_copy(update={"name": base[: RUN_NAME_LENGTH - len(suffix)] + suffix})
    return job


def _label(changed: Sequence[Change]) -> str:
    """The settings that differ, for a name; empty if a data set or a task differs, or many do."""
    changed = [change for change in changed if change.path != "training.seeds"]
    settings = [change for change in changed if change.path.startswith("training.")]
    is_short = len(settings) == len(changed) <= MAX_NAMED_CHANGES
    return " · ".join(f"{item.title} {as_text(item.new)}" for item in settings) if is_short else ""


def _describe_repair(record: Record) -> Phrase | None:
    """Describe what happened to the record before it was opened, and how it was repaired."""
    aside = record.set_aside.name if record.set_aside is not None else ""
    if record.restored is None:
        rebuilt = phrase(
            "The run database was damaged. It was kept as {set_aside}, and a new one was rebuilt"
            " from the folders of your runs.",
            set_aside=aside,
        )
        return rebuilt if aside else None
    day = backup_date(record.restored)
    if not aside:
        return phrase(
            "The run database was missing. Its backup of {day} was restored, and newer runs were"
            " added from their folders.",
            day=day,
        )
    return phrase(
        "The run database was damaged. It was kept as {set_aside}, its backup of {day} was"
        " restored, and newer runs were added from their folders.",
        set_aside=aside,
        day=day,
    )


def _delete(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise StudioError(
            "Not all of {folder} could be deleted: {strerror}.",
            "The run stays in the list. Check that you may write in that folder.",
            folder=folder,
            strerror=error.strerror or error,
        ) from error


def _device(run: Run) -> str:
    """The device of a run, or the requested one until that is known."""
    return (run.device or run.requested_device()).partition(":")[0]
