"""Checkpoints of a run: published weights, and a `resume` folder with the rest of the state.

The state is safetensors and JSON, never pickle. A checkpoint is complete or absent; a damaged one
is reported and the one before it is used.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from engine.errors import BadCheckpoint
from engine.files.atomic_write import (
    MANIFEST,
    atomic_folder,
    check_free_space,
    remove_atomically,
    verify,
)
from engine.files.regular_file import MAX_MANIFEST, open_regular, read_json
from engine.messages.events import Removed, Saved
from engine.models import checkpoint
from engine.models.lora import merge_adapters
from engine.models.network import Network
from engine.models.weight_files import SAFE, save_tensors
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.retention import reasons_to_keep
from engine.training.context import RunContext, TrainingProgress
from engine.training.optimiser import WeightAverage, load_state
from engine.training.training_run import TrainingRun

RESUME, OPTIMISER, PROGRESS = "resume", "optimiser.safetensors", "progress.json"
TRAINED_WEIGHTS = "weights.safetensors"  # in RESUME: weights that differ from the saved ones
AVERAGE = "average|"  # prefix of averages in TRAINED_WEIGHTS
TOKENIZER_SIZE = 1 << 20  # bytes, approximate


@dataclass(frozen=True)
class ResumePoint:
    """A checkpoint that a run resumes from."""

    folder: Path
    progress: TrainingProgress


def save(run: TrainingRun) -> None:
    """Save a checkpoint of the current step, then delete those that retention drops.

    All ranks must call this; rank 0 writes. Waits while the disk is full.
    """
    network, state = run.ranks.gather(run.network, run.optimiser)
    if run.ranks.is_writer:
        run.context.emit(run.context.retry_when_full(lambda: _write(run, network, state)))
        # the checkpoint has the new fingerprint
        run.context.folder.changed_data_file.unlink(missing_ok=True)
        prune(run.context, run.progress.best_step)


def latest_checkpoint(context: RunContext) -> ResumePoint | None:
    """Return the newest intact checkpoint; damaged ones are reported in a note."""
    for folder in reversed(context.folder.checkpoint_folders()):
        try:
            verify(folder)
            saved = read_json(folder / RESUME / PROGRESS)
            return ResumePoint(folder, TrainingProgress(**saved))
        except (BadCheckpoint, OSError, ValueError, TypeError) as error:
            context.note(
                "Checkpoint {name} is damaged and was skipped: {error}",
                name=folder.name,
                error=error,
            )
    return None


@torch.no_grad()
def restore(run: TrainingRun, folder: Path) -> None:
    """Restore optimiser, exact weights and average; the network already has the saved weights."""
    resume = folder / RESUME
    load_state(run.optimiser, run.network, _read_tensors(resume / OPTIMISER))
    if not (resume / TRAINED_WEIGHTS).is_file():
        return
    tensors = _read_tensors(resume / TRAINED_WEIGHTS)
    for name, parameter in run.network.named_parameters():
        if name in tensors:
            parameter.copy_(tensors[name])
        if AVERAGE + name in tensors:
            run.average.means[name].copy_(tensors[AVERAGE + name])


def emit_missing_saved(context: RunContext, progress: TrainingProgress) -> None:
    """Emit `Saved` for a checkpoint whose worker was killed before it could."""
    events = [e for e in context.folder.milestones() if isinstance(e, Saved | Removed)]
    last = next((e for e in reversed(events) if e.step == progress.step), None)
    if not isinstance(last, Saved):
        context.emit(_saved_event(context.folder, progress))


def prune(context: RunContext, best_step: int) -> None:
    """Delete all checkpoints except the latest, the best and every n-th."""
    folder = context.folder
    checkpoints = folder.checkpoint_folders()
    reasons = reasons_to_keep(map(checkpoint_step, checkpoints), best_step, context.job.training)
    for path in checkpoints:
        if checkpoint_step(path) not in reasons:
            remove_atomically(path)
            relative = path.relative_to(folder.path).as_posix()
            context.emit(Removed(step=checkpoint_step(path), folder=relative))


def checkpoint_size(network: Network) -> int:
    """Estimate the bytes of a checkpoint: weights, and two Adam moments of trained ones."""
    weights = list(network.parameters())
    trained = sum(p.numel() for p in weights if p.requires_grad)
    return 4 * sum(p.numel() for p in weights) + 8 * trained + TOKENIZER_SIZE


def trained_weights(network: Network, average: WeightAverage) -> dict[str, Tensor]:
    """Return trained weights that differ from the saved, averaged and merged ones."""
    with average.applied():
        stored = merge_adapters(network)
    tensors = {
        name: parameter.detach()
        for name, parameter in network.named_parameters()
        # compared as bits: for `torch.equal` 0 and -0 are equal
        if name not in stored
        or not torch.equal(parameter.detach().view(torch.int32), stored[name].view(torch.int32))
    }
    tensors |= {AVERAGE + name: mean for name, mean in average.means.items() if name not in stored}
    return {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}


def _write(run: TrainingRun, network: Network, optimiser_state: dict[str, Tensor]) -> Saved:
    """Write the checkpoint; raises DiskFull and keeps the earlier ones.

    The saved weights are averaged, with adapters merged. The network is unsharded, and the
    optimiser state comes from `optimiser_tensors`.
    """
    progress, data = run.progress, run.setup.data
    folder = run.context.folder.checkpoint(progress.step)
    trained = trained_weights(network, run.average)
    check_free_space(folder, checkpoint_size(network) + sum(t.nbytes for t in trained.values()))
    with atomic_folder(folder) as inside:
        with run.average.applied():
            checkpoint.write(
                *(inside, network, data.tokenizer, data.learner.labels), extra=data.config_entries
            )
        (inside / "job.json").write_text(run.job.model_dump_json(indent=1), encoding="utf-8")
        resume = inside / RESUME
        resume.mkdir()
        save_tensors(optimiser_state, resume / OPTIMISER)
        if trained:
            save_tensors(trained, resume / TRAINED_WEIGHTS)
        (resume / PROGRESS).write_text(json.dumps(asdict(progress)), encoding="utf-8")
    return _saved_event(run.context.folder, progress)


def _read_tensors(file: Path) -> dict[str, torch.Tensor]:
    with open_regular(file) as content:
        return safetensors.torch.load(content.read())


def _saved_event(run: RunFolder, progress: TrainingProgress) -> Saved:
    folder = run.checkpoint(progress.step)
    files = read_json(folder / MANIFEST, MAX_MANIFEST)["files"]
    return Saved(
        step=progress.step,
        folder=folder.relative_to(run.path).as_posix(),
        best=progress.best_step == progress.step,
        bytes=sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()),
        weights=files[SAFE]["sha256"],
        optimiser=files[f"{RESUME}/{OPTIMISER}"]["sha256"],
    )
