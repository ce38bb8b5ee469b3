"""Errors of the operating system as sentences: a missing folder, no permission, a failing disk.

They are not bugs, and are translated at the edges of the program (the commands, the workers, the
window's background work and exception hook), so that no function between has to handle them.
"""

import errno
import os
import re
from pathlib import Path

from engine.errors import DiskFull, StudioError
from engine.files.atomic_write import FULL_ERRORS, final_path
from engine.phrases import phrase

MAX_TEXT = 10_000  # characters of a message that are searched for a code
CODE_IN_TEXT = re.compile(r"\(os error (\d+)\)|\[Errno (\d+)\]")  # as Rust and Arrow write it
PATH_IN_TEXT = re.compile(r"'([^'\n]+)'")


def explain_error(error: BaseException) -> StudioError | None:
    """Explain an error to the user; None if it is a bug.

    A StudioError explains itself. A system error can be explained if it names a file, or if its
    code says enough.
    """
    if isinstance(error, StudioError):
        return error
    explanation = _explain(_code(error), _path(error))
    if explanation is not None:
        explanation.__cause__ = error
    return explanation


def _explain(code: int, path: Path | None) -> StudioError | None:
    if path is not None:
        return (
            _explain_path(code, path)
            or _explain_disk(code, str(path))
            or _explain_other(code, path)
        )
    return _explain_disk(code, phrase("A file"))


def may_exist(path: Path) -> bool:
    """True if `path` exists, or if that cannot be determined: reading it then says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _code(error: BaseException) -> int:
    if isinstance(error, OSError) and error.errno:
        return error.errno
    match = CODE_IN_TEXT.search(str(error)[:MAX_TEXT])
    return int(match[1] or match[2]) if match else 0


def _path(error: BaseException) -> Path | None:
    if not _code(error):
        return None
    name = getattr(error, "filename", None)
    if name is None:
        match = PATH_IN_TEXT.search(str(error)[:MAX_TEXT])
        name = match[1] if match else None
    return None if name is None or isinstance(name, int) else final_path(Path(os.fsdecode(name)))


def _explain_path(code: int, path: Path) -> StudioError | None:
    """Errors about the path or kind of a file."""
    match code:
        case errno.ENOENT:
            missing = path
            while not may_exist(missing.parent) and missing != missing.parent:
                missing = missing.parent
            return StudioError(
                "There is no {path}.",
                phrase("Check the spelling, or create the folder first.")
                if missing != path
                else phrase("It may have been moved or deleted."),
                path=missing,
            )
        case errno.ENOTDIR | errno.EEXIST if (file := _find_file(path)) is not None:
            return StudioError(
                "{path} is not a folder.", "Choose another place, or move the file away.", path=file
            )
        case errno.EEXIST | errno.ENOTEMPTY:
            return StudioError("{path} already exists.", "Choose another name.", path=path)
        case errno.EISDIR:
            return StudioError(
                "{path} is a folder, not a file.",
                "Choose a file, or move the folder away.",
                path=path,
            )
        case errno.EACCES | errno.EPERM:
            return StudioError(
                "There is no permission to read or write {path}.",
                "Change its permissions, or choose another place.",
                path=path,
            )
        case errno.ENAMETOOLONG:
            return StudioError(
                "The name {path} is too long for the disk.", "Choose a shorter one.", path=path
            )
        case errno.ELOOP:
            return StudioError(
                "{path} is a symbolic link that cannot be followed.",
                "Replace the link with the file or folder itself.",
                path=path,
            )
        case errno.ESPIPE | errno.ENXIO:
            return StudioError(
                "{path} is a pipe or a device, not a file.",
                "Save its contents as a file first.",
                path=path,
            )
        case errno.EOVERFLOW:
            return StudioError(
                "{path} is larger than such a file can be.",
                "Check whether it is the right file.",
                path=path,
            )
    return None


def _explain_disk(code: int, name: str) -> StudioError | None:
    """Errors about the disk or the whole system."""
    match code:
        case errno.EROFS:
            return StudioError(
                "{path} cannot be written: its disk is read-only.",
                "Choose a place on another disk.",
                path=name,
            )
        case errno.EIO:
            return StudioError(
                "{path} cannot be read or written: the disk reports an input/output error.",
                "Check the disk and its connection, then try again.",
                path=name,
            )
        case errno.EMFILE | errno.ENFILE:
            return StudioError(
                "{path} cannot be opened: too many files are open.",
                "Close other programs and try again.",
                path=name,
            )
        case code if code in FULL_ERRORS:
            return DiskFull(
                phrase("{path} cannot be written: the disk is full.", path=name),
                phrase("Free some space and try again. Existing files are unchanged."),
            )
    return None


def _explain_other(code: int, path: Path) -> StudioError:
    return StudioError(
        "{path} cannot be used: {reason}.",
        "Check the file and its disk, then try again.",
        path=path,
        reason=os.strerror(code),
    )


def _find_file(path: Path) -> Path | None:
    """The part of `path` that is a file but should be a folder."""
    return next((p for p in (*reversed(path.parents), path) if _is_file(p)), None)


def _is_file(path: Path) -> bool:
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return False
