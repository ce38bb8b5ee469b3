"""A tiny model of each task, trained for one epoch, and its training file."""

import shutil
from pathlib import Path
from typing import NamedTuple

from engine.config.dataset import FileData, Mapping, Reading
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.runs.folder import RunFolder
from engine.runs.lock import hold
from engine.training.loop import train
from tests.tasks.jobs import HEAD_KINDS, JOBS

KINDS = tuple(HEAD_KINDS)


class FineTuned(NamedTuple):
    """A fine-tuned checkpoint of a run, and the file that it was trained on."""

    kind: str
    run: RunFolder
    checkpoint: Path
    file: Path
    reading: Reading
    mapping: Mapping


def fine_tuned(folder: Path, kind: str) -> FineTuned:
    """The model for the task `kind` in a folder: trained by the first process that asks for it."""
    run = RunFolder(folder / "run")
    with hold(folder / "lock", StudioError("The model is being trained."), timeout=300):
        if not (folder / "done").exists():
            job = JOBS[kind](folder, epochs=1)
            train(job, RunFolder.create(run.path, job), run.append)
            (folder / "done").touch()
    job = run.job()
    assert isinstance(job.data, FileData)
    guess = recognise(job.data.path)
    mapping = job.data.mapping or guess.mapping
    assert mapping is not None
    checkpoint = run.checkpoint_folders()[-1]
    return FineTuned(kind, run, checkpoint, job.data.path, guess.reading, mapping)


def copy_model(model: FineTuned, folder: Path) -> FineTuned:
    """A copy of the model, for tests that change it."""
    run = RunFolder(folder / "run")
    shutil.copytree(model.run.path, run.path)
    checkpoint = run.path / model.checkpoint.relative_to(model.run.path)
    return model._replace(run=run, checkpoint=checkpoint)
