"""Jobs without a window: train one, resume its run."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from engine.cli import several
from engine.cli.progress import ProgressLine
from engine.errors import StudioError
from engine.phrases import phrase
from engine.regular_file import read_regular
from engine.runs.folder import RunFolder
from engine.runs.groups import expand
from engine.spec.job import JobSpec
from engine.terminal import say
from engine.validation import describe_validation


def train(
    job: Annotated[Path, typer.Argument(help="The job file.")],
    into: Annotated[Path, typer.Option(help="The run folder to create.")],
) -> int:
    """Train a job in a new run folder. Ctrl+C stops it and saves; `resume` resumes it.

    A job with several seeds, or a layer probing sweep, gets a folder for each run in it, and a
    summary.json of all.
    """
    wanted = given_job(job)
    (one, *others) = expand(wanted)
    if others:
        return several.begin(wanted, into.absolute())
    return _work(RunFolder.create(into.absolute(), one))


def resume(
    folder: Annotated[Path, typer.Argument(help="The run folder.")],
    processes: Annotated[
        int | None, typer.Option(min=1, help="Use another number of processes than the job.")
    ] = None,
    changed_data: Annotated[
        bool,
        typer.Option(
            "--changed-data", help="Even if the data have changed since the last checkpoint."
        ),
    ] = False,
) -> int:
    """Resume a run that was stopped or killed, from its last checkpoint.

    In the folder of a job with several runs, those that are not finished are resumed.
    """
    if several.is_several(folder):
        return several.resume(folder.absolute())
    run = RunFolder(folder.absolute())
    run.job()
    run.clear_stop()
    if changed_data:
        run.allow_changed_data()
    return _work(run, processes)


def given_job(file: Path) -> JobSpec:
    """The job in a file, its relative paths taken from where the file lies."""
    try:
        job = JobSpec.model_validate_json(read_regular(file))
    except OSError as error:
        raise StudioError(
            phrase(
                "The job file {file} cannot be read: {strerror}.",
                file=file,
                strerror=error.strerror,
            )
        ) from error
    except ValidationError as error:
        raise describe_validation(error, f"The job file {file.name}") from error
    return _from(job, file.absolute().parent)


def _from(job: JobSpec, base: Path) -> JobSpec:
    """The job with its relative paths taken from where the job file lies."""

    def absolute(value: Any) -> Any:
        if isinstance(value, Path):
            return base / value
        if isinstance(value, dict):
            return {key: absolute(inner) for key, inner in value.items()}
        return value

    return JobSpec.model_validate(absolute(job.model_dump()))


def _work(run: RunFolder, processes: int | None = None) -> int:
    from engine.worker.train import main as work

    line = ProgressLine(sys.stderr, run)
    code = work(run.path, line.hear, processes)
    line.end()
    say(run.path)
    return code
