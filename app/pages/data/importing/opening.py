"""Opening chosen or dropped paths as readable files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.pages.data.importing.files import data_files, guess_splits, parts, suggested_name
from app.translation import tr
from engine.config.dataset import Reading, SplitName
from engine.data.formats.archives import file_on_disk
from engine.data.formats.reading import recognise_reading
from engine.errors import StudioError

NAME_CHARACTERS = 120  # characters of the name of a data set


@dataclass(frozen=True)
class Opened:
    """Chosen files; they cannot be read if there is a `problem`."""

    files: list[Path]
    splits: list[SplitName | None]
    name: str
    reading: Reading | None
    notes: tuple[str, ...]
    problem: StudioError | None


def open_files(
    paths: Sequence[Path], given: Mapping[Path, SplitName | None] | None = None, name: str = ""
) -> Opened:
    """List the files, the training file first, and recognise its format.

    `given` has the splits of files if known; `name` is that of the data set, or “”.
    """
    try:
        files = data_files(paths)
    except OSError as error:
        return _nothing(
            tr("The folder cannot be read: {0}.").format(error.strerror),
            tr("Choose another folder."),
        )
    if not files:
        return _nothing(
            tr("There are no data files in {0}.").format(paths[0].name),
            tr("Choose a table (Excel, CSV, Parquet, …), JSON or text."),
        )
    try:
        files = parts(files)
    except StudioError as error:
        return Opened(files, [None] * len(files), suggested_name(files), None, (), error)
    splits: list[SplitName | None] = guess_splits(files) if len(files) > 1 else [None]
    if given is not None:
        splits = [given[file_on_disk(file)] for file in files]
    if "train" in splits:  # the other files are read in its format
        first = splits.index("train")
        files.insert(0, files.pop(first))
        splits.insert(0, splits.pop(first))
    name = (name or suggested_name(files))[:NAME_CHARACTERS]
    try:
        reading, notes = recognise_reading(files[0])
    except StudioError as error:
        return Opened(files, splits, name, None, (), error)
    return Opened(files, splits, name, reading, notes, None)


def _nothing(problem: str, advice: str) -> Opened:
    return Opened([], [], "", None, (), StudioError(problem, advice))
