"""Data files among chosen paths, the split of each, and how they are read."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.translation import tr
from engine.checkpoints.elsewhere import SNAPSHOTS
from engine.config.dataset import Reading, SplitName
from engine.data.columns.names import split_from_name
from engine.data.formats.archives import file_on_disk, logical_name
from engine.data.formats.reading import recognise_reading
from engine.data.formats.sources import is_data_file, is_text_folder, list_parts, list_splits
from engine.data.formats.workbook import WORKBOOK
from engine.errors import StudioError

MAX_FOLDER_ENTRIES = 200
MAX_FOLDERS = 1_000  # searched in total
MAX_NAME_CHARACTERS = 120
SHARD = re.compile(r"-\d{5}-of-\d{5}$")  # shard in a folder named after its split


@dataclass(frozen=True)
class OpenedFiles:
    """Chosen files; they cannot be read if there is a `problem`."""

    files: list[Path]
    splits: list[SplitName | None]
    name: str
    reading: Reading | None
    notes: tuple[str, ...]
    problem: StudioError | None


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
    return OpenedFiles(files, splits, name, reading, notes, None)


def _failure(problem: str, advice: str) -> OpenedFiles:
    return OpenedFiles([], [], "", None, (), StudioError(problem, advice))


def data_files(paths: Sequence[Path]) -> list[Path]:
    """List the files among `paths`, and the files with a data suffix in each folder.

    A folder of documents counts as one file, also for a single split; so does a data set saved by
    the `datasets` library or in the hub's cache. Files in `paths` may have any name.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir() and (folders := _text_folders(path)):
            files += folders
        elif path.is_dir():
            files += _find_files(path, iter(range(MAX_FOLDERS)))
        else:
            files.append(path)
    return list(dict.fromkeys(files))


def _find_files(folder: Path, budget: Iterator[int]) -> list[Path]:
    """Data files of a folder, or of its subfolders if it has none.

    `budget` is exhausted once enough folders were searched. A data set in the hub's cache gives its
    newest version. Subfolders that are not splits hold one data set each; the first is used.
    """
    if next(budget, None) is None:
        return []
    if (folder / SNAPSHOTS).is_dir():
        versions = [entry for entry in (folder / SNAPSHOTS).iterdir() if entry.is_dir()]
        newest = max(versions, key=lambda entry: entry.stat().st_mtime, default=None)
        return [] if newest is None else _find_files(newest, budget)
    entries = sorted(
        entry for _, entry in zip(range(MAX_FOLDER_ENTRIES), folder.iterdir(), strict=False)
    )
    if files := [entry for entry in entries if is_data_file(entry) and entry.is_file()]:
        return files
    folders = [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    nested = {entry: _find_files(entry, budget) for entry in folders}
    if splits := [
        file for entry in folders if split_from_name(entry.name) for file in nested[entry]
    ]:
        return splits
    return next((files for files in nested.values() if files), [])


def expand(files: Sequence[Path]) -> list[Path]:
    """Replace archives and workbooks by their contents; raises BadFile if one is unreadable."""
    return [part for file in files for part in list_parts(file)]


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


def guess_splits(files: Sequence[Path]) -> list[SplitName | None]:
    """Guess the split of each file from its name.

    Files with other names are for training, unless one is named train; then they are skipped
    (None). Of a workbook's sheets with other names, only the first is for training.
    """
    splits = [_split_in_name(file) for file in files]
    if "train" in splits:
        return splits
    unnamed = [file for file, split in zip(files, splits, strict=True) if split is None]
    sheets = {file for file in unnamed if file.parent.suffix.lower() in WORKBOOK.suffixes}
    skipped = sheets - set(unnamed[:1])
    pairs = zip(files, splits, strict=True)
    return [split or (None if file in skipped else "train") for file, split in pairs]


def suggest_name(files: Sequence[Path]) -> str:
    """Suggest a name for the data set: the file's, or the folder's if the file is a split."""
    container = file_on_disk(files[0])
    if container != files[0]:
        return container.stem
    first = Path(files[0].parent / logical_name(files[0]))
    if (len(files) > 1 or _split_in_name(first) is not None) and first.parent.name:
        return first.parent.name
    return first.stem or first.name


def _text_folders(folder: Path) -> list[Path]:
    return list_splits(folder) or ([folder] if is_text_folder(folder) else [])


def _split_in_name(file: Path) -> SplitName | None:
    words = re.split(r"[\W_\d]+", Path(logical_name(file)).stem)
    split = next((split for split in map(split_from_name, words) if split is not None), None)
    return split or (split_from_name(file.parent.name) if SHARD.search(file.stem) else None)
