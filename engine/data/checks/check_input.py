"""Input of the checks: rows with their splits, words, and groups of equal texts and labels.

Shapes: N rows, W words of all texts of one column.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from engine.config.dataset import Mapping as Columns
from engine.config.dataset import Split
from engine.data.checks.near_copies import group_near_copies
from engine.data.checks.words import Words, encode_words
from engine.data.columns.label_sets import count_label_sets
from engine.data.columns.numbers import is_scale
from engine.data.columns.plain_texts import grouping_columns, plain_text, text_columns
from engine.files.regular_file import check_regular
from engine.progress import CancellableProgress

BATCH_ROWS = 50_000


class Labels(NamedTuple):
    """A column of labels, encoded as indices."""

    indices: NDArray[np.int32]  # [N], into `names`; -1 if the cell is empty
    names: list[str]

    def counts(self, rows: NDArray[np.bool_] | None = None) -> dict[str, int]:
        """Number of rows with each label, of all rows or of a bool [N] selection."""
        indices = self.indices if rows is None else self.indices[rows]
        counts = np.bincount(indices[indices >= 0], minlength=len(self.names))
        return dict(zip(self.names, counts.tolist(), strict=True))


class CheckInput:
    """The rows of a version, or of files before their import."""

    def __init__(
        self,
        path: Path,
        mapping: Columns,
        splits: NDArray[np.int8],
        split: Split,
        random_splits: tuple[str, ...],
        progress: CancellableProgress,
    ) -> None:
        """Read the columns in use.

        Args:
            path: Parquet file with all rows.
            splits: index into SPLITS of each row, int8 [N].
            split: how the rows were split.
            random_splits: the splits that were drawn at random.
            progress: raises Cancelled, from here or from a check.
        """
        self.mapping, self.splits, self.split = mapping, splits, split
        self.random_splits = random_splits
        self.progress = progress
        self._path = path
        self.rows = len(splits)
        self.text_columns = text_columns(mapping)
        columns = {text_columns(mapping), grouping_columns(mapping)}
        keys: dict[tuple[str, ...], list[NDArray[np.int64]]] = {names: [] for names in columns}
        words: dict[str, list[Words]] = {name: [] for name in self.text_columns}
        vocabulary: dict[str, int] = {}
        for table in self.batches(self.text_columns):
            plain = {
                name: [plain_text(cell or "") for cell in table.column(name).to_pylist()]
                for name in self.text_columns
            }
            for names, parts in keys.items():
                hashes = map(hash, zip(*(plain[name] for name in names), strict=True))
                parts.append(np.fromiter(hashes, np.int64, len(table)))
            for name in self.text_columns:
                words[name].append(encode_words(plain[name], vocabulary))
            self.progress.advance(len(table))
        self.vocabulary = list(vocabulary)
        self.words = {name: Words.concatenate(parts) for name, parts in words.items()}
        empty = np.zeros(0, dtype=np.int64)
        self._keys = {names: np.concatenate([empty, *parts]) for names, parts in keys.items()}

    def batches(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Read these columns of all rows in batches; an empty cell is an empty text."""
        with pq.ParquetFile(check_regular(self._path)) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=list(dict.fromkeys(columns))):
                self.progress.advance()
                filled = [column.fill_null("") for column in batch.columns]
                yield pa.table(filled, names=batch.schema.names)

    def match_cells(self, column: str, match: Callable[[Any], Any]) -> NDArray[np.bool_]:
        """Apply `match` to the cells of a column, bool [N]."""
        cells = (table.column(column) for table in self.batches([column]))
        matched = (np.asarray(match(batch)) for batch in cells)
        return np.concatenate([np.zeros(0, dtype=bool), *matched])

    def cells(self, column: str, rows: NDArray[np.int64]) -> list[str]:
        """Read the cells of a column in some rows, which must ascend."""
        selected: list[Any] = []
        first = 0
        for table in self.batches([column]):
            local = rows[(rows >= first) & (rows < first + len(table))] - first
            selected += table.column(column).take(local).to_pylist()
            first += len(table)
        return selected

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the source."""
        with pq.ParquetFile(check_regular(self._path)) as file:
            names = file.schema_arrow.names
        return tuple(name for name in names if name not in ("_line", "_split"))

    @cached_property
    def has_text(self) -> NDArray[np.bool_]:
        """True for rows with at least one word, bool [N]."""
        counts = [self.words[name].counts for name in self.text_columns]
        has_text: NDArray[np.bool_] = np.sum(counts, axis=0) > 0
        return has_text

    @cached_property
    def text_groups(self) -> NDArray[np.int64]:
        """Group number of rows with the same texts, int64 [N], by first appearance.

        A row without text forms its own group.
        """
        return self._group(self._keys[text_columns(self.mapping)])

    @cached_property
    def split_groups(self) -> NDArray[np.int64]:
        """Like `text_groups`, by the texts that must share a split: for questions, the passage."""
        return self._group(self._keys[grouping_columns(self.mapping)])

    def _group(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        keys = np.where(self.has_text, keys, np.arange(self.rows))
        _, first, indices = np.unique(keys, return_index=True, return_inverse=True)
        by_first = np.empty(len(first), dtype=np.int64)
        by_first[np.argsort(first, kind="stable")] = np.arange(len(first))
        return by_first[indices]

    @cached_property
    def near_groups(self) -> NDArray[np.int64]:
        """Group number of rows with nearly equal texts, including equal ones, int64 [N]."""
        groups = self.split_groups
        first = np.unique(groups, return_index=True)[1]
        columns = [self.words[name].take(first) for name in grouping_columns(self.mapping)]
        return group_near_copies(columns, len(self.vocabulary), self.progress, self.rows)[groups]

    @cached_property
    def labels(self) -> Labels | None:
        """The column to predict, if there is one. A question without an answer has the label “”."""
        mapping = self.mapping
        if mapping.answers is not None:
            return self.encode(mapping.answers, keeps_empty=True)
        if mapping.flags:
            return self._flags()
        column = mapping.label or mapping.tags
        return None if column is None else self.encode(column)

    def _flags(self) -> Labels:
        columns = [self.encode(name, keeps_empty=True) for name in self.mapping.flags]
        combinations, indices = np.unique(
            np.stack([column.indices for column in columns]), axis=1, return_inverse=True
        )
        names = [
            ", ".join(column.names[number] for column, number in zip(columns, row, strict=True))
            for row in combinations.T.tolist()
        ]
        return Labels(indices.astype(np.int32), names)

    def encode(self, column: str, keeps_empty: bool = False) -> Labels:
        """Encode a column as indices; an empty cell is -1, or a label if `keeps_empty`."""
        vocabulary: dict[str, int] = {}
        parts = [np.zeros(0, dtype=np.int32)]
        for table in self.batches([column]):
            encoded = table.column(column).combine_chunks().dictionary_encode()
            names = [(cell or "").strip() for cell in encoded.dictionary.to_pylist()]
            ids = [
                vocabulary.setdefault(name, len(vocabulary)) if name or keeps_empty else -1
                for name in names
            ]
            parts.append(np.array(ids, dtype=np.int32)[encoded.indices.to_numpy()])
        return Labels(np.concatenate(parts), list(vocabulary))

    @cached_property
    def classes(self) -> Labels | None:
        """The labels if each row has one class; None for scores and sets of labels."""
        if self.labels is None or self.mapping.label is None or self.mapping.endings:
            return None
        counts: Mapping[str, int] = self.labels.counts()
        return None if is_scale(counts) or count_label_sets(counts) is not None else self.labels
