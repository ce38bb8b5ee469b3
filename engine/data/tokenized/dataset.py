"""Tokenized data sets: token ids in memory-mapped files, cached on disk.

`ids.npy` concatenates the N inputs; `offsets.npy` has the start of each and `splits.npy` the length
of its first text. A folder is complete or absent, and safe to delete.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import StudioError
from engine.files.atomic_write import atomic_folder, verify
from engine.files.regular_file import check_regular
from engine.progress import ProgressCallback
from engine.tokenizers.batches import MAX_TEXTS, batches
from engine.tokenizers.tokenizer import Tokenizer

FILES = ("ids.npy", "offsets.npy", "splits.npy")
COUNT_CHUNK = 1 << 22  # token ids
MAX_BUFFERED_VALUES = 200_000
MIN_TAIL = 2  # tokens of the next document that must fit after a [SEP] in its row


class TokenizedDataset:
    """Inputs of the network with [CLS] and [SEP], memory-mapped."""

    def __init__(
        self,
        ids: NDArray[np.unsignedinteger],
        offsets: NDArray[np.int64],
        splits: NDArray[np.int32],
    ) -> None:
        self._ids, self._offsets, self._splits = ids, offsets, splits

    @classmethod
    def open(cls, folder: Path) -> Self:
        """Map the files of a folder.

        Raises StudioError if they are damaged or inconsistent.
        """
        try:
            ids, offsets, splits = (
                np.load(check_regular(folder / name), mmap_mode="r", allow_pickle=False)
                for name in FILES
            )
            if len(ids) != offsets[-1] or len(offsets) != len(splits) + 1:
                raise ValueError("lengths differ")
        except (OSError, ValueError, TypeError, IndexError, EOFError) as error:
            raise StudioError(
                "The token files in {folder} are damaged.",
                "Delete this folder; it will be created again when needed.",
                folder=folder.name,
            ) from error
        return cls(ids, offsets, splits)

    def __len__(self) -> int:
        return len(self._splits)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each input, int64 [N]."""
        return np.diff(self._offsets)

    def length(self, index: int) -> int:
        """Tokens of one input."""
        return int(self._offsets[index + 1] - self._offsets[index])

    @property
    def tokens(self) -> int:
        return int(self._offsets[-1])

    def ids(self, index: int) -> NDArray[np.int64]:
        """Token ids of one input, int64 [T]."""
        first, last = self._offsets[index], self._offsets[index + 1]
        return self._ids[first:last].astype(np.int64)

    def counts(self, vocabulary: int) -> NDArray[np.int64]:
        """Number of occurrences of each of the first `vocabulary` ids, int64 [vocabulary]."""
        counts = np.zeros(vocabulary, dtype=np.int64)
        for first in range(0, self.tokens, COUNT_CHUNK):
            counts += np.bincount(self.token_ids(first, COUNT_CHUNK), minlength=vocabulary)
        return counts

    def token_ids(self, first: int, count: int) -> NDArray[np.int64]:
        """Up to `count` token ids of the concatenated inputs from position `first`, int64."""
        return self._ids[first : first + count].astype(np.int64)

    def segments(self, index: int) -> NDArray[np.int64]:
        """Segment ids of one input, int64 [T]: 0 in the first text, 1 in the second."""
        length, split = self.length(index), int(self._splits[index])
        return (np.arange(length) >= split).astype(np.int64)


def cache_key(fingerprint: str, tokenizer: Tokenizer, max_length: int, kind: str) -> str:
    """Folder name that depends on the data, the tokenizer, the length and the kind."""
    parts = json.dumps([fingerprint, tokenizer.fingerprint, max_length, kind, 2])
    return f"{kind}-{hashlib.sha256(parts.encode('utf-8')).hexdigest()[:24]}"


def tokenize_examples(
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: ProgressCallback | None = None,
) -> TokenizedDataset:
    """Tokenize each text or pair of texts into one input, in order.

    Opens `folder` if it is complete; name it by `cache_key`.
    """
    if (existing := open_cached(folder)) is not None:
        return existing
    with atomic_folder(folder) as partial, TokenizedWriter(partial, tokenizer.size) as writer:
        for first in range(0, len(texts), MAX_TEXTS):
            last = min(first + MAX_TEXTS, len(texts))
            second = None if pairs is None else pairs[first:last]
            for ids, segments in tokenizer.encode_many(texts[first:last], second, max_length):
                writer.add(ids, segments.count(0))
            if progress is not None:
                progress(last, len(texts))
    return TokenizedDataset.open(folder)


