"""Searches in the queue: prune poor runs, request the next combination, and clear ended searches.

The rules are those of `engine.runs.searching`; here they are applied to the runs of the record. The
worker with Optuna answers in the background.
"""

import subprocess
import threading
from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from engine.config.job import JobSpec
from engine.messages import now
from engine.messages.events import Ended, Measured
from engine.messages.question import Answer, Refused, parse_answer
from engine.messages.searching import Suggest, Suggested
from engine.phrases import phrase
from engine.record.metrics import get_values
from engine.record.opening import Record
from engine.record.run_watch import RunUpdate
from engine.record.runs import WAITING, Run, find_run
from engine.runs import launch, searching
from engine.runs.groups import expand_combination

MARK = '"search":{'  # in the job of a run of a search
ENDED = ("finished", "failed", "crashed", "stopped")


class Searches:
    """All searches of a home. Used by one thread of the process that starts the runs.

    Args:
        add: queues jobs, and returns the ids of their runs.
    """

    def __init__(self, record: Record, add: Callable[[Sequence[JobSpec]], list[str]]) -> None:
        self._record, self._add = record, add
        self._pending: set[str] | None = None  # ids of groups to check; None: all
        self._request: _Request | None = None
        self._failed: set[str] = set()  # groups for which the worker failed

    @property
    def is_busy(self) -> bool:
        """True while a next combination is requested or will be."""
        return self._request is not None or bool(self._pending)

    def follow(self, updates: Iterable[RunUpdate]) -> list[RunUpdate]:
        new_updates: list[RunUpdate] = []
        for update in updates:
            match update:
                case RunUpdate("measured", (str(run_id), points)):
                    new_updates += self._prune(run_id, points)  # type: ignore[arg-type]
                case RunUpdate("run_changed" | "run_added", (str(run_id),)):
                    self._mark_pending(run_id)
        return new_updates + self._check()

    def _mark_pending(self, run_id: str) -> None:
        with self._record.read() as session:
            run = find_run(session, run_id)
        group = get_group(run) if run is not None and run.state in ENDED else None
        if self._pending is not None and group is not None:
            self._pending.add(group)

    def _check(self) -> list[RunUpdate]:
        if self._request is not None:
            return self._apply_answer(self._request)
        if self._pending is None:
            self._pending = set(all_groups(self._record))
        updates: list[RunUpdate] = []
        while self._pending and self._request is None:
            group = self._pending.pop()
            if group not in self._failed:
                updates += self._continue(group)
        return updates

    def _continue(self, group: str) -> list[RunUpdate]:
        """Request the next combination of a search, or remove the rest of an ended one from the
        queue."""
        runs, higher = list_search_runs(self._record, group)
        if not runs:
            return []
        if (reason := searching.end_reason(runs, higher)) is not None:
            return self._clear(group, reason)
        if (question := searching.next_question(runs, higher)) is not None:
            self._request = _Request(group, question)
        return []

    def _clear(self, group: str, reason: str) -> list[RunUpdate]:
        problem = phrase("Not trained, because the search has ended: {why}.", why=reason)
        with self._record.session() as session:
            waiting = [run for run in _runs_in_group(session, group) if run.state in WAITING]
            for run in waiting:
                run.state, run.ended, run.problem = "stopped", now(), problem
        return [RunUpdate("run_changed", (run.id,)) for run in waiting]

    def _apply_answer(self, request: "_Request") -> list[RunUpdate]:
        if request.is_pending:
            return []
        self._request = None
        answer = request.answer
        if isinstance(answer, Refused):
            self._failed.add(request.group)
            return [RunUpdate("noted", ("", answer.phrase))]
        runs, higher = list_search_runs(self._record, request.group)
        is_new = searching.next_question(runs, higher) == request.question if runs else False
        if not isinstance(answer, Suggested) or answer.values is None or not is_new:
            return []
        job, group = runs[0].job, runs[0].job.group
        assert group is not None
        number = 1 + max(run.job.group.setting for run in runs if run.job.group is not None)
        group = group.model_copy(update={"optuna": answer.optuna})
        ids = self._add(expand_combination(job, group, number, answer.values))
        note = searching.version_note(runs, answer.optuna)
        notes = [RunUpdate("noted", ("", note))] if note is not None else []
        return notes + [RunUpdate("run_added", (run_id,)) for run_id in ids]

    def _prune(self, run_id: str, points: Sequence[Measured]) -> list[RunUpdate]:
        """Stop a run if the others of its search were better at the same evaluation."""
        with self._record.read() as session:
            run = find_run(session, run_id)
            if run is None or run.state != "running" or MARK not in run.job:
                return []
            scored = [point.step for point in points if point.name == run.best_metric]
            if not scored:
                return []
            job = run.readable_job()
            search = job.group.search if job is not None and job.group is not None else None
            if job is None or job.group is None or search is None or not search.prune:
                return []
            scores = _evaluations(session, run)
            finished = [
                _evaluations(session, other)
                for other in _runs_in_group(session, job.group.id)
                if other.state == "finished"
            ]
        reason = searching.pruning_reason(max(scored), scores, finished, run.higher_is_better)
        if reason is None or _was_pruned(run):
            return []
        run.run_folder().request_stop(reason)
        with self._record.session() as session:
            if (current := find_run(session, run_id)) is not None and current.state == "running":
                current.state = "stopping"
        return [RunUpdate("run_changed", (run_id,))]


