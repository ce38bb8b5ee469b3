"""Computations over many texts: reported twice a second, cancelled immediately, resumable.

The arrays of the texts are stored in chunks, in a folder named after the question and the files of
the checkpoint.
"""

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from engine.files.atomic_write import atomic_file, disk_errors_for
from engine.files.regular_file import check_regular
from engine.messages.explore.text_set import SetQuestion

Arrays = dict[str, np.ndarray]  # by name, one row per text

REPORT_SECONDS = 0.5
MAX_SECONDS, MIN_SECONDS = 0.4, 0.15  # per slice; beyond, the next is smaller or larger
MAX_SLICE = 256  # texts
BATCH_TOKENS = 512  # with padding
CHARACTERS_PER_TOKEN = 4  # approximate
MAX_BATCH = 16  # texts
MAX_FOLDERS, MAX_BYTES = 40, 500_000_000  # cached answers to earlier questions


class ArrayStore:
    """Arrays computed so far; without a folder they last as long as this object."""

    def __init__(self, question: SetQuestion) -> None:
        self.folder: Path | None = None
        self.chunks: list[Arrays] = []
        if question.cache is not None:
            self.folder = question.cache / question_key(question)
            with disk_errors_for(self.folder):
                self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _evict_oldest(question.cache, self.folder)
            self._read()

    @property
    def rows(self) -> int:
        return sum(len(next(iter(chunk.values()))) for chunk in self.chunks)

    def arrays(self) -> Arrays:
        """The arrays of all finished texts, in order."""
        return concatenate(self.chunks)

    def add(self, chunk: Arrays) -> None:
        """Append a chunk; the file is written atomically."""
        if self.folder is not None:
            path = self.folder / f"chunk-{len(self.chunks):08}.npz"
            with disk_errors_for(path), atomic_file(path) as file, open(file, "wb") as out:
                np.savez(out, **chunk)  # type: ignore[arg-type]
        self.chunks.append(chunk)

    def _read(self) -> None:
        assert self.folder is not None
        for index, path in enumerate(sorted(self.folder.glob("chunk-*.npz"))):
            try:
                if path.name != f"chunk-{index:08}.npz" or path.is_symlink():
                    raise ValueError(path.name)
                with np.load(check_regular(path), allow_pickle=False) as stored:
                    self.chunks.append({name: stored[name] for name in stored.files})
            except (OSError, ValueError, BadZipFile, EOFError):
                self.chunks = []
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder.mkdir(mode=0o700, exist_ok=True)
                return


def compute_texts(
    store: ArrayStore,
    count: int,
    compute: Callable[[int, int], Arrays],
    emit: Callable[[Arrays, int, int], object],
    step: int = 0,
) -> Arrays:
    """Compute the missing arrays of `count` texts, and return those of all.

    Args:
        compute: returns the arrays of the texts from one index to another.
        emit: gets the new results, as (arrays, first text, number of finished texts).
        step: number of texts per call of `compute`; 0: adapts to the speed.
    """
    done = min(store.rows, count)
    assert done == count or not step or done % step == 0
    if done:
        emit(store.arrays(), 0, done)
    pending: list[Arrays] = []
    min_texts = max(1, step)
    reported, groups = time.perf_counter(), 1  # `step` texts each
    while done < count:
        began = time.perf_counter()
        stop = min(done + groups * min_texts, count)
        starts = range(done, stop, step or stop - done)
        pending += [compute(first, min(first + starts.step, stop)) for first in starts]
        done, now = stop, time.perf_counter()
        if now - began > MAX_SECONDS:
            groups = max(1, groups // 2)
        elif now - began < MIN_SECONDS:
            groups = max(1, min(2 * groups, MAX_SLICE // min_texts))
        if now - reported >= REPORT_SECONDS or done == count:
            chunk = concatenate(pending)
            store.add(chunk)
            pending, reported = [], now
            emit(chunk, done - len(next(iter(chunk.values()))), done)
    return store.arrays()


def group_size(pairs: Sequence[tuple[str, str | None]]) -> int:
    """Number of these texts that take about the time of one long text when batched."""
    characters = sum(len(text) + len(pair or "") for text, pair in pairs) / max(1, len(pairs))
    return max(1, min(MAX_BATCH, int(BATCH_TOKENS * CHARACTERS_PER_TOKEN / max(1.0, characters))))


def batches(tokens: Sequence[int]) -> list[list[int]]:
    """Indices of the texts of each batch: of similar length, the shortest first, with at most
    BATCH_TOKENS tokens including padding, or a single text.

    The last bits of the results depend on the batch, so the arguments must not depend on the speed
    of the machine.

    Args:
        tokens: number of tokens of each text.
    """
    groups = list[list[int]]()
    for index in sorted(range(len(tokens)), key=lambda index: tokens[index]):
        if not groups or (len(groups[-1]) + 1) * tokens[index] > BATCH_TOKENS:
            groups.append([])
        groups[-1].append(index)
    return groups


def concatenate(chunks: list[Arrays]) -> Arrays:
    names = chunks[0] if chunks else ()
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in names}


def write_array(scratch: Path, array: np.ndarray) -> Path:
    """Write a new `.npy` file, which its reader removes."""
    with tempfile.NamedTemporaryFile(dir=scratch, suffix=".npy", delete=False) as file:
        np.save(file, array)
    return Path(file.name)


def question_key(question: SetQuestion) -> str:
    """Hash of the inputs of the result: the question and the files of the checkpoint."""
    content = question.model_dump(mode="json", exclude={"number", "side", "cache", *question.free})
    content["files"] = sorted(
        (file.name, file.stat().st_size, file.stat().st_mtime_ns)
        for folder in _folders(question)
        if folder.is_dir()
        for file in folder.iterdir()
        if file.is_file()
    )
    return hashlib.sha256(json.dumps(content).encode("utf-8")).hexdigest()[:24]


def _folders(question: SetQuestion) -> tuple[Path, ...]:
    data = question.texts.data
    other = getattr(question, "other", None)  # of a comparison of two models
    return tuple(
        folder
        for folder in (question.checkpoint, other, None if data is None else data.folder)
        if folder is not None
    )


def _evict_oldest(parent: Path, current: Path) -> None:
    """Remove the oldest cached answers until the cache is within its limits."""
    current.touch()
    folders = [path for path in parent.iterdir() if path.is_dir() and path != current]
    folders.sort(key=lambda path: path.stat().st_mtime_ns, reverse=True)
    used = 0
    for count, folder in enumerate(folders, start=2):
        used += sum(file.stat().st_size for file in folder.iterdir() if file.is_file())
        if count > MAX_FOLDERS or used > MAX_BYTES:
            shutil.rmtree(folder, ignore_errors=True)
