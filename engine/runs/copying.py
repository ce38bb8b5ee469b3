"""Take over a run folder that was trained elsewhere."""

import os
import secrets
import shutil
from pathlib import Path

from engine.durable import disk_errors_for
from engine.errors import StudioError
from engine.home import free_folder
from engine.runs.folder import RunFolder

NOT_COPIED = {"run.lock", "stop", "cache", "reserve"}  # a copy makes its own


def copy_run(source: Path, runs: Path) -> RunFolder:
    """Copy the run folder `source` into `runs`, whole or not at all; links in it are left out."""
    folder = RunFolder(source)
    folder.job()
    if folder.has_worker():
        raise StudioError(
            f"{source.name} is being trained at the moment.", "Wait until it ends, then add it."
        )
    temporary = runs / f".{source.name}.tmp-{secrets.token_hex(4)}"
    try:
        with disk_errors_for(temporary):
            shutil.copytree(source, temporary, ignore=_left_out)
        target = free_folder(runs, source.name)
        os.rename(temporary, target)
    except (OSError, shutil.Error) as error:
        raise StudioError(
            f"{source.name} could not be copied: {error}.", "Check that all its files can be read."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return RunFolder(target)


def _left_out(folder: str, names: list[str]) -> set[str]:
    """What a copy does without: links, pipes and devices, and the files of a living worker."""
    entries = {name: Path(folder, name) for name in names}
    odd = {n for n, e in entries.items() if e.is_symlink() or not (e.is_file() or e.is_dir())}
    return odd | (NOT_COPIED & set(names) if "spec.json" in names else set())
