"""Writing that is complete or absent, even after a power failure.

A folder is written under a temporary, random name, every file and the folder itself are flushed to
the disk, the manifest with sizes and SHA-256 is written last, and only then is it renamed. A link
at the target is replaced, never followed.
"""

import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from engine.errors import BadCheckpoint, DiskFull, StudioError
from engine.files.regular_file import MAX_MANIFEST, open_regular, read_json
from engine.phrases import phrase

MANIFEST = "manifest.json"
UMASK = "BERT_STUDIO_UMASK"  # octal; of the user, for the children of a private process
FULL_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
MAX_NAME_BYTES = 255  # on the usual file systems
OLD = ".old-"  # prefix of a folder with the content that is being replaced
TEMPORARY = re.compile(r"\.(.+)\.tmp-[0-9a-f]{8}")  # the name while it is being written


def _flush(path: Path) -> None:
    """fsync a file or, if the system supports it, a folder."""
    if path.is_dir() and os.name == "nt":
        return  # a folder cannot be opened there; NTFS journals its names
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_full(error: BaseException) -> bool:
    """True if `error` or its text reports a full disk or a file that grew too large."""
    if isinstance(error, OSError) and error.errno in FULL_ERRORS:
        return True
    text = str(error)
    return any(
        words in text
        for words in ("No space left", "disk is full", "os error 28", "os error 27", "os error 122")
    )


@contextmanager
def disk_errors_for(path: Path) -> Iterator[None]:
    """Turn “no space left” into a DiskFull that names the disk and its free space.

    Any other disk error without a file name gets `path` as its file name.
    """
    try:
        yield
    except DiskFull:
        raise  # already names the path, possibly on another disk
    except Exception as error:  # libraries report a full disk by many types
        if not is_full(error):
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(path)
            raise
        existing = next(p for p in (path, *path.parents) if p.exists())
        free = shutil.disk_usage(existing).free
        raise DiskFull(
            phrase(
                "The disk is full: {free:.0f} MB are left where {path} should be written.",
                free=free / 1e6,
                path=path.name,
            ),
            phrase(
                "Free some space on the disk of {existing} and try again. Existing files are "
                "unchanged.",
                existing=existing,
            ),
            existing,
        ) from error


def temporary_path(path: Path) -> Path:
    """A new temporary name next to `path`; a long name is truncated.

    Raises OSError if `path` is a device: none is ever replaced, not even /dev/null by root.
    """
    with suppress(FileNotFoundError, NotADirectoryError):
        kind = path.lstat().st_mode
        if stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
            raise OSError(errno.ENXIO, os.strerror(errno.ENXIO), str(path))
    return sibling(path, f"{_temporary_prefix(path)}{secrets.token_hex(4)}")


def sibling(path: Path, name: str) -> Path:
    """`name` in the folder of `path`.

    Raises IsADirectoryError if `path` has no name, as “/”, “” and “.”.
    """
    if not path.name:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return path.with_name(name)


def _temporary_prefix(path: Path) -> str:
    name, limit = os.fsencode(path.name), MAX_NAME_BYTES - len("..tmp-01234567")
    prefix = path.name if len(name) <= limit else name[:limit].decode(errors="ignore")
    return f".{prefix}.tmp-"


def final_path(path: Path) -> Path:
    """The final path of a temporary path or of a file in it."""
    parts = (TEMPORARY.fullmatch(part) for part in path.parts)
    return Path(*(m[1] if m else part for m, part in zip(parts, path.parts, strict=True)))


def check_new_folder(path: Path) -> None:
    """Raise StudioError unless a folder can be made at `path`, or is empty."""
    if path.is_symlink() or (path.exists() and (not path.is_dir() or any(path.iterdir()))):
        raise StudioError("{path} already exists.", "Choose a new folder.", path=path)


def check_free_space(path: Path, needed: int) -> None:
    """Raise DiskFull if the disk of `path` has less than `needed` bytes left."""
    existing = next(p for p in (path, *path.parents) if p.exists())
    free = shutil.disk_usage(existing).free
    if free < needed:
        raise DiskFull(
            phrase(
                "The disk is full: {path} needs {needed:.0f} MB, and {free:.0f} MB are left.",
                path=path.name,
                needed=needed / 1e6,
                free=free / 1e6,
            ),
            phrase(
                "Free {needed:.0f} MB on the disk of {existing} and try again. Existing "
                "files are unchanged.",
                needed=(needed - free) / 1e6,
                existing=existing,
            ),
            existing,
            needed,
        )


def write_file(path: Path, content: bytes, shared: bool = False) -> None:
    """Replace `path` by `content`, or leave it as it was; `shared` as in `atomic_file`."""
    with atomic_file(path, shared) as temporary, open(temporary, "r+b") as file:
        file.write(content)


