"""`bert-studio queue`: add runs to the queue of a home folder; they need no window."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json

from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.files.home import Home
from engine.record.opening import Record, open_record
from engine.record.run_manager import RunManager
from engine.record.runner import has_work
from engine.record.runs import WORKING, Run, all_runs, runs_in
from engine.record.searches import get_group, has_pending
from engine.record.workers import QueueRunner
from engine.runs.job_file import read_job
from engine.runs.lock import is_held
from engine.runs.searching import is_by_search
from engine.system.terminal import echo
from engine.visible import visible

POLL_SECONDS = 0.5  # between checks of the runs
FINISHED = "finished"


def queue(
    jobs: Annotated[
        list[Path] | None, typer.Argument(help="Job files to add to the queue.")
    ] = None,
    after: Annotated[
        str | None,
        typer.Option(
            help="Start the added runs only after the run with this name or folder has finished."
        ),
    ] = None,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="Wait until all runs have ended; exit 1 if one did not finish."
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the queue as JSON.")] = False,
) -> None:
    """Add jobs to the queue, start the queue if it is idle, and list its runs.

    The runs start one after another in the background, also without a window and a terminal.
    """
    home = Home()
    specs = [read_job(file) for file in jobs or ()]  # read all before any is added
    home.make()
    record = open_record(home.record, home.backups)
    try:
        ids = _enqueue(record, home, specs, _find_run_id(record, after) if after else "")
        with record.read() as session:
            listed = [run for run in all_runs(session) if run.id in ids]
        _print_runs(listed, as_json)
        if wait and not _all_finished(record, ids):
            raise StudioError(
                "Not every run has finished.",
                "The log of a run in {folder} says why.",
                folder=home.runs,
            )
    finally:
        record.close()


def _find_run_id(record: Record, name: str) -> str:
    """The id of the newest run with this name or id. Raises StudioError if there is none."""
    with record.read() as session:
        result = next((run for run in all_runs(session) if name in (run.id, run.name)), None)
    if result is None:
        raise StudioError(
            "There is no run {given}.",
            "Use a name that `bert-studio queue` lists.",
            given=name[-200:],
        )
    return result.id


def _enqueue(record: Record, home: Home, jobs: Sequence[JobSpec], after: str) -> set[str]:
    """Add jobs, start a runner unless a window has one, and return the ids of all unfinished runs.

    `after`: id of the run that must finish before the new ones start; “”: none.
    """
    manager = RunManager(record, home)
    for job in jobs:
        manager.add(job, after)
    with record.read() as session:
        ids = {run.id for run in runs_in(session, ("queued", *WORKING))}
    if has_work(record) and not is_held(home.lock):
        runner = QueueRunner(home)
        runner.ensure()
        runner.detach()
    return ids


def _print_runs(runs: Sequence[Run], as_json: bool) -> None:
    if as_json:
        records = [
            {"id": run.id, "name": run.name, "state": run.state, "folder": str(run.folder)}
            for run in runs
        ]
        sys.stdout.write(to_json(records, indent=2).decode() + "\n")
        return
    for run in runs:
        echo(f"{run.state}: {visible(run.name)}")
    if not runs:
        echo("The queue is empty.")


def _all_finished(record: Record, ids: set[str]) -> bool:
    """Wait until these runs and their searches have ended; True if all finished.

    A run that was stopped by its search counts as finished.
    """
    while True:
        with record.read() as session:
            runs = all_runs(session)
        groups = {get_group(run) for run in runs if run.id in ids} - {None}
        selected = [run for run in runs if run.id in ids or get_group(run) in groups]
        if not {run.state for run in selected} & {"queued", *WORKING} and not has_pending(record):
            return all(run.state == FINISHED or is_by_search(run.problem) for run in selected)
        time.sleep(POLL_SECONDS)
