"""A tiny model of each task, trained for one epoch, and the file that it learned from."""

from pathlib import Path
from typing import NamedTuple

from engine.config.dataset import FileData, Mapping, Reading
from engine.data.formats.reading import recognise
from engine.runs.folder import RunFolder
from engine.training.loop import train
from tests.tasks.test_table import HEADED, JOBS

KINDS = tuple(HEADED)


class FineTuned(NamedTuple):
    """A fine-tuned checkpoint of a run, and the file that it was trained on."""

    kind: str
    run: RunFolder
    checkpoint: Path
    file: Path
    reading: Reading
    mapping: Mapping


def fine_tuned(folder: Path, kind: str) -> FineTuned:
    """Train a model for the task `kind`."""
    job = JOBS[kind](folder, epochs=1)
    assert isinstance(job.data, FileData)
    run = RunFolder.create(folder / "run", job)
    train(job, run, run.append)
    found = recognise(job.data.path)
    mapping = job.data.mapping or found.mapping
    assert mapping is not None
    checkpoint = run.checkpoint_folders()[-1]
    return FineTuned(kind, run, checkpoint, job.data.path, found.reading, mapping)
