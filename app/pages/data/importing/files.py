"""Data files among chosen paths, the split of each, and how they are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from app.translation import tr
from engine.config.dataset import Reading, SplitName
from engine.data.formats.archives import file_on_disk, logical_name
from engine.data.formats.reading import recognise_reading
from engine.data.formats.sources import data_files, expand, guess_splits, split_in_name
from engine.data.formats.workbook import WORKBOOK, sheet_shapes
from engine.errors import StudioError

MAX_NAME_CHARACTERS = 120


@dataclass(frozen=True)
class OpenedFiles:
    """Chosen files; they cannot be read if there is a `problem`."""

    files: list[Path]
    splits: list[SplitName | None]
    name: str
    reading: Reading | None
    notes: tuple[str, ...]
    problem: StudioError | None
    shapes: Mapping[Path, tuple[int, int]] = field(default_factory=dict)  # of sheets


def open_files(
    paths: Sequence[Path],
    known_splits: Mapping[Path, SplitName | None] | None = None,
    name: str = "",
) -> OpenedFiles:
    """List the files, the training file first, and recognise its format.

    `known_splits` has the splits of files; `name` is the name of the data set, “” to suggest one.
    """
    try:
        files = data_files(paths)
    except OSError as error:
        return _failure(
            tr("The folder cannot be read: {0}.").format(error.strerror),
            tr("Choose another folder."),
        )
    if not files:
        return _failure(
            tr("There are no data files in {0}.").format(paths[0].name),
            tr("Choose a table (Excel, CSV, Parquet, …), JSON or text."),
        )
    try:
        files = expand(files)
    except StudioError as error:
        return OpenedFiles(files, [None] * len(files), suggest_name(files), None, (), error)
    splits: list[SplitName | None] = guess_splits(files) if len(files) > 1 else [None]
    if known_splits is not None:
        splits = [known_splits[file_on_disk(file)] for file in files]
    if "train" in splits:  # the other files are read in its format
        first = splits.index("train")
        files.insert(0, files.pop(first))
        splits.insert(0, splits.pop(first))
    name = (name or suggest_name(files))[:MAX_NAME_CHARACTERS]
    try:
        reading, notes = recognise_reading(files[0])
    except StudioError as error:
        return OpenedFiles(files, splits, name, None, (), error)
    return OpenedFiles(files, splits, name, reading, notes, None, _shapes(files))


def _shapes(files: Sequence[Path]) -> dict[Path, tuple[int, int]]:
    """Rows and columns of the sheets among the files."""
    shapes: dict[Path, tuple[int, int]] = {}
    for book in dict.fromkeys(file.parent for file in files):
        if book.suffix.lower() in WORKBOOK.suffixes and not book.is_dir():
            found = sheet_shapes(book)
            shapes |= {book / name: shape for name, shape in found.items()}
    return shapes


def _failure(problem: str, advice: str) -> OpenedFiles:
    return OpenedFiles([], [], "", None, (), StudioError(problem, advice))


def display_names(files: Sequence[Path]) -> list[str]:
    """Display names; parts of several files include the name of the file."""
    containers = [file_on_disk(file) for file in files]
    is_single = len(set(containers)) == 1 and containers[0] not in files
    return [
        file.name
        if outer == file
        else f"{'' if is_single else f'{outer.name} / '}{file.relative_to(outer).as_posix()}"
        for file, outer in zip(files, containers, strict=True)
    ]


def suggest_name(files: Sequence[Path]) -> str:
    """Suggest a name for the data set: the file's, or the folder's if the file is a split."""
    container = file_on_disk(files[0])
    if container != files[0]:
        return container.stem
    first = Path(files[0].parent / logical_name(files[0]))
    if (len(files) > 1 or split_in_name(first) is not None) and first.parent.name:
        return first.parent.name
    return first.stem or first.name
