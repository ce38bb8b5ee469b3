"""Decisions on rows about which the coders of a data set disagree."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from engine.config.codebook import Codebook
from engine.config.dataset import Mapping
from engine.data.columns.coders import Codings, read_codings
from engine.data.columns.placeholders import R_MISSING
from engine.data.datasets.store import Dataset
from engine.errors import MissingColumn, StudioError
from engine.phrases import Phrase, join, phrase

if TYPE_CHECKING:
    from engine.data.datasets.deriving import Edits

MAX_NAMED = 5  # people, or coders, in a sentence


def dataset_codings(dataset: Dataset, coders: Sequence[str] = ()) -> Codings:
    """The codes of all rows by these coders, by default those of the mapping.

    Raises StudioError if there are fewer than two, or a column is missing.
    """
    spec = dataset.spec
    chosen = tuple(dict.fromkeys(coders)) or spec.mapping.coders
    for name in chosen:
        if name not in spec.columns:
            raise MissingColumn(name, list(spec.columns))
    if len(chosen) < 2:
        raise StudioError(
            "The data set has fewer than two coders.",
            "Choose their columns with --coders, or import the data again and choose its coders.",
        )
    mapping = Mapping(text=spec.mapping.text, tags=spec.mapping.tags, coders=chosen)
    book = spec.codebooks.get(spec.coded_column or "", Codebook())
    is_label = R_MISSING in {code.label for code in book.codes}
    none = spec.cleaning.no_label or (*([""] if is_label else []),)
    return read_codings(dataset.column, mapping, none, spec.cleaning.spellings)


def majority_decisions(dataset: Dataset) -> dict[int, str]:
    """The most frequent label, or the mean of numbers, by row in dispute without a label.

    Raises StudioError without coders or a single label column, or if no such row has a majority.
    """
    codings = dataset_codings(dataset)
    if len(dataset.spec.mapping.label_columns) != 1:
        raise StudioError(
            "Decisions need a single label column.",
            "Import the data again without a column for each label.",
        )
    majority = codings.majority()
    rows = np.intersect1d(np.flatnonzero(codings.disputed), dataset.unlabelled()).tolist()
    decided = {row: majority[row] for row in rows if majority[row]}
    if not decided:
        raise StudioError(
            "No row in dispute without a label has a most frequent label.",
            "Decide these rows one by one on the page of the data set.",
        )
    return decided


def decision_changes(old: Dataset, edits: "Edits") -> tuple[Phrase, ...]:
    """Say who decided rows in dispute, and how many as each coder; nothing if there are none."""
    own, others = old.spec.coded_column, old.spec.target_coders
    views = [old, *(old.with_target(n) for n in others if n != own and n in old.spec.targets)]
    return tuple(change for view in views for change in _decisions(view, edits))


def _decisions(old: Dataset, edits: "Edits") -> Iterator[Phrase]:
    """The decisions in the label column."""
    columns = old.spec.mapping.label_columns
    if len(old.spec.mapping.coders) < 2 or len(columns) != 1:
        return
    new = {row: cells[columns[0]] for row, cells in edits.cells.items() if cells.get(columns[0])}
    if not new:
        return
    codings = dataset_codings(old)
    rows = [row for row in sorted(new) if codings.disputed[row]]
    people, sides = Counter[str](), Counter[str]()
    for row in rows:
        entry = edits.coding.get(row, {}).get(columns[0])
        people[entry.coder if entry is not None else ""] += 1
        codes = zip(codings.coders, codings.codes[row].tolist(), strict=True)
        sides.update(name for name, code in codes if code >= 0 and codings.cells[code] == new[row])
    if not rows:
        return
    named = sides.most_common(MAX_NAMED)
    how = join(", ", [phrase("“{name}” {n:,}", name=name[:40], n=n) for name, n in named])
    who = join(", ", [name[:40] for name, _ in people.most_common(MAX_NAMED) if name])
    done = (
        phrase("{n:,} row(s) in dispute decided by {who}", n=len(rows), who=who)
        if who
        else phrase("{n:,} row(s) in dispute decided", n=len(rows))
    )
    if not how:  # the means of numbers
        yield phrase("{done}.", done=done)
    else:
        yield phrase("{done}; with the label of: {how}.", done=done, how=how)
