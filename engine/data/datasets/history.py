"""Changes between two versions of a data set in words, found by comparing them."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.dataset import SPLITS, DatasetSpec, Split
from engine.data.datasets.collecting import list_files
from engine.phrases import Phrase, join, phrase

if TYPE_CHECKING:
    from engine.data.datasets.store import Dataset

MAX_NAMED = 3  # changes of labels, or columns, that are named
MAX_CHARACTERS = 40  # of a name


def row_changes(
    old: "Dataset",
    kept: NDArray[np.int64],
    splits: NDArray[np.int8],
    read: Callable[[str], Any],
) -> tuple[Phrase, ...]:
    """Changes of the rows of a version since an older one.

    Args:
        kept: the rows of the older version that the newer one has, in its order.
        splits: of these rows in the newer version, an index into SPLITS.
        read: returns a column of the newer version.
    """
    return tuple(_row_changes(old, kept, splits, read))


def _row_changes(
    old: "Dataset", kept: NDArray[np.int64], splits: NDArray[np.int8], read: Callable[[str], Any]
) -> Iterator[Phrase]:
    if removed := len(old) - len(kept):
        yield phrase("{n:,} row(s) removed.", n=removed)
    mapping = old.spec.mapping
    labels = (*mapping.label_columns, *([mapping.answers] if mapping.answers else []))
    yield from _label_changes(old, kept, read, labels, labels != mapping.label_columns)
    for name in old.spec.targets:
        if name not in labels:
            for change in _label_changes(old, kept, read, (name,)):
                yield phrase("“{column}”: {change}", column=name[:MAX_CHARACTERS], change=change)
    for name in old.spec.columns:
        if name not in (*labels, *old.spec.targets):
            changed = _changed(old.column(name).take(kept), read(name))
            if n := int(changed.sum()):
                yield phrase(
                    "“{column}” edited in {n:,} row(s).", column=name[:MAX_CHARACTERS], n=n
                )
    moved = old.splits[kept] != splits
    for index, name in enumerate(SPLITS):
        if n := int((moved & (splits == index)).sum()):
            yield phrase("{n:,} row(s) moved to the {split} set.", n=n, split=name)


def _label_changes(
    old: "Dataset",
    kept: NDArray[np.int64],
    read: Callable[[str], Any],
    columns: tuple[str, ...],
    blank_is_label: bool = False,
) -> Iterator[Phrase]:
    """Rows whose cells in these columns changed: labelled, removed, relabelled."""
    if not columns:
        return
    rows = len(kept)
    changed, were_blank, are_blank = (np.full(rows, start) for start in (False, True, True))
    pairs = Counter[tuple[str, str]]()
    for name in columns:
        before, after = old.column(name).take(kept), read(name)
        differs = _changed(before, after)
        changed |= differs
        were_blank &= _blank(before)
        are_blank &= _blank(after)
        if len(columns) == 1:
            where = np.flatnonzero(differs)
            cells = (column.take(where).to_pylist() for column in (before, after))
            pairs.update(zip(*cells, strict=True))
    if blank_is_label:
        were_blank[:] = are_blank[:] = False
    if n := int((changed & were_blank & ~are_blank).sum()):
        yield phrase("{n:,} row(s) labelled.", n=n)
    if n := int((changed & ~were_blank & are_blank).sum()):
        yield phrase("{n:,} label(s) removed.", n=n)
    if n := int((changed & ~were_blank & ~are_blank).sum()):
        named = _name_pairs(pairs)
        yield (
            phrase("{n:,} row(s) relabelled: {labels}.", n=n, labels=named)
            if named
            else phrase("{n:,} row(s) relabelled.", n=n)
        )


def _name_pairs(pairs: Counter[tuple[str, str]]) -> str:
    """The most frequent changes of short labels; empty if there are none."""
    named = [
        (pair, rows)
        for pair, rows in pairs.most_common()
        if all(cell and len(cell) <= MAX_CHARACTERS and " " not in cell.strip() for cell in pair)
    ]
    texts = [
        phrase("“{old}” → “{new}” ({n:,})", old=before, new=after, n=rows)
        for (before, after), rows in named[:MAX_NAMED]
    ]
    return join(", ", [*texts, *(["…"] if len(named) > MAX_NAMED else [])])


def _changed(before: Any, after: Any) -> NDArray[np.bool_]:
    """Rows in which two columns differ, bool [rows]; null is empty."""
    differs: Any = pc.not_equal(before.fill_null(""), after.fill_null(""))
    mask: NDArray[np.bool_] = differs.to_numpy()
    return mask


def _blank(column: Any) -> NDArray[np.bool_]:
    blank: Any = pc.equal(pc.utf8_trim_whitespace(column.fill_null("")), pa.scalar(""))
    mask: NDArray[np.bool_] = blank.to_numpy()
    return mask


def import_changes(old: DatasetSpec, new: DatasetSpec) -> tuple[Phrase, ...]:
    """Changes of a version that was imported since the version before it."""
    return tuple(_import_changes(old, new))


def _import_changes(old: DatasetSpec, new: DatasetSpec) -> Iterator[Phrase]:
    files = [path.name[:MAX_CHARACTERS] for _, path in list_files(new.sources)]
    if old.source_sha256 != new.source_sha256:
        names = join(", ", [*files[:MAX_NAMED], *(["…"] if len(files) > MAX_NAMED else [])])
        yield phrase("Imported from {files}.", files=names)
    if more := sum(new.rows.values()) - sum(old.rows.values()):
        yield (
            phrase("{n:,} row(s) more.", n=more)
            if more > 0
            else phrase("{n:,} row(s) fewer.", n=-more)
        )
    if old.split != new.split:
        yield split_phrase(new.split)
    if old.mapping.label_columns != new.mapping.label_columns:
        yield phrase("Labels: {columns}.", columns=_names(new.mapping.label_columns))
    for title, columns, others in (
        (phrase("New columns"), new.columns, old.columns),
        (phrase("Without the columns"), old.columns, new.columns),
    ):
        if missing := tuple(name for name in columns if name not in others):
            yield phrase("{title}: {names}.", title=title, names=_names(missing))


def _names(columns: tuple[str, ...]) -> str:
    named = [f"“{name[:MAX_CHARACTERS]}”" for name in columns[:MAX_NAMED]]
    none = [phrase("none")] if not columns else []
    return join(", ", [*named, *none, *(["…"] if len(columns) > MAX_NAMED else [])])


def split_again_phrase(split: Split) -> Phrase:
    """A new split of the same rows in words: “Split again: 80/10/10 by “author”.”"""
    fractions = (1 - split.validation - split.test, split.validation, split.test)
    parts = "/".join(f"{100 * fraction:.3g}" for fraction in fractions)
    column = (split.column or "")[:MAX_CHARACTERS]
    match split.by, split.column:
        case "name", None:
            return phrase(
                "Split again: {parts} at random (seed {seed}).", parts=parts, seed=split.seed
            )
        case "name", _:
            return phrase("Split again by the column “{column}”.", column=column)
        case "time", _:
            return phrase(
                "Split again: {parts} by the time in “{column}”.", parts=parts, column=column
            )
        case _:
            return phrase("Split again: {parts} by “{column}”.", parts=parts, column=column)


def split_phrase(split: Split) -> Phrase:
    """The split of the rows in words."""
    column = (split.column or "")[:MAX_CHARACTERS]
    match split.by, split.column:
        case "name", None:
            return phrase("Random split (seed {seed}).", seed=split.seed)
        case "name", _:
            return phrase("Split by the column “{column}”.", column=column)
        case "time", _:
            return phrase("Split by the time in “{column}”.", column=column)
        case _:
            return phrase("Split by the groups in “{column}”.", column=column)
