"""Decisions on rows about which the coders of a data set disagree."""

from collections.abc import Sequence

from engine.config.dataset import Mapping
from engine.data.columns.coders import Codings, read_codings
from engine.data.datasets.store import Dataset
from engine.errors import MissingColumn, StudioError
from engine.phrases import phrase


def dataset_codings(dataset: Dataset, coders: Sequence[str] = ()) -> Codings:
    """What the coders gave to all rows, by default those of the mapping.

    Raises StudioError if there are fewer than two, or a column is missing.
    """
    spec = dataset.spec
    chosen = tuple(dict.fromkeys(coders)) or spec.mapping.coders
    for name in chosen:
        if name not in spec.columns:
            raise MissingColumn(name, list(spec.columns))
    if len(chosen) < 2:
        raise StudioError(
            phrase("Fewer than two columns hold the labels of coders."),
            phrase(
                "Choose a column for each coder with --coders, or import the data again and choose "
                "its coders."
            ),
        )
    mapping = Mapping(text=spec.mapping.text, tags=spec.mapping.tags, coders=chosen)
    return read_codings(dataset.column, mapping, spec.cleaning.no_label, spec.cleaning.spellings)
