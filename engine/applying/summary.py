"""Summary of predictions: counts of labels or numbers, and the least certain rows."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from engine.config.task import Head
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.tags import spans_from_tags

MAX_LABELS = 1_000
BINS = 20  # equal ones, of numbers


class Distribution(NamedTuple):
    """Rows by predicted label, of tags spans by type, of answers those with and without one.

    For numbers, bins in their order.
    """

    counts: dict[str, int]
    is_binned: bool = False


class Predicted:
    """Collects the predictions of one column, chunk by chunk."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._counts = Counter[str]()
        self._numbers: list[float] = []

    def add(self, column: "pa.ChunkedArray[pa.Scalar[Any]]") -> None:
        values = [value for value in column.to_pylist() if value is not None]
        if self._head.pools:
            return  # vectors, or cosines of pairs
        if self._head.predicts_numbers:
            self._numbers += values
        elif self._head.labels_spans:
            self._counts.update(span["label"] for spans in values for span in spans)
        elif self._head.tags_tokens:
            spans = (span for tags in values for span in spans_from_tags(tags))
            self._counts.update(span.type for span in spans)
        elif self._head.is_multi_label:
            self._counts.update(label for labels in parse_label_sets(values) for label in labels)
        elif self._head.finds_spans:
            self._counts.update("answer" if value else "no answer" for value in values)
        else:
            self._counts.update(map(str, values))

    def distribution(self) -> Distribution:
        if not self._numbers:
            return Distribution(dict(self._counts.most_common(MAX_LABELS)))
        counts, edges = np.histogram(np.array(self._numbers, dtype=np.float64), BINS)
        pairs = zip(edges[:-1], edges[1:], counts.tolist(), strict=True)
        named = {f"{low:.3g} – {high:.3g}": count for low, high, count in pairs}
        return Distribution(named, is_binned=True)


def least_certain(certainties: Sequence["pa.ChunkedArray[Any]"], most: int) -> list[int]:
    """Positions of at most `most` rows, the least certain first; rows without one are left out."""
    parts = [part.to_numpy() for part in certainties]
    values = np.concatenate(parts) if parts else np.zeros(0)
    order = np.argsort(values, kind="stable")[: int((~np.isnan(values)).sum())]
    return [int(position) for position in order[:most]]


def take_rows(chunks: Iterable[pa.Table], positions: Sequence[int]) -> pa.Table:
    """Rows of consecutive tables, by their positions in all of them, in this order."""
    wanted = np.array(positions, dtype=np.int64)
    first, parts, found = 0, [], []
    for chunk in chunks:
        inside = np.flatnonzero((wanted >= first) & (wanted < first + chunk.num_rows))
        parts.append(chunk.take(wanted[inside] - first))
        found += inside.tolist()
        first += chunk.num_rows
    order = np.argsort(np.array(found, dtype=np.int64))
    return pa.concat_tables(parts).take(order)
