"""Vectors of texts in the cache of the home: a model reads each text once, in any data set.

A folder for each model has files of at most `CHUNK` rows, each written whole: a computation that
was stopped goes on. Texts are found by their hash, also in other versions of a data set.
Shapes: N texts or keys, D size of a row.
"""

import hashlib
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from engine.files.atomic_write import atomic_file, disk_errors_for
from engine.files.home import Home
from engine.files.regular_file import check_regular
from engine.models.checkpoint import Checkpoint
from engine.progress import ProgressCallback, no_progress
from engine.tasks.similarity import sentence_vectors

FOLDER = "vectors"
CHUNK = 2_048  # rows
MAX_BYTES = 2_000_000_000  # of all models; the folders not used for longest are deleted

Keys = NDArray[np.uint64]
Places = NDArray[np.int64]
Compute = Callable[[Places, ProgressCallback], NDArray[np.float32]]


def text_vectors(
    loaded: Checkpoint,
    checkpoint: Path,
    texts: Sequence[str],
    progress: ProgressCallback = no_progress,
) -> NDArray[np.float32]:
    """`sentence_vectors` of texts, float32 [N, D], by the model `loaded` from `checkpoint`."""
    distinct = sorted(dict.fromkeys(texts), key=len)
    places = {text: place for place, text in enumerate(distinct)}
    keys = np.array([text_key(text) for text in distinct], dtype=np.uint64)

    def compute(rows: Places, report: ProgressCallback) -> NDArray[np.float32]:
        return sentence_vectors(loaded, [distinct[row] for row in rows], progress=report)

    vectors = cached_rows(model_folder(checkpoint), keys, compute, progress)
    return vectors[[places[text] for text in texts]]


def cached_rows(
    folder: Path, keys: Keys, compute: Compute, progress: ProgressCallback = no_progress
) -> NDArray[np.float32]:
    """Rows of numbers by their different keys, float32 [N, D].

    `compute` gets the places in `keys` of at most `CHUNK` rows that the folder lacks; they are
    stored before the next ones are computed.
    """
    if folder.is_dir():
        folder.touch()  # used last
    known, stored = _read(folder)
    order = np.argsort(known)
    found = np.minimum(np.searchsorted(known, keys, sorter=order), max(len(known) - 1, 0))
    is_known = known[order[found]] == keys if len(known) else np.zeros(len(keys), dtype=bool)
    new = np.flatnonzero(~is_known)
    parts = list[NDArray[np.float32]]()
    for first in range(0, len(new), CHUNK):
        chunk = new[first : first + CHUNK]
        rows = compute(chunk, partial(_report, progress, first, len(chunk), len(new)))
        _write(folder, keys[chunk], rows)
        parts.append(rows)
    size = parts[0].shape[1] if parts else stored.shape[1]
    result = np.zeros((len(keys), size), dtype=np.float32)
    if is_known.any():
        result[is_known] = stored[order[found[is_known]]]
    if parts:
        result[new] = np.concatenate(parts)
    return result


def _report(
    progress: ProgressCallback, first: int, count: int, total: int, done: int, batches: int
) -> None:
    progress(first + count * done // batches, total)


def text_key(text: str) -> int:
    """A hash of a text, 64 bits."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "little")


def model_folder(checkpoint: Path, content: str = "") -> Path:
    """The folder of a model in the cache, by its place and its files; `content`: what it has."""
    files = sorted(path for path in checkpoint.iterdir() if path.is_file())
    states = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    key = (repr((checkpoint.absolute(), states)) + content).encode(errors="surrogatepass")
    return Home().cache / FOLDER / hashlib.sha256(key).hexdigest()[:24]


def _read(folder: Path) -> tuple[Keys, NDArray[np.float32]]:
    """Keys [M] and vectors [M, D] of all files; a damaged file is deleted."""
    keys, vectors, size = [np.zeros(0, dtype=np.uint64)], list[NDArray[np.float32]](), None
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(check_regular(path), allow_pickle=False) as chunk:
                part = chunk["vectors"].astype(np.float32, copy=False)
                if part.shape != (len(chunk["keys"]), size or part.shape[-1]):
                    raise ValueError(path.name)
                keys.append(chunk["keys"].astype(np.uint64, copy=False))
        except (OSError, ValueError, KeyError, BadZipFile, EOFError):
            path.unlink(missing_ok=True)
            continue
        vectors.append(part)
        size = part.shape[-1]
    return np.concatenate(keys), np.concatenate(vectors or [np.zeros((0, 0), dtype=np.float32)])


def _write(folder: Path, keys: Keys, vectors: NDArray[np.float32]) -> None:
    with disk_errors_for(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"{int(keys[0]):016x}-{len(keys)}.npz"
        with atomic_file(path) as file, open(file, "wb") as out:
            np.savez(out, keys=keys, vectors=vectors)
        _evict(folder)


def _evict(current: Path) -> None:
    """Delete the folders of the models that were used least recently, beyond `MAX_BYTES`."""
    folders = [path for path in current.parent.iterdir() if path.is_dir()]
    used = 0
    for folder in sorted(folders, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        used += _size(folder)
        if used > MAX_BYTES and folder != current:
            shutil.rmtree(folder, ignore_errors=True)


def _size(folder: Path) -> int:
    """Bytes of the files in a folder; another process may delete them meanwhile."""
    size = 0
    for file in folder.glob("*"):
        with suppress(FileNotFoundError):
            size += file.stat().st_size
    return size
