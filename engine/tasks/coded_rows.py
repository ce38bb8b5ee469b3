"""The rows of a version and the labels known of them. Shapes: N rows, C labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.config.codebook import Codebook
from engine.config.dataset import SPLITS
from engine.data.columns.label_sets import count_label_sets, parse_flags, parse_label_sets
from engine.data.datasets.codebooks import codebook_of
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset
from engine.errors import StudioError

Labels = dict[int, tuple[str, ...]]
"""Labels by row; a row of sets may have none."""


class CodedRows:
    """The rows of a version, and the labels known of them."""

    def __init__(
        self, dataset: Dataset, given: dict[int, str], codebook: Codebook | None = None
    ) -> None:
        """Read the labels.

        Args:
            given: labels given since the version, as in a cell; “” removes one.
            codebook: None: that of the version.
        """
        self._dataset, self._mapping = dataset, dataset.spec.mapping
        self._given, self._unlabelled = given, dataset.unlabelled()
        self.codebook = codebook or codebook_of(dataset.spec)
        self.are_pairs = len(self._mapping.texts) > 1
        self.has_tags = self._mapping.tags is not None
        self.has_text_spans = dataset.spec.has_text_spans
        self.has_sets = (
            self.codebook.kind == "labels"
            if self.codebook is not None
            else bool(self._mapping.flags) or count_label_sets(dataset.spec.labels) is not None
        )
        if not (self.has_tags or self._mapping.flags or self._mapping.label):
            raise StudioError(
                "The rows have no column of labels.",
                "Choose a data set whose rows have labels or tags.",
            )
        self.known: Labels = {} if self.has_tags else self._known()

    @property
    def without(self) -> NDArray[np.int64]:
        """Rows without a label, int64 [N], ascending."""
        given = np.array([*self._given], dtype=np.int64)
        removed = [row for row, cell in self._given.items() if not cell]
        stored = np.setdiff1d(self._unlabelled, given)
        return np.union1d(stored, np.array(removed, dtype=np.int64))

    @property
    def names(self) -> list[str]:
        """Labels in use, in order."""
        return sorted({name for labels in self.known.values() for name in labels})

    def texts(self, indices: NDArray[np.int64]) -> Rows:
        """The texts of rows, tagged words as they are in their cells."""
        columns = [self._cells(name, indices) for name in self._mapping.texts]
        return Rows(columns[0], columns[1] if len(columns) > 1 else None)

    def targets(self, rows: Sequence[int], names: Sequence[str]) -> NDArray[np.bool_]:
        """The labels of rows, bool [rows, C]."""
        targets = np.zeros((len(rows), len(names)), dtype=bool)
        for place, row in enumerate(rows):
            targets[place, [names.index(label) for label in self.known[row]]] = True
        return targets

    def _known(self) -> Labels:
        """Labels outside the test part: those given, else those stored."""
        labelled, given = np.flatnonzero(self._dataset.splits != SPLITS.index("test")), self._given
        stored = np.setdiff1d(labelled, self._unlabelled)
        flags = self._mapping.flags
        if flags:
            columns = {name: parse_flags(name, self._cells(name, stored)) for name in flags}
            sets = [tuple(n for n in flags if columns[n][i]) for i in range(len(stored))]
            new = parse_label_sets(given.values())
        else:
            assert self._mapping.label is not None
            cells = [*self._cells(self._mapping.label, stored), *given.values()]
            both: list[tuple[str, ...]] = [(cell,) if cell else () for cell in cells]
            if self.has_sets:
                both = parse_label_sets(cells)
            sets, new = both[: len(stored)], both[len(stored) :]
        known = dict(zip(stored.tolist(), sets, strict=True))
        known |= dict(zip(given, new, strict=True))
        return {row: labels for row, labels in known.items() if given.get(row, "-")}

    def _cells(self, column: str, indices: NDArray[np.int64]) -> list[str]:
        cells = self._dataset.column(column).take(indices).to_pylist()
        return [cell or "" for cell in cells]


def joined_texts(rows: Rows) -> list[str]:
    """The text of each row, both texts of a pair joined."""
    if rows.pairs is None:
        return [*rows.texts]
    return [" ".join(parts) for parts in zip(rows.texts, rows.pairs, strict=True)]
