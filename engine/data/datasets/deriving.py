"""A new version of a data set from an older one: without some rows, or with other labels."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from engine.atomic_write import whole_folder
from engine.data.columns.tags import are_spans
from engine.data.columns.words import words_of
from engine.data.datasets.importing import label_notes, write_version
from engine.data.datasets.row_writer import RowWriter
from engine.data.datasets.store import READ_ROWS, Dataset, open_dataset
from engine.data.formats.rows import Remarks
from engine.errors import StudioError
from engine.phrases import phrase
from engine.spec.dataset import SPLITS, Cleaning, DatasetSpec, Mapping, Split


def derive(
    folder: Path, into: Path, version: int, mapping: Mapping, cleaning: Cleaning
) -> DatasetSpec:
    """Write the version in `folder` anew as `into`, with these columns, cleaned.

    Rows keep their splits and lines; the files it was imported from are not read.

    Raises StudioError where the version cannot be read, or no row is left for training.
    """
    old = open_dataset(folder)
    remarks, tags = Remarks(), _Tags()
    path = next((path for paths in old.spec.sources.values() for path in paths), folder)
    with whole_folder(into) as made:
        place = made / "rows.parquet"
        with RowWriter(place, old.spec.columns, mapping, Split(), cleaning) as writer:
            for line, split, row in _rows(old):
                if not writer.lacks(row, remarks, line):
                    writer.append(row, line, split, path, remarks)
                    if mapping.tags is not None:
                        tags.add(row[old.spec.columns.index(mapping.tags)])
        collected = writer.collected(old.spec.source_sha256, [], tags.counted())
        if not (collected.given == SPLITS.index("train")).any():
            raise StudioError(
                phrase("No training row is left."), phrase("Complete the rows in the file.")
            )
        notes = dict.fromkeys(
            (
                *old.spec.notes,
                *remarks.sentences(),
                *label_notes(collected.labels or collected.spans),
            )
        )
        update = {"version": version, "mapping": mapping, "notes": tuple(notes)}
        update |= {"cleaning": _both(old.spec.cleaning, cleaning)}
        spec = old.spec.model_copy(update=update)
        return write_version(made, spec, collected, collected.given)


def _rows(dataset: Dataset) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Line, number of the split, and cells of every row."""
    columns = dataset.spec.columns
    for first in range(0, len(dataset), READ_ROWS):
        for row in dataset.page(first, READ_ROWS):
            yield row["_line"], SPLITS.index(row["_split"]), tuple(row[name] for name in columns)


def _both(before: Cleaning, then: Cleaning) -> Cleaning:
    return Cleaning(
        skip_empty=tuple(dict.fromkeys((*before.skip_empty, *then.skip_empty))),
        spellings=before.spellings | then.spellings,
    )


class _Tags:
    """Counts tags that are in BIO already, or name no spans."""

    def __init__(self) -> None:
        self._all, self._types = Counter[str](), Counter[str]()

    def add(self, cell: str) -> None:
        tags = words_of(cell)
        self._all.update(tags)
        self._types.update(tag[2:] for tag in tags if tag.startswith("B"))

    def counted(self) -> Counter[str]:
        """The spans of each type, or the words with each tag."""
        return self._types if are_spans(self._all) else self._all
