"""Some columns of a file or a stored version, read when they are needed."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from engine.config.dataset import Reading
from engine.data.datasets.coding import Coding, read_coding
from engine.data.datasets.importing import SPEC
from engine.data.datasets.store import open_dataset
from engine.data.formats.reading import read, recognise
from engine.errors import MissingColumn
from engine.progress import Cancelled


class TableColumns(NamedTuple):
    """The columns of a table, and a function that reads some; the coding of a stored version."""

    columns: tuple[str, ...]
    label: str | None  # the column that was recognised or chosen as the label
    read: Callable[[Sequence[str], Callable[[], bool]], dict[str, Sequence[str]]]
    coding: Coding

    @classmethod
    def open(cls, path: Path, reading: Reading | None = None) -> Self:
        """Open a file, or the folder of a version. Raises StudioError if it cannot be read."""
        if (path / SPEC).is_file():
            return cls._open_version(path)
        recognised = recognise(path, reading)
        label = recognised.mapping.label if recognised.mapping is not None else None

        def columns(
            names: Sequence[str], cancelled: Callable[[], bool]
        ) -> dict[str, Sequence[str]]:
            _check(names, recognised.columns)
            table = read(path, recognised.reading, cancelled=cancelled)
            places = {name: table.columns.index(name) for name in names}
            found: dict[str, list[str]] = {name: [] for name in names}
            for row in table:
                for name, place in places.items():
                    found[name].append(row.cells[place])
            return dict(found)

        return cls(recognised.columns, label, columns, {})

    @classmethod
    def _open_version(cls, folder: Path) -> Self:
        dataset = open_dataset(folder)

        def columns(
            names: Sequence[str], cancelled: Callable[[], bool]
        ) -> dict[str, Sequence[str]]:
            _check(names, dataset.spec.columns)
            found: dict[str, Sequence[str]] = {}
            for name in names:
                if cancelled():
                    raise Cancelled
                found[name] = [cell or "" for cell in dataset.column(name).to_pylist()]
            return found

        spec = dataset.spec
        return cls(spec.columns, spec.mapping.label, columns, read_coding(folder))


def _check(names: Iterable[str], columns: Sequence[str]) -> None:
    for name in names:
        if name not in columns:
            raise MissingColumn(name, list(columns))
