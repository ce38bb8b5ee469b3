"""Token ids in memory-mapped files, made once and cached.

N inputs of the network stand one after another in `ids.bin`; `offsets.npy` says where each begins
and `splits.npy` where its second text does. A folder is whole or absent, and safe to delete.
"""

import hashlib
import json
from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

import numpy as np
from numpy.typing import NDArray

from engine.errors import StudioError
from engine.files.atomic_write import verify, whole_folder
from engine.files.regular_file import read_json, regular
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tokenizers.batches import MOST_TEXTS, batches
from engine.tokenizers.tokenizer import Tokenizer

COUNTED = 1 << 22  # token ids that are counted at once
MAX_BUFFERED_NUMBERS = 200_000  # numbers that are in memory before they are written
SHORTEST_TAIL = 2  # tokens of the next document that must fit behind a [SEP] in its row


class TokenizedDataset:
    """Inputs of the network, with [CLS] and [SEP], read from disk as they are needed."""

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

        Raises:
            StudioError: when they are damaged or do not belong together.
        """
        try:
            spec = read_json(folder / "spec.json")
            mapped: Literal["r"] | None = "r" if spec["rows"] else None
            offsets = np.load(regular(folder / "offsets.npy"), mmap_mode=mapped, allow_pickle=False)
            splits = np.load(regular(folder / "splits.npy"), mmap_mode=mapped, allow_pickle=False)
            dtype = np.dtype(spec["dtype"])
            ids = (
                np.memmap(regular(folder / "ids.bin"), dtype=dtype, mode="r")
                if spec["tokens"]
                else np.zeros(0, dtype=dtype)
            )
            if len(ids) != offsets[-1] or len(offsets) != len(splits) + 1:
                raise ValueError("lengths differ")
        except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
            raise StudioError(
                phrase("The token files in {folder} are damaged.", folder=folder.name),
                phrase("Delete this folder; it will be created again when needed."),
            ) from error
        return cls(ids, offsets, splits)

    def __len__(self) -> int:
        return len(self._splits)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """int64 [N], tokens of each input."""
        return np.diff(self._offsets)

    def length(self, number: int) -> int:
        """Tokens of one input."""
        return int(self._offsets[number + 1] - self._offsets[number])

    @property
    def tokens(self) -> int:
        return int(self._offsets[-1])

    def ids(self, number: int) -> NDArray[np.int64]:
        """int64 [T], the piece ids of one input."""
        first, last = self._offsets[number], self._offsets[number + 1]
        return self._ids[first:last].astype(np.int64)

    def counts(self, pieces: int) -> NDArray[np.int64]:
        """How often each of the first `pieces` pieces stands in all inputs, int64 [pieces]."""
        found = np.zeros(pieces, dtype=np.int64)
        for first in range(0, self.tokens, COUNTED):
            found += np.bincount(self.token_ids(first, COUNTED), minlength=pieces)
        return found

    def token_ids(self, first: int, count: int) -> NDArray[np.int64]:
        """int64 [≤ count], the ids of all inputs one after another, from place `first`."""
        return self._ids[first : first + count].astype(np.int64)

    def segments(self, number: int) -> NDArray[np.int64]:
        """int64 [T], 0 in the first text and 1 in the second."""
        length, split = self.length(number), int(self._splits[number])
        return (np.arange(length) >= split).astype(np.int64)


def cache_key(fingerprint: str, tokenizer: Tokenizer, max_length: int, kind: str) -> str:
    """A folder name that changes with the data, the vocabulary, the length and the way."""
    parts = json.dumps([fingerprint, tokenizer.fingerprint, max_length, kind, 1])
    return f"{kind}-{hashlib.sha256(parts.encode('utf-8')).hexdigest()[:24]}"


def tokenize_examples(
    texts: Sequence[str],
    pairs: Sequence[str] | None,
    tokenizer: Tokenizer,
    max_length: int,
    folder: Path,
    progress: ProgressCallback | None = None,
) -> TokenizedDataset:
    """One input for each text, or pair of texts, in their order.

    What already stands in `folder` is opened; name it by `cache_key`.
    """
    if (made := open_cached(folder)) is not None:
        return made
    with whole_folder(folder) as new, TokenizedWriter(new, tokenizer.size) as writer:
        for first in range(0, len(texts), MOST_TEXTS):
            last = min(first + MOST_TEXTS, len(texts))
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
    """Documents as one stream, cut into rows of `max_length` tokens.

    A row is [CLS], up to `max_length` - 2 tokens, [SEP]. Where a document ends, [SEP] and the next
    one follow in the same row, as in the FULL-SENTENCES inputs of Liu et al. 2019, §4.2.
    `total` is how many texts there are, for `progress`.

    Raises:
        StudioError: when there is no text at all.
    """
    if (made := open_cached(folder)) is not None:
        return made
    with whole_folder(folder) as new, TokenizedWriter(new, tokenizer.size) as writer:
        cls, sep, room = tokenizer.cls, tokenizer.sep, max(max_length - 2, 1)
        row: list[int] = []
        done = 0
        for batch in batches(texts):
            for ids in tokenizer.contents(batch):
                if row and ids:
                    row.append(sep)
                start = 0
                while start < len(ids):
                    taken = ids[start : start + room - len(row)]
                    start += len(taken)
                    row += taken
                    full = room - len(row) < (SHORTEST_TAIL + 1 if start == len(ids) else 1)
                    if full:
                        writer.add([cls, *row, sep])
                        row = []
            done += len(batch)
            if progress is not None:
                progress(done, total)
        if row:
            writer.add([cls, *row, sep])
        if not writer.rows:
            raise StudioError(
                phrase("There is no text to train on."), phrase("Choose files with text.")
            )
    return TokenizedDataset.open(folder)


def open_cached(folder: Path) -> TokenizedDataset | None:
    """The inputs that stand in `folder` already, if they are whole."""
    if not folder.is_dir():
        return None
    try:
        verify(folder)
        return TokenizedDataset.open(folder)
    except StudioError:
        return None


class TokenizedWriter:
    """Writes the files of a folder row by row; on leaving without an error they are complete."""

    def __init__(self, folder: Path, vocabulary: int) -> None:
        self._folder = folder
        self._dtype = np.dtype("<u2" if vocabulary <= 1 << 16 else "<u4")
        self._offsets = GrowingArray(folder / "offsets.npy", np.int64)
        self._splits = GrowingArray(folder / "splits.npy", np.int32)
        self._offsets.add(0)
        self._waiting = array("q")
        self.rows = self._tokens = 0
        self._file: BinaryIO = open(folder / "ids.bin", "xb")  # noqa: SIM115  closed by __exit__

    def __enter__(self) -> Self:
        return self

    def add(self, ids: list[int], split: int | None = None) -> None:
        """Append one input; `split` is where its second text begins."""
        self._waiting.extend(ids)
        self._tokens += len(ids)
        self.rows += 1
        self._offsets.add(self._tokens)
        self._splits.add(len(ids) if split is None else split)
        if len(self._waiting) > MAX_BUFFERED_NUMBERS:
            self._flush()

    def _flush(self) -> None:
        self._file.write(np.array(self._waiting, dtype=self._dtype).tobytes())
        self._waiting = array("q")

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        with self._file, self._offsets, self._splits:
            if kind is not None:
                return
            self._flush()
        spec = {"dtype": self._dtype.str, "rows": self.rows, "tokens": self._tokens}
        (self._folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")


class GrowingArray:
    """A `.npy` file of one dimension that is written number by number; closed, it is complete."""

    def __init__(self, path: Path, dtype: type[np.integer[Any]]) -> None:
        self._dtype = np.dtype(dtype)
        self._waiting = array("q")
        self._count = 0
        self._file: BinaryIO = open(path, "xb")  # noqa: SIM115  closed by __exit__
        self._write_header()

    def __enter__(self) -> Self:
        return self

    def add(self, number: int) -> None:
        self._waiting.append(number)
        if len(self._waiting) > MAX_BUFFERED_NUMBERS:
            self._flush()

    def _flush(self) -> None:
        self._count += len(self._waiting)
        self._file.write(np.array(self._waiting, dtype=self._dtype).tobytes())
        self._waiting = array("q")

    def _write_header(self) -> None:
        """NumPy leaves room in it for any count, so that it can be written over."""
        header = {"descr": self._dtype.str, "fortran_order": False, "shape": (self._count,)}
        np.lib.format.write_array_header_1_0(self._file, header)

    def __exit__(self, *error: object) -> None:
        with self._file:
            self._flush()
            self._file.seek(0)
            self._write_header()
