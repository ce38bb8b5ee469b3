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
from engine.data.formats.sources import is_data_file, is_text_folder, list_parts, splits_in
from engine.data.formats.workbook import WORKBOOK
from engine.errors import StudioError

FOLDER_ENTRIES = 200  # entries of a folder that are read
MAX_FOLDERS = 1_000  # folders that are searched in all
NAME_CHARACTERS = 120  # of the name of a data set
SHARD = re.compile(r"-\d{5}-of-\d{5}$")  # shard in a folder named after its split


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
    paths: Sequence[Path],
    known_splits: Mapping[Path, SplitName | None] | None = None,
    name: str = "",
) -> Opened:
    """List the files, the training file first, and recognise its format.

    `known_splits` has the splits of files; `name` is that of the data set, or “”.
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
    if known_splits is not None:
        splits = [known_splits[file_on_disk(file)] for file in files]
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


def data_files(paths: Sequence[Path]) -> list[Path]:
    """Files among `paths`, and in each folder those with a data suffix.

    A folder of documents counts as one item, as does each such folder of a split. So does a data
    set saved by the `datasets` library or in the hub's cache. A file given by itself is accepted
    with any name.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir() and (folders := _text_folders(path)):
            files += folders
        elif path.is_dir():
            files += _inside(path, iter(range(MAX_FOLDERS)))
        else:
            files.append(path)
    return list(dict.fromkeys(files))


def _inside(folder: Path, left: Iterator[int]) -> list[Path]:
    """Data files of a folder, or of its subfolders if it has none.

    `left` ends once enough folders were searched. Of a data set in the hub's cache, the newest
    version is used. Subfolders that are no splits hold one data set each; the first is used.
    """
    if next(left, None) is None:
        return []
    if (folder / SNAPSHOTS).is_dir():
        versions = [entry for entry in (folder / SNAPSHOTS).iterdir() if entry.is_dir()]
        newest = max(versions, key=lambda entry: entry.stat().st_mtime, default=None)
        return [] if newest is None else _inside(newest, left)
    entries = sorted(
        entry for _, entry in zip(range(FOLDER_ENTRIES), folder.iterdir(), strict=False)
    )
    if files := [entry for entry in entries if is_data_file(entry) and entry.is_file()]:
        return files
    folders = [entry for entry in entries if entry.is_dir() and not entry.name.startswith(".")]
    below = {entry: _inside(entry, left) for entry in folders}
    if splits := [
        file for entry in folders if split_from_name(entry.name) for file in below[entry]
    ]:
        return splits
    return next((files for files in below.values() if files), [])


def parts(files: Sequence[Path]) -> list[Path]:
    """The files, with archives and workbooks replaced by their contents.

    Raises BadFile if one cannot be unpacked.
    """
    return [part for file in files for part in list_parts(file)]


def shown_names(files: Sequence[Path]) -> list[str]:
    """Display names: of parts of a file, those of the parts; of parts of several, both."""
    wholes = [file_on_disk(file) for file in files]
    is_one = len(set(wholes)) == 1 and wholes[0] not in files
    return [
        file.name
        if whole == file
        else f"{'' if is_one else f'{whole.name} / '}{file.relative_to(whole).as_posix()}"
        for file, whole in zip(files, wholes, strict=True)
    ]


def guess_splits(files: Sequence[Path]) -> list[SplitName | None]:
    """Split of each of several files, by its name.

    Files with other names are for training, unless one is named train; then they are skipped
    (None). Of sheets of a workbook with other names, the first is for training.
    """
    named = [_named(file) for file in files]
    if "train" in named:
        return named
    free = [file for file, split in zip(files, named, strict=True) if split is None]
    sheets = {file for file in free if file.parent.suffix.lower() in WORKBOOK.suffixes}
    skipped = sheets - set(free[:1])
    pairs = zip(files, named, strict=True)
    return [split or (None if file in skipped else "train") for file, split in pairs]


def suggested_name(files: Sequence[Path]) -> str:
    """Name for the data set: that of the file, or of the folder if the file is a split."""
    whole = file_on_disk(files[0])
    if whole != files[0]:
        return whole.stem
    first = Path(files[0].parent / logical_name(files[0]))
    if (len(files) > 1 or _named(first) is not None) and first.parent.name:
        return first.parent.name
    return first.stem or first.name


def _text_folders(folder: Path) -> list[Path]:
    return splits_in(folder) or ([folder] if is_text_folder(folder) else [])


def _named(file: Path) -> SplitName | None:
    words = re.split(r"[\W_\d]+", Path(logical_name(file)).stem)
    own = next((split for split in map(split_from_name, words) if split is not None), None)
    return own or (split_from_name(file.parent.name) if SHARD.search(file.stem) else None)
