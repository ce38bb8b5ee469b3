"""Runs as one file: a zip of their folders, to open in another BERT Studio.

It contains `bundle.json`, with the name, annotations and file checksums (SHA-256) of each run, and
the run folders below `runs/`. Nothing is pickled, and bundles are not trusted: names that lead out
of the folder, links, encrypted members and more bytes than declared are refused.
"""

import hashlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from engine.errors import StudioError
from engine.files.atomic_write import check_free_space, disk_errors_for, temporary_path
from engine.files.regular_file import open_regular
from engine.phrases import phrase
from engine.progress import Cancelled, ProgressCallback
from engine.runs.copying import files_to_copy
from engine.runs.folder import RunFolder

Checkpoints = Literal["best", "all", "none"]
SUFFIX = ".zip"
INDEX, RUNS = "bundle.json", "runs"
FORMAT = 1  # version of the format, as written, and the newest that can be read
CHUNK = 4 << 20  # bytes between checks for cancellation
MAX_FILES, MAX_RUNS = 100_000, 1_000
MAX_INDEX_BYTES = 50_000_000  # bytes
TIMESTAMP = (1980, 1, 1, 0, 0, 0)  # of every member, so that equal runs make equal files


def pack(
    runs: Sequence[RunFolder],
    path: Path,
    checkpoints: Checkpoints = "best",
    annotations: Mapping[str, Mapping[str, Any]] | None = None,
    report: ProgressCallback = lambda done, total: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> None:
    """Write the runs to `path`, atomically.

    Args:
        checkpoints: which ones to include; the best is the last if none is marked as best.
            Snapshots are included with “all”.
        annotations: JSON for each run, by the name of its folder.

    Raises:
        StudioError: a run is training, or cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    files = {run.path.name: _select_files(run, checkpoints) for run in runs}
    total = sum(file.stat().st_size for listed in files.values() for file in listed)
    done = 0
    digests: dict[str, dict[str, str]] = {name: {} for name in files}
    temporary = temporary_path(path)
    try:
        with disk_errors_for(path), zipfile.ZipFile(temporary, "w") as archive:
            for run in runs:
                for file in files[run.path.name]:
                    name = file.relative_to(run.path).as_posix()
                    digest = hashlib.sha256()
                    member = _member(f"{RUNS}/{run.path.name}/{name}", file)
                    with (
                        open_regular(file, follows_links=False) as source,
                        archive.open(member, "w", force_zip64=True) as target,
                    ):
                        while chunk := source.read(CHUNK):
                            digest.update(chunk)
                            target.write(chunk)
                            done += len(chunk)
                            report(done, total)
                            if cancelled():
                                raise Cancelled
                    digests[run.path.name][name] = digest.hexdigest()
            notes = annotations or {}
            listed = [
                {"id": name, "annotations": dict(notes.get(name, {})), "files": dict(digests[name])}
                for name in (run.path.name for run in runs)
            ]
            index = {"form": FORMAT, "runs": listed}
            archive.writestr(_member(INDEX), json.dumps(index, indent=1))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def unpack(
    path: Path,
    destination: Path,
    report: ProgressCallback = lambda done, total: None,
    cancelled: Callable[[], bool] = lambda: False,
) -> dict[Path, dict[str, Any]]:
    """Extract a bundle's runs into the empty folder `destination`; returns annotations by folder.

    Raises StudioError if the file is no bundle, or newer, damaged or hostile; raises Cancelled.
    """
    with _damage_errors(path), zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len(members) > MAX_FILES:
            raise _bundle_error(path, phrase("it has more than {n:,} files", n=MAX_FILES))
        run_entries = _read_index(archive, path)
        listed = {
            f"{RUNS}/{run['id']}/{name}": digest
            for run in run_entries
            for name, digest in run["files"].items()
        }
        sizes = {item.filename: item.file_size for item in members if item.filename in listed}
        check_free_space(destination / path.name, sum(sizes.values()))
        done, total = 0, sum(sizes.values())
        for item in members:
            if item.filename == INDEX or item.is_dir():
                continue
            _check(item, listed, path)
            for count in _write(archive, item, destination, listed[item.filename], path):
                done += count
                report(done, total)
                if cancelled():
                    raise Cancelled
        if missing := set(listed) - set(sizes):
            name = PurePosixPath(min(missing)).name
            raise _bundle_error(path, phrase("{name} is missing in it", name=name))
    return {destination / RUNS / run["id"]: run["annotations"] for run in run_entries}


def is_bundle(path: Path) -> bool:
    """True if a file is a zip with runs in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return INDEX in archive.namelist()[-1:] or INDEX in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError):
        return False


