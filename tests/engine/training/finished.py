"""Train a job to its end."""

from pathlib import Path

import torch

from engine.config.job import JobSpec
from engine.messages.events import Measured, Noted
from engine.models import checkpoint
from engine.runs.folder import RunFolder
from engine.training.loop import train
from tests.engine.training.small import new_run


def run_job(folder: Path, job: JobSpec) -> tuple[RunFolder, dict[str, torch.Tensor], list[object]]:
    """Train a job; returns the run, its last weights and its events."""
    events: list[object] = []
    run = new_run(folder, job)
    assert train(job, run, events.append)[0] == "finished"
    network = checkpoint.load(run.checkpoint_folders()[-1]).network
    return run, dict(network.named_parameters()), events


def notes(events: list[object]) -> list[str]:
    return [event.text for event in events if isinstance(event, Noted)]


def losses(events: list[object]) -> list[float]:
    return [e.value or 0.0 for e in events if isinstance(e, Measured) and e.name == "loss"]
