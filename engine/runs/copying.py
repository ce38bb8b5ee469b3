"""Import the folder of a run trained elsewhere."""

import filecmp
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic import ValidationError

from engine.errors import StudioError
from engine.files.atomic_write import check_free_space, disk_errors_for, temporary_path
from engine.files.home import free_folder
from engine.files.regular_file import open_regular
from engine.phrases import phrase
from engine.progress import Cancelled, ProgressCallback
from engine.runs.folder import RunFolder

NOT_COPIED = {"run.lock", "stop", "changed-data", "cache", "reserve"}  # files of workers and caches
COPY_CHUNK = 4 << 20  # bytes between checks for cancellation
NEWER_ERRORS = {
    "extra_forbidden",
    "union_tag_invalid",
    "literal_error",
}  # pydantic error types of a job from a newer version


def copy_run(
    source: Path,
    runs: Path,
    report: ProgressCallback = lambda done, total: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> RunFolder:
    """Copy the run folder `source` into `runs`, atomically; links in it are skipped.

    Nothing is overwritten: if the name is taken, the copy gets a number.

    Raises:
        StudioError: the folder is no run, from a newer version, in training, or already imported.
        Cancelled: soon after `cancelled()` is true.
    """
    folder = RunFolder(source)
    _check_importable(folder, runs)
    sizes = {file: file.stat().st_size for file in files_to_copy(source)}
    total, done = sum(sizes.values()), 0
    temporary = temporary_path(runs / source.name)
    try:
        with disk_errors_for(temporary):
            check_free_space(temporary, total)
            temporary.mkdir(mode=0o700, parents=True)
            (temporary / folder.checkpoints.name).mkdir()
            for file in sizes:
                for count in _copy(file, temporary / file.relative_to(source)):
                    done += count
                    report(done, total)
                    if cancelled():
                        raise Cancelled
        target = free_folder(runs, source.name)
        os.rename(temporary, target)
    except OSError as error:
        raise StudioError(
            "Could not copy {source}: {error}.",
            "Check that all its files are readable.",
            source=source.name,
            error=error,
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return RunFolder(target)


def _check_importable(folder: RunFolder, runs: Path) -> None:
    """Raise StudioError if the folder is not a run that can be imported."""
    name = folder.path.name
    try:
        folder.job()
    except StudioError as error:
        cause = error.__cause__
        if (
            isinstance(cause, ValidationError)
            and {e["type"] for e in cause.errors()} <= NEWER_ERRORS
        ):
            raise _newer_error(
                name, phrase("Its job has settings that this version does not know.")
            ) from error
        raise
    if (unknown := folder.count_newer_events()) > 0:
        raise _newer_error(
            name, phrase("This version does not understand {n:,} of its events.", n=unknown)
        )
    if folder.has_worker():
        raise StudioError("{name} is training.", "Wait until it has finished.", name=name)
    for other in runs.iterdir():
        if other.samefile(folder.path) or _are_same(folder, RunFolder(other)):
            raise StudioError(
                "{name} is already in the list of runs, in the folder {other}.",
                "Nothing was copied.",
                name=name,
                other=other.name,
            )


def _newer_error(name: str, why: str) -> StudioError:
    return StudioError(
        "{name} was written by a newer BERT Studio. {why}",
        "Install the latest version, then add the run again. Nothing was copied.",
        name=name,
        why=why,
    )


def _are_same(run: RunFolder, other: RunFolder) -> bool:
    pairs = ((run.spec_file, other.spec_file), (run.events_file, other.events_file))
    try:
        return all(a.is_file() and b.is_file() and filecmp.cmp(a, b, False) for a, b in pairs)
    except OSError:
        return False  # treat an unreadable run as different


def files_to_copy(folder: Path) -> Iterator[Path]:
    """Files to copy: no links, pipes or devices, and not the files of a running worker."""
    for entry in sorted(folder.iterdir()):
        is_of_worker = entry.name in NOT_COPIED and (folder / "spec.json").exists()
        if entry.is_symlink() or is_of_worker:
            continue
        if entry.is_dir():
            yield from files_to_copy(entry)
        elif entry.is_file():
            yield entry


def _copy(file: Path, destination: Path) -> Iterator[int]:
    """Copy a file with its timestamps; yields the size of each chunk."""
    destination.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_regular(file, follows_links=False) as source, open(destination, "wb") as target:
        while chunk := source.read(COPY_CHUNK):
            target.write(chunk)
            yield len(chunk)
    shutil.copystat(file, destination)