class _Request:
    """A question to the worker with Optuna, and its answer, once received."""

    def __init__(self, group: str, question: Suggest) -> None:
        self.group, self.question = group, question
        self.answer: Answer | None = None
        self._thread = threading.Thread(target=self._ask, daemon=True)
        self._thread.start()

    @property
    def is_pending(self) -> bool:
        return self._thread.is_alive()

    def _ask(self) -> None:
        try:
            self.answer = _answer(self.question)
        except (OSError, ValueError) as error:
            reason = str(error)[:200]
            self.answer = Refused(
                problem=phrase(
                    "The next combination of a search could not be chosen: {error}", error=reason
                )
            )


def _answer(question: Suggest) -> Answer:
    """Ask the worker. Raises OSError or ValueError if it gives no answer."""
    process = subprocess.Popen(
        launch.worker(question.worker, "-"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=launch.CODE,
        env=launch.environment(),
    )
    with process:
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(question.line())
            process.stdin.flush()
            return parse_answer(process.stdout.readline(), question)
        finally:
            process.kill()


def get_group(run: Run) -> str | None:
    job = run.readable_job() if MARK in run.job else None
    return job.group.id if job is not None and job.group is not None else None


def all_groups(record: Record) -> list[str]:
    with record.read() as session:
        runs = session.scalars(select(Run).where(Run.job.contains(MARK, autoescape=True))).all()
    return list(dict.fromkeys(group for run in runs if (group := get_group(run)) is not None))


def has_pending(record: Record) -> bool:
    """True if some search needs its next combination."""
    return any(
        runs and searching.next_question(runs, higher) is not None
        for runs, higher in (list_search_runs(record, group) for group in all_groups(record))
    )


def list_search_runs(record: Record, group: str) -> tuple[list[searching.SearchRun], bool]:
    """The runs of a search, and whether a higher score is better."""
    with record.read() as session:
        runs = _runs_in_group(session, group)
        search_runs = [_search_run(session, run) for run in runs]
    higher = all(run.higher_is_better for run in runs if run.best_metric)
    return [run for run in search_runs if run is not None], higher


def _runs_in_group(session: Session, group: str) -> Sequence[Run]:
    condition = Run.job.contains(f'"id":"{group}"', autoescape=True)
    return session.scalars(select(Run).where(condition).order_by(Run.created, Run.id)).all()


def _search_run(session: Session, run: Run) -> searching.SearchRun | None:
    job = run.readable_job()
    if job is None or job.group is None or job.group.search is None:
        return None
    by_search = searching.is_by_search(run.problem)
    return searching.SearchRun(
        job=job,
        state=run.state,
        score=run.best_score,
        evaluations=tuple(_evaluations(session, run)) if by_search else (),
        seconds=run.seconds,
        by_search=by_search,
    )


def _evaluations(session: Session, run: Run) -> list[float | None]:
    scores = get_values(session, run.id, run.best_metric)
    return [scores[step] for step in sorted(scores)]


def _was_pruned(run: Run) -> bool:
    """True if the search has already stopped the run; a resumed run is not pruned again."""
    events = run.run_folder().milestones()
    return any(
        isinstance(event, Ended) and searching.is_by_search(event.problem) for event in events
    )
