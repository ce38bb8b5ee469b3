"""Files of an untrusted folder, such as a downloaded checkpoint.

A file is read only if it is a plain one in the folder itself; a link may lead to another file in
it, or to the blobs of the download cache that contains it, and nowhere else.
"""

import hashlib
import json
import mmap
import os
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.errors import BadCheckpoint
from engine.files.atomic_write import MANIFEST
from engine.files.regular_file import open_regular, read_regular
from engine.phrases import phrase
from engine.visible import one_line, shorten

MAX_JSON = 32_000_000  # bytes; an index of a thousand layers, or very many labels
MAX_SAFE_NAME = 80  # characters of an untrusted name in a sentence
AGAIN = phrase("Download it again completely, or choose another checkpoint.")
LFS = b"version https://git-lfs"
HTML_STARTS = (b"<!doctype html", b"<html", b"<?xml", b"<head")


def safe_name(text: object) -> str:
    """An untrusted name for a sentence: visible, on one line, not too long."""
    return shorten(one_line(str(text)[:1_000]), MAX_SAFE_NAME)


def check_folder(folder: Path) -> None:
    """Raise BadCheckpoint if there is no such folder, or it is a file."""
    if folder.is_file():
        raise BadCheckpoint(
            "{folder} is a file, not the folder of a checkpoint.",
            "Choose the folder that contains it.",
            folder=safe_name(folder.name),
        )
    if not folder.is_dir():
        raise BadCheckpoint(
            "There is no folder {folder}.",
            "It may have been moved or deleted.",
            folder=safe_name(folder.name),
        )


def plain_file(folder: Path, name: str) -> Path | None:
    """The file `name` of `folder`, None if it does not exist.

    Raises BadCheckpoint for a name with a path in it, for what is not a plain file, and for a link
    out of the folder.
    """
    if Path(name).name != name or "\\" in name or not name.isprintable() or len(name) > 255:
        raise BadCheckpoint(
            "“{name}” is not a file name in {folder}.",
            phrase("Files outside the folder are never read. ") + AGAIN,
            name=safe_name(name),
            folder=safe_name(folder.name),
        )
    try:
        path = folder / name
        if not path.is_symlink() and not path.exists():
            return None
        real, root = path.resolve(strict=True), folder.resolve(strict=True)
        if not stat.S_ISREG(real.stat().st_mode):
            raise BadCheckpoint(
                "{name} in {folder} is not a plain file.",
                AGAIN,
                name=name,
                folder=safe_name(folder.name),
            )
    except (OSError, RuntimeError) as error:  # a dangling or circular link; no permission
        raise BadCheckpoint(
            "{name} in {folder} cannot be read.", AGAIN, name=name, folder=safe_name(folder.name)
        ) from error
    if not real.is_relative_to(root) and not _in_cache(real, root):
        raise BadCheckpoint(
            "{name} in {folder} is a link that points outside the folder.",
            "Files outside the folder are never read. Put the file itself into the folder.",
            name=name,
            folder=safe_name(folder.name),
        )
    return path


def _in_cache(real: Path, root: Path) -> bool:
    """True if a snapshot of the hub's download cache points at the blobs of the same model."""
    return root.parent.name == "snapshots" and real.parent == root.parent.parent / "blobs"


def check_content(path: Path) -> None:
    """Raise BadCheckpoint if the file is empty, a Git LFS pointer or a web page."""
    with open_regular(path) as file:
        first = file.read(512).lstrip().lower()
    if not path.stat().st_size:
        raise BadCheckpoint("{path} is empty.", AGAIN, path=path.name)
    if first.startswith(LFS):
        raise BadCheckpoint(
            "{path} is only a Git LFS pointer: the file itself was not downloaded.",
            "Run “git lfs pull” in the original folder, or download the file separately.",
            path=path.name,
        )
    if first.startswith(HTML_STARTS):
        raise BadCheckpoint(
            "{path} is a web page, so the download went wrong.", AGAIN, path=path.name
        )


def json_object(folder: Path, name: str) -> dict[str, Any] | None:
    """The object in a JSON file of `folder`, None if there is no such file."""
    content = _json(folder, name, MAX_JSON)
    if content is not None and not isinstance(content, dict):
        raise BadCheckpoint("{name} is not a JSON object.", AGAIN, name=name)
    return content


def json_list(folder: Path, name: str, max_bytes: int = MAX_JSON) -> list[Any] | None:
    """The list in a JSON file of `folder`, None if there is no such file."""
    content = _json(folder, name, max_bytes)
    if content is not None and not isinstance(content, list):
        raise BadCheckpoint("{name} is not a JSON list.", AGAIN, name=name)
    return content


def _json(folder: Path, name: str, max_bytes: int) -> Any:
    path = plain_file(folder, name)
    if path is None:
        return None
    check_content(path)
    if path.stat().st_size > max_bytes:
        raise BadCheckpoint("{name} is far too large for such a file.", AGAIN, name=name)
    try:
        content = json.loads(
            read_regular(path, max_bytes).decode("utf-8-sig"), parse_constant=_refuse
        )
    except json.JSONDecodeError as error:
        raise BadCheckpoint(
            "{name} is not valid JSON: line {lineno}, column {colno}.",
            AGAIN,
            name=name,
            lineno=error.lineno,
            colno=error.colno,
        ) from error
    except (ValueError, RecursionError) as error:
        raise BadCheckpoint("{name} is not valid JSON.", AGAIN, name=name) from error
    if content is None:
        raise BadCheckpoint("{name} is not a JSON object.", AGAIN, name=name)
    return content


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number in JSON")


@contextmanager
def verify_in_parallel(folder: Path, names: list[str]) -> Iterator[None]:
    """Verify files against the studio's own manifest while the block reads them.

    Raises BadCheckpoint for a changed file, which takes precedence over errors of the block.
    """
    with ThreadPoolExecutor(1) as pool:
        verification = pool.submit(_check_unchanged, folder, names)
        try:
            yield
        finally:
            verification.result()


def _sha256(path: Path) -> str:
    """Hash the mapped file in one call: a loop over chunks would wait for the GIL after each, which
    the thread that copies the weights holds most of the time."""
    with open_regular(path) as file:
        if not os.fstat(file.fileno()).st_size:
            return hashlib.sha256().hexdigest()  # an empty file cannot be mapped
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            return hashlib.sha256(mapped).hexdigest()


def _check_unchanged(folder: Path, names: list[str]) -> None:
    manifest = json_object(folder, MANIFEST)
    entries = manifest.get("files") if manifest else None
    if not isinstance(entries, dict):
        return  # not saved by the studio
    for name in names:
        entry, path = entries.get(name), plain_file(folder, name)
        if not isinstance(entry, dict) or path is None:
            continue
        checksum = _sha256(path)
        if entry.get("sha256") not in (checksum, None):
            raise BadCheckpoint(
                "{name} in {folder} is damaged: it differs from what was saved.",
                "Use an earlier checkpoint, or copy this one again from the original.",
                name=name,
                folder=safe_name(folder.name),
            )
