"""What the snapshots of a run share: config and tokenizer stand once, in the folder above them."""

from pathlib import Path

SNAPSHOTS = "snapshots"  # of a run: a folder for each step, with weights alone
CONFIG = "config.json"


def shared_folder(checkpoint: Path) -> Path:
    """Where config and tokenizer of a checkpoint are: of a snapshot, in the folder above."""
    above = checkpoint.parent
    if above.name == SNAPSHOTS and (above / CONFIG).is_file() and not _has_own(checkpoint):
        return above
    return checkpoint


def is_snapshot(checkpoint: Path) -> bool:
    """Whether it has weights alone, and the rest is in the folder above."""
    return shared_folder(checkpoint) != checkpoint


def _has_own(checkpoint: Path) -> bool:
    return (checkpoint / CONFIG).is_file()
