"""Rows of a set of texts, typed or stored."""

from engine.data.datasets.rows import Rows
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError
from engine.messages.explore.text_set import MAX_TEXTS, TextSet


def load_rows(texts: TextSet) -> Rows:
    """Load at most `MAX_TEXTS` rows; the label of a typed text without a label is “”.

    Raises StudioError if the data set is damaged, or its split has no such rows.
    """
    if texts.data is None:
        typed = texts.typed
        rows = Rows(
            texts=[row.text for row in typed],
            pairs=[row.pair or "" for row in typed] if any(row.pair for row in typed) else None,
            labels=[row.label for row in typed] if any(row.label for row in typed) else None,
        )
    else:
        rows = open_dataset(texts.data.folder).with_target(texts.data.target).rows(texts.part)
    count = min(len(rows), MAX_TEXTS)
    indices = range(count) if texts.rows is None else texts.rows
    if any(not 0 <= index < len(rows) for index in indices):
        raise StudioError(
            "The data set {name} has changed.",
            "Choose its texts again.",
            name=texts.data.name if texts.data else "",
        )
    if not indices:
        raise StudioError("There are no texts.", "Choose another part, or type texts.")
    return rows.take(list(indices)[:MAX_TEXTS])


def typed_pairs(rows: Rows) -> list[tuple[str, str | None]]:
    """Convert rows to typed inputs: a text, and the second text or None."""
    texts = list(rows.plain_texts)
    seconds = rows.pairs if rows.pairs is not None else rows.beginnings
    pairs = [None] * len(texts) if seconds is None else [cell or None for cell in seconds]
    return list(zip(texts, pairs, strict=True))


def load_column(texts: TextSet, name: str) -> list[str] | None:
    """Load the cells of a column in these rows; None if the data set has no such column."""
    if texts.data is None:
        return None
    dataset = open_dataset(texts.data.folder)
    if name not in dataset.spec.columns:
        return None
    cells = dataset.cells(texts.part)[name]
    indices = range(min(len(cells), MAX_TEXTS)) if texts.rows is None else texts.rows
    return [cells[index] for index in indices]
