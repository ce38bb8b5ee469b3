"""Checkpoints of a run: weights as any program reads them, and what a resume needs beside them.

Resume state is safetensors and JSON, never pickle. A checkpoint is whole or absent; a damaged
one is named and the one before is used.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from torch import Tensor

from engine.atomic_write import MANIFEST, check_room, remove_whole, verify, whole_folder
from engine.errors import BadCheckpoint
from engine.messages.events import Event, Noted, Removed, Saved
from engine.models import checkpoint
from engine.models.lora import merged
from engine.models.network import Network
from engine.models.weight_files import SAFE
from engine.phrases import phrase
from engine.runs.folder import RunFolder, step_of
from engine.runs.retention import kept
from engine.spec.job import JobSpec
from engine.spec.task import TaskSpec
from engine.spec.training import TrainingSpec
from engine.tasks.learner import Learner
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.optimiser import restore
from engine.training.weight_averaging import Average

RESUME, OPTIMISER = "resume", "optimiser.safetensors"
OF_TOKENIZER = 1 << 20  # bytes, about
RAW = "weights.safetensors"  # in it: what the weights of the checkpoint do not say
MEAN = "average|"  # begins the names of averages there
Tell = Callable[[Event], None]


@dataclass
class Progress:
    """Where a run is, beside its weights. Chance needs no state: it follows from seed and step."""

    step: int = 0
    best: float | None = None  # the figure of the best checkpoint
    best_step: int = 0
    looks_in_vain: int = 0  # since the best one
    micro_batch: int = 0  # most rows at once since memory was short; 0: it never was
    conditions: dict[str, str] = field(default_factory=dict)  # see conditions.py
    never_given: list[str] = field(default_factory=list)  # labels that were warned of
    scale: float = 2.0**16  # of losses in fp16; see scaling.py
    good_steps: int = 0  # with this scale


def save(
    run: RunFolder,
    job: JobSpec,
    network: Network,
    tokenizer: Tokenizer,
    learner: Learner,
    memory: dict[str, Tensor],
    average: Average,
    progress: Progress,
    task: TaskSpec | None = None,
) -> Saved:
    """Write the checkpoint of `progress.step`; raises DiskFull and leaves the earlier ones.

    Its weights are the averaged ones, with adapters merged into them. `memory` is the optimiser's,
    as `state_tensors` has it, and `task` is what it keeps of
    the task beside the labels.
    """
    folder = run.checkpoint(progress.step)
    raw = raw_tensors(network, average)
    check_room(folder, checkpoint_size(network) + sum(tensor.nbytes for tensor in raw.values()))
    with whole_folder(folder) as inside:
        with average.in_place():
            task = learner.task
            extra = {checkpoint.TASK: task.model_dump(mode="json")} if task else None
            checkpoint.write(inside, network, tokenizer, learner.labels, extra=extra)
        (inside / "job.json").write_text(job.model_dump_json(indent=1), encoding="utf-8")
        resume = inside / RESUME
        resume.mkdir()
        safetensors.torch.save_file(memory, resume / OPTIMISER)
        if raw:
            safetensors.torch.save_file(raw, resume / RAW)
        (resume / "progress.json").write_text(json.dumps(asdict(progress)), encoding="utf-8")
    return saved(run, progress)


def saved(run: RunFolder, progress: Progress) -> Saved:
    """What is told of the checkpoint of `progress.step`, which stands in its place."""
    folder = run.checkpoint(progress.step)
    size = sum(f.stat().st_size for f in folder.rglob("*") if f.is_file())
    files = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    return Saved(
        step=progress.step,
        folder=folder.relative_to(run.path).as_posix(),
        best=progress.best_step == progress.step,
        bytes=size,
        weights=files[SAFE]["sha256"],
        optimiser=files[f"{RESUME}/{OPTIMISER}"]["sha256"],
    )


def tell_if_unheard(run: RunFolder, progress: Progress, tell: Tell) -> None:
    """Tell of a checkpoint whose worker was killed between the save and its word."""
    words = [e for e in run.milestones() if isinstance(e, Saved | Removed)]
    last = next((e for e in reversed(words) if e.step == progress.step), None)
    if not isinstance(last, Saved):
        tell(saved(run, progress))


def checkpoint_size(network: Network) -> int:
    """About how many bytes a checkpoint takes: the weights, and two means of what is trained."""
    weights = list(network.parameters())
    trained = sum(p.numel() for p in weights if p.requires_grad)
    return 4 * sum(p.numel() for p in weights) + 8 * trained + OF_TOKENIZER


def prune(run: RunFolder, plan: TrainingSpec, best_step: int, tell: Tell) -> None:
    """Delete all but the last checkpoints, the best one, and every n-th."""
    folders = run.checkpoint_folders()
    stay = kept(map(step_of, folders), best_step, plan)
    for folder in folders:
        if step_of(folder) not in stay:
            remove_whole(folder)
            tell(Removed(step=step_of(folder), folder=folder.relative_to(run.path).as_posix()))


def latest(run: RunFolder, tell: Tell) -> tuple[Path, Progress] | None:
    """The newest checkpoint that is what was saved; damaged ones are named in a note."""
    for folder in reversed(run.checkpoint_folders()):
        try:
            verify(folder)
            raw = json.loads((folder / RESUME / "progress.json").read_text(encoding="utf-8"))
            return folder, _progress(raw)
        except (BadCheckpoint, OSError, ValueError, TypeError) as error:
            tell(
                Noted(
                    text=phrase(
                        "Checkpoint {folder} is damaged and was passed over: {error}",
                        folder=folder.name,
                        error=error,
                    )
                )
            )
    return None


def raw_tensors(network: Network, average: Average) -> dict[str, Tensor]:
    """What is trained where the checkpoint holds another: an average, or a sum with an adapter."""
    with average.in_place():
        stored = merged(network)
    found = {
        name: parameter.detach()
        for name, parameter in network.named_parameters()
        if name not in stored or not _same_bits(parameter, stored[name])
    }
    found |= {MEAN + name: mean for name, mean in average.means.items() if name not in stored}
    return {name: tensor.cpu().contiguous() for name, tensor in found.items()}


def _same_bits(one: Tensor, other: Tensor) -> bool:
    """Tells 0 from -0, as `torch.equal` does not."""
    return torch.equal(one.detach().view(torch.int32), other.view(torch.int32))


@torch.no_grad()
def read_raw(folder: Path, network: Network, average: Average) -> None:
    """Put back what `raw_tensors` took; `network` and `average` hold the checkpoint's weights."""
    if not (folder / RESUME / RAW).exists():
        return
    tensors = safetensors.torch.load((folder / RESUME / RAW).read_bytes())
    for name, parameter in network.named_parameters():
        if name in tensors:
            parameter.copy_(tensors[name])
        if MEAN + name in tensors:
            average.means[name].copy_(tensors[MEAN + name])


def _progress(raw: dict[str, Any]) -> Progress:
    """Version 0.1 wrote two conditions, as entries of their own."""
    old = {name: str(raw.pop(name)) for name in ("threads", "torch") if name in raw}
    return Progress(**{"conditions": old, **raw})


def read_optimiser(folder: Path, optimiser: torch.optim.Optimizer, network: Network) -> None:
    """Restore what AdamW remembered at that checkpoint."""
    tensors = safetensors.torch.load((folder / RESUME / OPTIMISER).read_bytes())
    restore(optimiser, network, tensors)
