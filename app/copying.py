"""Copy a checkpoint out of the home, for use elsewhere."""

import shutil
from pathlib import Path

from app.background import Progress
from engine.durable import MANIFEST, verify, whole_folder
from engine.errors import StudioError

LEFT_BEHIND = ("resume", MANIFEST)  # what only this studio needs
CHUNK = 4 << 20  # bytes that are copied between two looks at whether to go on


def copy_model(source: Path, target: Path, progress: Progress) -> Path | None:
    """Copy a checkpoint folder after a look at whether it is what was saved; None when cancelled.

    Not for the window's thread. Raises StudioError where the checkpoint is damaged, the target
    cannot be written or the disk is full; nothing is at the target then.
    """
    verify(source)
    files = [f for f in sorted(source.iterdir()) if f.is_file() and f.name not in LEFT_BEHIND]
    total, done = sum(file.stat().st_size for file in files), 0
    try:
        with whole_folder(target) as folder:
            for file in files:
                with open(file, "rb") as read, open(folder / file.name, "xb") as written:
                    while chunk := read.read(CHUNK):
                        if progress.cancelled():
                            raise _CancelledError
                        written.write(chunk)
                        done += len(chunk)
                        progress(done, total)
    except _CancelledError:
        return None
    except OSError as error:
        raise StudioError(
            f"{source.name} could not be copied to {target}: {error.strerror}.",
            "Choose a folder in which you may write.",
        ) from error
    _give_usual_rights(target)
    return target


class _CancelledError(Exception):
    """Leaves the block that writes a whole folder."""


def _give_usual_rights(folder: Path) -> None:
    """A copy outside the home is no secret: the rights that the user's own files get."""
    pattern = folder.with_name(f".{folder.name}.rights")
    pattern.mkdir()
    try:
        shutil.copymode(pattern, folder)
    finally:
        pattern.rmdir()
