"""Import files as the commands do."""

from pathlib import Path

from engine.config.dataset import Mapping, Split
from engine.data.datasets.collecting import Sources
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise

ONLY_TRAIN = Split(validation=0)


def import_files(
    source: Path | Sources, into: Path, split: Split | None = None, mapping: Mapping | None = None
) -> Dataset:
    """Import one file, or one for each split, as the version `into`."""
    sources: Sources = {"all": source} if isinstance(source, Path) else source
    first = next(iter(sources.values()))
    guess = recognise(first if isinstance(first, Path) else first[0])
    chosen = mapping or guess.mapping
    assert chosen is not None
    import_dataset("x", sources, guess.reading, chosen, split or Split(), into)
    return open_dataset(into)


def write_lines(file: Path, *lines: str) -> Path:
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