def _select_files(run: RunFolder, checkpoints: Checkpoints) -> list[Path]:
    if run.has_worker():
        raise StudioError(
            "“{run}” is still being trained.", "Stop it first, then export it.", run=run.job().name
        )
    run.job()  # raises if the run cannot be read
    included: set[Path] = set()
    saved = run.checkpoint_folders()
    if checkpoints == "all":
        included = set(saved)
    elif checkpoints == "best" and saved:
        best = run.checkpoint(run.best_step() or 0)
        included = {best if best in saved else saved[-1]}
    if checkpoints == "all":
        included.add(run.snapshots)
    weights = (run.checkpoints, run.snapshots)
    return [
        file
        for file in files_to_copy(run.path)
        if not any(file.is_relative_to(folder) for folder in weights)
        or any(file.is_relative_to(folder) for folder in included)
    ]


def _member(name: str, file: Path | None = None) -> zipfile.ZipInfo:
    """Make a member; weights are stored, since they hardly shrink, and all else is compressed."""
    member = zipfile.ZipInfo(name, TIMESTAMP)
    stored = file is not None and file.suffix in (".safetensors", ".parquet", ".npy")
    member.compress_type = zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED
    member.external_attr = (stat.S_IFREG | 0o600) << 16
    return member


def _read_index(archive: zipfile.ZipFile, path: Path) -> list[dict[str, Any]]:
    try:
        member = archive.getinfo(INDEX)
    except KeyError:
        raise _bundle_error(path, phrase("there are no runs in it")) from None
    if member.file_size > MAX_INDEX_BYTES:
        raise _bundle_error(path, phrase("its list of files is too long"))
    with archive.open(member) as file:
        content = file.read(MAX_INDEX_BYTES + 1)
    try:
        index = json.loads(content)
        form, runs = int(index["form"]), list(index["runs"])
        folders = [
            {
                "id": str(run["id"]),
                "annotations": dict(run["annotations"]),
                "files": dict(run["files"]),
            }
            for run in runs
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _bundle_error(path, phrase("its list of files cannot be read")) from None
    if form > FORMAT:
        raise StudioError(
            "{name} was written by a newer BERT Studio.",
            "Install the latest version, then open it again.",
            name=path.name,
        )
    if len(folders) > MAX_RUNS or not folders:
        raise _bundle_error(path, phrase("there are no runs in it"))
    for run in folders:
        run_id = str(run["id"])
        if not _is_plain(run_id) or len(PurePosixPath(run_id).parts) != 1:
            raise _bundle_error(path, phrase("a run in it has a name that cannot be a folder"))
        for name in run["files"]:
            if not isinstance(name, str) or not _is_plain(name):
                raise _bundle_error(path, phrase("a file in it leads out of its folder"))
    return folders


def _is_plain(name: str) -> bool:
    """True if a name stays below its folder on every system."""
    parts = PurePosixPath(name).parts
    forbidden = set('\\:*?"<>|\0') & set(name) or any(ord(letter) < 32 for letter in name)
    inside = parts and not name.startswith("/") and not {".", ".."} & set(parts)
    short = all(0 < len(part.encode("utf-8", "replace")) <= 255 for part in parts)
    return bool(
        inside and short and not forbidden and all(not part.endswith((".", " ")) for part in parts)
    )


def _check(member: zipfile.ZipInfo, listed: Mapping[str, str], path: Path) -> None:
    if member.filename not in listed:
        raise _bundle_error(path, phrase("there is a file in it that its list does not have"))
    if member.flag_bits & 0x1:
        raise _bundle_error(path, phrase("it is encrypted"))
    mode = member.external_attr >> 16
    if mode and not stat.S_ISREG(mode) and stat.S_IFMT(mode):
        raise _bundle_error(path, phrase("there is a link or a device in it"))


def _write(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, destination: Path, digest: str, path: Path
) -> Iterator[int]:
    """Write exactly the declared bytes; yields the size of each chunk."""
    target = destination / member.filename
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    checksum, remaining = hashlib.sha256(), member.file_size
    with archive.open(member) as source, open(target, "xb") as out:
        while chunk := source.read(min(CHUNK, remaining + 1)):
            remaining -= len(chunk)
            if remaining < 0:
                raise _bundle_error(path, phrase("a file in it is larger than it says"))
            checksum.update(chunk)
            out.write(chunk)
            yield len(chunk)
    if remaining or checksum.hexdigest() != digest:
        name = PurePosixPath(member.filename).name
        raise _bundle_error(path, phrase("{name} in it is not as it was written", name=name))


@contextmanager
def _damage_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _bundle_error(path, phrase("it is damaged")) from error


def _bundle_error(path: Path, why: str) -> StudioError:
    return StudioError(
        "{name} cannot be opened as runs: {why}.",
        "Export it again where it came from. Nothing was added.",
        name=path.name,
        why=why,
    )
