"""Runs: their checkpoints and batches, and branches."""

import shutil
from pathlib import Path
from typing import Annotated

import typer

from engine.cli.compose import Assignments, assign, validate_job
from engine.cli.options import AsJson, Run
from engine.config.changes import changes
from engine.config.job import RUN_NAME_LENGTH
from engine.errors import StudioError
from engine.messages.events import Measured
from engine.runs.branching import branch as make_branch
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.retention import check_removal, retained_checkpoints
from engine.runs.snapshots import snapshot_folders, snapshots_size
from engine.system.terminal import echo, echo_json_text


def branch(
    folder: Run,
    step: Annotated[int, typer.Option(help="The step of the checkpoint to start from.")],
    into: Annotated[Path, typer.Option(help="The run folder to create.")],
    name: Annotated[str | None, typer.Option(help="Name of the new run.")] = None,
    assignments: Assignments = [],  # noqa: B006 (Typer copies it)
) -> None:
    """Create a run from a checkpoint of another run; `resume` then trains it."""
    source = RunFolder(folder.absolute())
    raw = source.job().model_dump(mode="json")
    raw["name"] = name or f"{raw['name']}, from step {step}"[:RUN_NAME_LENGTH]
    for assignment in assignments:
        assign(raw, assignment)
    job = validate_job(raw, "The job of the branch")
    new_run = make_branch(source, step, job, into.absolute())
    for change in changes(source.job(), job):
        echo(change.sentence())
    echo(new_run.path)


def checkpoints(
    folder: Run,
    delete: Annotated[
        int | None, typer.Option(help="Delete the checkpoint of this step permanently.")
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Delete it even if the run can then no longer be resumed."),
    ] = False,
) -> None:
    """List the checkpoints of a run (step, size, why each is kept) and its snapshots."""
    run = RunFolder(folder.absolute())
    run.job()
    if delete is not None:
        problem = check_removal(run, delete)
        if problem and not force:
            raise StudioError(problem, "Add --force if you are sure.")
        shutil.rmtree(run.checkpoint(delete))
    total = 0
    for checkpoint in retained_checkpoints(run):
        total += checkpoint.bytes
        reasons = ", ".join(checkpoint.reasons) or "kept"
        echo(f"step {checkpoint.step}: {checkpoint.bytes / 1e6:.1f} MB, {reasons}")
    if snapshots := snapshot_folders(run):
        steps = f"{checkpoint_step(snapshots[0])} to {checkpoint_step(snapshots[-1])}"
        total += (size := snapshots_size(run))
        echo(f"{len(snapshots)} snapshots of steps {steps}: {size / 1e6:.1f} MB")
    echo(f"all: {total / 1e6:.1f} MB")


def batch(
    folder: Run,
    step: Annotated[
        int | None, typer.Option(help="Training step, counted from 1; default: the last one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the batch of a training step: token ids, masks, pairs, padding and targets.

    In the text, “[MASK]=word” was masked, “other=word” was replaced by a random token, “word=word”
    was kept and must still be predicted, and “word/LABEL” has a label as its target.
    """
    from engine.training.data.batch_preview import BatchPreview

    run = RunFolder(folder.absolute())
    run.job()
    events = run.last_events()
    last = max((e.step for e in events if isinstance(e, Measured) and e.name == "loss"), default=1)
    preview = BatchPreview().show(run, step or last)
    if as_json:
        echo_json_text(preview.model_dump_json(exclude={"to", "kind"}))
        return
    echo(f"step {preview.step} of {preview.steps}: {len(preview.rows)} inputs")
    for number, row in enumerate(preview.rows, start=1):
        targets = {
            target.position: f"{'/' if target.shown_as == 'label' else '='}{target.expected}"
            for target in row.targets
        }
        words = [
            token + targets.get(position, "")
            for position, token in enumerate(row.tokens[: row.length])
        ]
        padding = len(row.tokens) - row.length
        echo("", f"{number}. {row.expected}".rstrip())
        echo(" ".join(words) + (f" and {padding} x {row.tokens[-1]}" if padding else ""))
