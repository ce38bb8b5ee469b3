"""Train a job, or resume its run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from engine.cli import several
from engine.cli.options import Run
from engine.cli.progress import ProgressLine
from engine.desktop.awake import awake_while_training
from engine.files.home import Home
from engine.runs.folder import RunFolder
from engine.runs.groups import expand
from engine.runs.job_file import read_job
from engine.system.terminal import echo


def train(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    into: Annotated[Path, typer.Option(help="The run folder to create.")],
) -> int:
    """Train a job in a new run folder. Ctrl+C stops it and saves; `resume` resumes it.

    A job with several seeds, several values or a layer probing sweep gets a subfolder for each run,
    and a summary.json of all.
    """
    spec = read_job(job)
    (first, *others) = expand(spec)
    if others or spec.search is not None:
        return several.begin(spec, into.absolute())
    return _work(RunFolder.create(into.absolute(), first))


def resume(
    folder: Run,
    processes: Annotated[
        int | None,
        typer.Option(min=1, max=1024, help="Number of processes. Default: as in the job."),
    ] = None,
    changed_data: Annotated[
        bool,
        typer.Option(
            "--changed-data", help="Resume even if the data have changed since the last checkpoint."
        ),
    ] = False,
) -> int:
    """Resume a run that was stopped or killed, from its last checkpoint.

    In the folder of a job with several runs, the unfinished ones are resumed.
    """
    if several.is_several(folder):
        return several.resume(folder.absolute())
    run = RunFolder(folder.absolute())
    run.job()
    run.clear_stop()
    if changed_data:
        run.allow_changed_data()
    return _work(run, processes)


def _work(run: RunFolder, processes: int | None = None) -> int:
    from engine.worker.train import main as work

    with ProgressLine(sys.stderr, run) as line, awake_while_training(Home().settings):
        code = work(run.path, line.on_event, processes)
    echo(run.path)
    return code
