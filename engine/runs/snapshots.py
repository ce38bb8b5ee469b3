"""Snapshots of a run: only its weights, in fp16, at exponentially spaced steps at first.

Steps 0, 1, 2, 4, … 512 and then every n-th (as the intermediate checkpoints of Biderman et al.
2023, “Pythia”, §2.1), and the last one. Config and tokenizer are shared and stored once, in the
folder above.
"""

from itertools import takewhile
from pathlib import Path

from engine.files.atomic_write import MANIFEST, remove_atomically
from engine.runs.folder import STEP, RunFolder, checkpoint_step
from engine.runs.retention import size

MAX_DOUBLING_STEP = 512


def is_snapshot_step(step: int, every: int) -> bool:
    """True if a snapshot follows `step`, with one `every` n steps (0: none).

    The last step is not included, since early stopping decides which one that is.
    """
    if every == 0:
        return False
    if step <= MAX_DOUBLING_STEP:
        return step & (step - 1) == 0
    return step % every == 0


def count_snapshots(steps: int, every: int) -> int:
    """Number of snapshots of a run of `steps`, including its last one; 0 if they are disabled."""
    if every == 0:
        return 0
    doubling = takewhile(lambda step: step <= steps, (0, *(1 << n for n in range(10))))
    late = max(0, steps // every - MAX_DOUBLING_STEP // every)
    return len(list(doubling)) + late + (not is_snapshot_step(steps, every))


def snapshot_folder(run: RunFolder, step: int) -> Path:
    return run.snapshots / f"step-{step:08d}"


def snapshot_folders(run: RunFolder) -> list[Path]:
    """All complete snapshots, by step."""
    if not run.snapshots.is_dir() or run.snapshots.is_symlink():
        return []
    folders = (f for f in run.snapshots.iterdir() if STEP.fullmatch(f.name))
    return sorted((f for f in folders if (f / MANIFEST).is_file()), key=checkpoint_step)


def find_run(checkpoint: Path) -> RunFolder | None:
    """The run of a checkpoint or a snapshot; None for any other model."""
    run = RunFolder(checkpoint.parent.parent)
    if checkpoint.parent not in (run.checkpoints, run.snapshots) or not run.spec_file.is_file():
        return None
    return run


def discard_after(run: RunFolder, step: int) -> None:
    """Delete the snapshots after `step`: a run that resumes there writes them again."""
    for folder in snapshot_folders(run):
        if checkpoint_step(folder) > step:
            remove_atomically(folder)


def snapshots_size(run: RunFolder) -> int:
    """Bytes of all snapshots of a run, with their shared files."""
    return size(run.snapshots) if run.snapshots.is_dir() else 0