def append_file(path: Path, content: bytes) -> None:
    """Append to a file that only the user may read, made if it does not exist.

    The operating system has the content when this returns: ending the program loses nothing.
    """
    with disk_errors_for(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(path, "ab", opener=_open_private) as file:
            file.write(content)


@contextmanager
def atomic_file(path: Path, shared: bool = False) -> Iterator[Path]:
    """Yield an empty file to fill; it then replaces `path`, complete and durable.

    If the block raises, `path` stays as it was. Only the user may read it, unless it is `shared`:
    an output with the user's usual permissions.
    """
    temporary = temporary_path(path)
    try:
        with disk_errors_for(path):
            with open(temporary, "xb", opener=_open_private):
                pass
            yield temporary
            if shared and os.name == "posix":
                os.chmod(temporary, 0o666 & ~_user_umask())
            _flush(temporary)
            os.replace(temporary, path)
            _flush(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def sha256(path: Path) -> str:
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def atomic_folder(path: Path, has_manifest: bool = True) -> Iterator[Path]:
    """Yield an empty folder to fill; it then replaces `path`, complete and durable.

    If the block raises, `path` stays as it was. An existing folder is replaced only after the new
    one is complete. Folders for other programs have no manifest.
    """
    temporary = temporary_path(path)
    try:
        with disk_errors_for(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir(mode=0o700)
            yield temporary
            _seal(temporary, has_manifest)
            old = None
            if path.is_symlink():
                path.unlink()
            elif path.exists():
                old = path.with_name(f"{OLD}{secrets.token_hex(4)}")
                old.mkdir(mode=0o700)
                os.rename(path, old / path.name)
            os.rename(temporary, path)
            _flush(path.parent)
            if old is not None:
                shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _seal(folder: Path, has_manifest: bool) -> None:
    """Flush every file, then write the manifest and flush it and the folders."""
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    for file in files:
        _flush(file)
    if has_manifest:
        _write_manifest(folder, files)
    for inner in sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True):
        _flush(inner)
    _flush(folder)


def _write_manifest(folder: Path, files: list[Path]) -> None:
    entries = {
        file.relative_to(folder).as_posix(): {"bytes": file.stat().st_size, "sha256": sha256(file)}
        for file in files
    }
    with open(folder / MANIFEST, "x", encoding="utf-8") as out:
        json.dump({"files": entries}, out, indent=1)
        out.flush()
        os.fsync(out.fileno())


def verify(folder: Path) -> None:
    """Raise BadCheckpoint if a file differs from the manifest; a folder without one passes."""
    manifest = folder / MANIFEST
    if not manifest.exists():
        return
    for name, (size, digest) in _read_manifest(manifest).items():
        file = folder / name
        if not file.is_file() or file.stat().st_size != size or sha256(file) != digest:
            raise BadCheckpoint(
                "{name} in {folder} is damaged: it is not what was saved.",
                "Use an earlier checkpoint, or copy this one again from where it came.",
                name=name,
                folder=folder.name,
            )


def _read_manifest(manifest: Path) -> dict[str, tuple[int, str]]:
    try:
        content = read_json(manifest, MAX_MANIFEST)["files"]
        listed = {name: (entry["bytes"], entry["sha256"]) for name, entry in content.items()}
        if not all(_is_inside(name) for name in listed):
            raise ValueError("a name leads out of the folder")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadCheckpoint(
            "The manifest of {folder} is damaged.",
            "Use an earlier checkpoint.",
            folder=manifest.parent.name,
        ) from error
    return listed


def _is_inside(name: str) -> bool:
    return not Path(name).is_absolute() and ".." not in Path(name).parts and "\0" not in name


def clear_leftovers(parent: Path) -> None:
    """Remove leftovers of interrupted writes below `parent`; restore replaced folders.

    Entries that cannot be removed are left for the next time.
    """
    for entry in parent.iterdir() if parent.is_dir() else ():
        with suppress(OSError):
            _clear_leftover(entry)


def _clear_leftover(entry: Path) -> None:
    name = entry.name
    if name.startswith(OLD):
        for old in entry.iterdir():
            if not (target := entry.with_name(old.name)).exists():
                os.rename(old, target)
        shutil.rmtree(entry, ignore_errors=True)
    elif name.startswith(".") and ".tmp-" in name:
        shutil.rmtree(entry, ignore_errors=True) if entry.is_dir() else entry.unlink()


def remove_atomically(folder: Path) -> None:
    """Remove a folder so that at any time it is complete or absent; `clear_leftovers` removes the
    rest after a crash."""
    removed = temporary_path(folder)
    os.rename(folder, removed)
    shutil.rmtree(removed)


def keep_files_private() -> None:
    """Let only the user read what this process and its children create from now on.

    Call it at the start of a program. Files outside the home get the user's usual permissions by
    `apply_user_umask` and `write_file`.
    """
    umask = os.umask(0o077)
    os.environ.setdefault(UMASK, f"{umask:o}")


def apply_user_umask(folder: Path) -> None:
    """Give a folder outside the home the user's usual permissions."""
    if os.name != "posix":
        return
    umask = _user_umask()
    for inner in (folder, *folder.rglob("*")):
        inner.chmod((0o777 if inner.is_dir() else 0o666) & ~umask)


def _user_umask() -> int:
    """The user's umask, also after `keep_files_private`."""
    if UMASK in os.environ:
        return int(os.environ[UMASK], 8)
    umask = os.umask(0o077)
    os.umask(umask)
    return umask


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def clear_file_leftovers(path: Path) -> None:
    """Remove leftovers of an interrupted write of `path`; no process may be writing it now."""
    for entry in path.parent.iterdir() if path.parent.is_dir() else ():
        if entry.name.startswith(_temporary_prefix(path)):
            shutil.rmtree(entry, ignore_errors=True)