def tokenize_stream(
    texts: Iterable[str],
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: ProgressCallback | None = None,
    total: int = 0,
) -> TokenizedDataset:
    """Tokenize documents as one stream, cut into inputs of `max_length` tokens.

    An input is [CLS], up to `max_length` - 2 tokens, [SEP]. At the end of a document, [SEP] and the
    next document follow in the same input, as in FULL-SENTENCES of Liu et al. 2019, §4.2. `total`
    is the number of texts, for `progress`.

    Raises StudioError if there is no text.
    """
    if (existing := open_cached(folder)) is not None:
        return existing
    with atomic_folder(folder) as partial, TokenizedWriter(partial, tokenizer.size) as writer:
        cls, sep, max_tokens = tokenizer.cls, tokenizer.sep, max(max_length - 2, 1)
        row: list[int] = []
        done = 0
        for batch in batches(texts):
            for ids in tokenizer.contents(batch):
                if row and ids:
                    row.append(sep)
                start = 0
                while start < len(ids):
                    part = ids[start : start + max_tokens - len(row)]
                    start += len(part)
                    row += part
                    is_full = max_tokens - len(row) < (MIN_TAIL + 1 if start == len(ids) else 1)
                    if is_full:
                        writer.add([cls, *row, sep])
                        row = []
            done += len(batch)
            if progress is not None:
                progress(done, total)
        if row:
            writer.add([cls, *row, sep])
        if not writer.rows:
            raise StudioError("There is no text to train on.", "Choose files with text.")
    return TokenizedDataset.open(folder)


def open_cached(folder: Path) -> TokenizedDataset | None:
    """Open a complete folder; None if it is absent or damaged."""
    if not folder.is_dir():
        return None
    try:
        verify(folder)
        return TokenizedDataset.open(folder)
    except StudioError:
        return None


class TokenizedWriter:
    """Writes the files of a folder input by input; they are complete once closed."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        kind = np.uint16 if vocabulary <= 1 << 16 else np.uint32
        ids, offsets, splits = (folder / name for name in FILES)
        self._ids = GrowingArray(ids, kind)
        self._offsets = GrowingArray(offsets, np.int64)
        self._splits = GrowingArray(splits, np.int32)
        self._offsets.add(0)
        self.rows = self._tokens = 0

    def __enter__(self) -> Self:
        return self

    def add(self, ids: list[int], split: int | None = None) -> None:
        """Append one input; `split` is the start of its second text."""
        self._tokens += len(ids)
        self.rows += 1
        self._ids.extend(ids)
        self._offsets.add(self._tokens)
        self._splits.add(len(ids) if split is None else split)

    def __exit__(self, *_error: object) -> None:
        with self._ids, self._offsets, self._splits:
            pass


class GrowingArray:
    """Writes a 1-D `.npy` file value by value; it is complete once closed."""

    def __init__(self, path: Path, dtype: type[np.integer[Any]]) -> None:
        self._dtype = np.dtype(dtype)
        self._buffer = array("q")
        self._count = 0
        self._file: BinaryIO = open(path, "xb")  # noqa: SIM115  closed by __exit__
        self._write_header()

    def __enter__(self) -> Self:
        return self

    def add(self, value: int) -> None:
        self.extend((value,))

    def extend(self, values: Sequence[int]) -> None:
        self._buffer.extend(values)
        if len(self._buffer) > MAX_BUFFERED_VALUES:
            self._flush()

    def _flush(self) -> None:
        self._count += len(self._buffer)
        self._file.write(np.array(self._buffer, dtype=self._dtype).tobytes())
        self._buffer = array("q")

    def _write_header(self) -> None:
        """Write or overwrite the header: NumPy pads it so that any count fits."""
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._count,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def __exit__(self, *error: object) -> None:
        with self._file:
            self._flush()
            self._file.seek(0)
            self._write_header()
