"""Files shared by the snapshots of a run: config and tokenizer, once in the folder above."""

from pathlib import Path

SNAPSHOTS = "snapshots"  # of a run: a folder for each step, with only weights
CONFIG = "config.json"


def shared_folder(checkpoint: Path) -> Path:
    """The folder with config and tokenizer of a checkpoint: for a snapshot, the folder above."""
    parent = checkpoint.parent
    if parent.name == SNAPSHOTS and (parent / CONFIG).is_file() and not _has_config(checkpoint):
        return parent
    return checkpoint


def is_snapshot(checkpoint: Path) -> bool:
    """True if it has only weights, and the rest is in the folder above."""
    return shared_folder(checkpoint) != checkpoint


def _has_config(checkpoint: Path) -> bool:
    return (checkpoint / CONFIG).is_file()
