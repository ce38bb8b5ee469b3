"""Start a new run from a checkpoint of another: same weights, optimiser and progress."""

import os
import shutil
from pathlib import Path

from engine.config.changes import Change, changes
from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.files import atomic_write
from engine.files.regular_file import read_json
from engine.messages.events import Branched, Measured, Prepared, Saved
from engine.runs.folder import RunFolder, checkpoint_step


def branch(source: RunFolder, step: int, job: JobSpec, into: Path) -> RunFolder:
    """Create the run folder `into` from the checkpoint of `source` at `step`, atomically.

    If `job` is that of `source`, the branch ends with the same weights, bit for bit.

    Raises StudioError if there is no such checkpoint, it is damaged, or `job` has settings that
    cannot change in the middle of a run.
    """
    old_job = source.job()
    changed = changes(old_job, job)
    _check_changes(changed)
    totals = [event.steps for event in source.milestones() if isinstance(event, Prepared)]
    total = totals[-1] if totals else 0
    if (problem := check_remaining_steps(old_job, job, step, total)) is not None:
        raise problem
    checkpoint = _find_checkpoint(source, step)
    if into.exists():
        raise StudioError("{into} already exists.", "Choose a new folder.", into=into)
    temporary = atomic_write.temporary_path(into)
    try:
        with atomic_write.disk_errors_for(into):
            single = job.model_copy(update={"group": None})  # a branch belongs to no group of seeds
            run = RunFolder.create(temporary, single)
            if source.dataset.is_dir():
                _check_no_links(source.dataset)
                shutil.copytree(source.dataset, run.dataset)
            saved = [folder for folder in (_find_best(source, checkpoint), checkpoint) if folder]
            for folder in saved:
                _copy(folder, run.checkpoint(checkpoint_step(folder)))
            _write_events(source, run, saved, changed)
            os.rename(temporary, into)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return RunFolder(into)


def _check_changes(changed: list[Change]) -> None:
    for change in changed:
        if not change.in_branch:
            raise StudioError(
                "A branch cannot change {path} ({change}): the checkpoint depends on it.",
                "Start a new run from this checkpoint instead: it has the same weights and a "
                "fresh optimiser.",
                path=change.path,
                change=change.sentence(),
            )


def check_remaining_steps(
    old_job: JobSpec, job: JobSpec, step: int, steps: int
) -> StudioError | None:
    """Return an error if a branch from `step` would have no steps to train.

    `steps` is the number of steps of the run of `old_job`, 0 if unknown.
    """
    planned = _total_steps(old_job, job, steps)
    if not 0 < planned <= step:
        return None
    return StudioError(
        "The branch has {steps} steps, and its checkpoint is already at step {step}.",
        "Set more epochs or steps, or branch from an earlier checkpoint.",
        steps=planned,
        step=step,
    )


def _total_steps(old_job: JobSpec, job: JobSpec, steps: int) -> int:
    old, new = old_job.training, job.training
    if new.steps or old.steps:
        return new.steps
    factor = (new.epochs * new.train_fraction) / (old.epochs * old.train_fraction)
    return round(steps * factor * old.batch_size / new.batch_size)


def _find_checkpoint(source: RunFolder, step: int) -> Path:
    folder = source.checkpoint(step)
    available = [checkpoint_step(f) for f in source.checkpoint_folders()]
    if step not in available:
        steps = ", ".join(map(str, available)) or "none"
        raise StudioError(
            "{run} has no checkpoint at step {step}.",
            "It has checkpoints at: {steps}.",
            run=source.path.name,
            step=step,
            steps=steps,
        )
    atomic_write.verify(folder)
    if not _progress_file(folder).is_file():
        raise StudioError(
            "The checkpoint at step {step} has weights only, so no run can resume from it.",
            "Start a new run from it instead.",
            step=step,
        )
    return folder


def _progress_file(checkpoint: Path) -> Path:
    return checkpoint / "resume" / "progress.json"


def _find_best(source: RunFolder, checkpoint: Path) -> Path | None:
    """The best checkpoint so far, if it is not `checkpoint` and still exists."""
    progress = read_json(_progress_file(checkpoint))
    best = source.checkpoint(int(progress["best_step"]))
    if best == checkpoint or best not in source.checkpoint_folders():
        return None
    atomic_write.verify(best)
    return best


def _copy(folder: Path, into: Path) -> None:
    _check_no_links(folder)
    with atomic_write.atomic_folder(into) as target:
        shutil.copytree(
            folder, target, ignore=shutil.ignore_patterns(atomic_write.MANIFEST), dirs_exist_ok=True
        )


def _check_no_links(folder: Path) -> None:
    """Raise StudioError for a link: its target is not part of the run."""
    link = next((f for f in (folder, *folder.rglob("*")) if f.is_symlink()), None)
    if link is not None:
        raise StudioError(
            "{link} in {folder} is a symbolic link, and links are not copied.",
            "Replace the link with the file or folder itself, then try again.",
            link=link.name,
            folder=link.parent,
        )


def _write_events(
    source: RunFolder, run: RunFolder, saved: list[Path], changed: list[Change]
) -> None:
    """Begin the events of the branch with its origin and the curves so far."""
    step = checkpoint_step(saved[-1])
    branched = Branched(
        run=source.job().name,
        folder=source.path,
        step=step,
        changes=tuple(change.sentence() for change in changed),
    )
    now = branched.at  # the time taken by the source run does not count
    lines = [branched.line()]
    lines += [
        event.model_copy(update={"at": now}).line()
        for event in source.all_events()
        if isinstance(event, Measured) and event.step <= step
    ]
    saved_events = {event.step: event for event in source.milestones() if isinstance(event, Saved)}
    for folder in saved:
        event = saved_events.get(checkpoint_step(folder)) or Saved(
            step=checkpoint_step(folder), folder=folder.relative_to(source.path).as_posix()
        )
        best = folder == saved[0] and (len(saved) == 2 or event.best)
        lines.append(event.model_copy(update={"at": now, "best": best}).line())
    run.events_file.write_bytes(b"".join(lines))
