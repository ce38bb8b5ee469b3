"""Token counts of the rows of a data set, computed once and cached."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.background import Progress
from engine.data.datasets.store import Dataset
from engine.data.tokenized.dataset import cache_key
from engine.files.atomic_write import write_file
from engine.files.regular_file import check_regular
from engine.progress import Cancelled
from engine.tokenizers.tokenizer import Tokenizer

BATCH_ROWS = 500


@dataclass(frozen=True)
class Lengths:
    """`counts[n]` rows have n tokens, including [CLS] and [SEP]."""

    counts: NDArray[np.int64]

    @property
    def rows(self) -> int:
        return int(self.counts.sum())

    @property
    def maximum(self) -> int:
        return len(self.counts) - 1

    def median(self) -> int:
        return self.quantile(0.5)

    def quantile(self, fraction: float) -> int:
        """Length that this fraction of the rows do not exceed."""
        return int(np.searchsorted(np.cumsum(self.counts), fraction * self.rows))

    def count_longer(self, length: int) -> int:
        """Number of rows longer than `length`."""
        return int(self.counts[length + 1 :].sum())


def count_lengths(
    dataset: Dataset, tokenizer: Tokenizer, cache: Path, progress: Progress
) -> Lengths:
    """Count tokens, or read cached counts; raises Cancelled if `progress` is cancelled."""
    file = cache / f"{cache_key(dataset.spec.fingerprint, tokenizer, 0, 'lengths')}.npy"
    cached = _read_cached(file, len(dataset))
    if cached is not None:
        return cached
    mapping = dataset.spec.mapping
    columns = [mapping.text] if mapping.pair is None else [mapping.text, mapping.pair]
    counts = np.zeros(1, dtype=np.int64)
    for first in range(0, len(dataset), BATCH_ROWS):
        if progress.cancelled():
            raise Cancelled
        last = min(first + BATCH_ROWS, len(dataset))
        rows = dataset.take(np.arange(first, last), columns)
        lengths = np.full(len(rows), tokenizer.count_special(len(columns)), dtype=np.int64)
        for column in columns:
            lengths += [len(ids) for ids in tokenizer.contents([row[column] for row in rows])]
        batch_counts = np.bincount(lengths)
        counts = np.pad(counts, (0, max(len(batch_counts) - len(counts), 0)))
        counts[: len(batch_counts)] += batch_counts
        progress(last, len(dataset))
    _cache(file, counts)
    return Lengths(counts)


def _read_cached(file: Path, rows: int) -> Lengths | None:
    try:
        counts: NDArray[Any] = np.load(check_regular(file), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    is_valid = counts.ndim == 1 and counts.dtype == np.int64 and counts.sum() == rows
    return Lengths(counts) if is_valid else None


def _cache(file: Path, counts: NDArray[np.int64]) -> None:
    content = io.BytesIO()
    np.save(content, counts)
    write_file(file, content.getvalue())
