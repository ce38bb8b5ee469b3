"""Recognise data files and folders by name, and list their parts and splits."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from engine.checkpoints.elsewhere import SNAPSHOTS
from engine.config.dataset import SPLITS, Source, SplitName
from engine.data.columns.names import split_from_name
from engine.data.formats import FORMATS
from engine.data.formats.archives import (
    ARCHIVE_SUFFIX,
    PACKED_SUFFIXES,
    SETTINGS,
    file_on_disk,
    is_archive,
    logical_name,
    members,
)
from engine.data.formats.folder import has_annotations, has_texts, list_labels
from engine.data.formats.json_document import split_keys
from engine.data.formats.plain import PLAIN
from engine.data.formats.rows import is_documentation
from engine.data.formats.workbook import WORKBOOK, sheets_with_rows
from engine.errors import BadFile
from engine.phrases import join, phrase

MAX_FOLDER_ENTRIES = 200
MAX_FOLDERS = 1_000  # searched in total
SHARD = re.compile(r"-\d{5}-of-\d{5}$")  # shard in a folder named after its split
MAX_SPLIT_TEXTS = 3  # up to this many texts in a folder may be splits, not documents


def format_suffixes() -> tuple[str, ...]:
    return tuple(dict.fromkeys(suffix for kind in FORMATS.values() for suffix in kind.suffixes))


def data_suffixes() -> tuple[str, ...]:
    """Suffixes of data files, including archives."""
    return (*format_suffixes(), ARCHIVE_SUFFIX, *PACKED_SUFFIXES)


def format_titles() -> str:
    """Titles of the readable formats, joined."""
    return join(", ", (kind.title for kind in FORMATS.values() if kind.suffixes))


def is_data_file(file: Path) -> bool:
    """True if a file is data by its name; not a README, settings, nor a tar archive."""
    suffix = Path(logical_name(file)).suffix.lower()
    is_data = suffix in (*format_suffixes(), ARCHIVE_SUFFIX) and not is_documentation(file.name)
    return is_data and file.name.lower() not in SETTINGS


def list_parts(file: Path) -> list[Path]:
    """List the parts of a file: archive members, sheets, splits of a JSON document, or itself.

    Raises BadFile if it cannot be unpacked.
    """
    if file.is_dir() or file_on_disk(file) != file:
        return [file]
    if is_archive(file):
        names = members(file)
        parts = [file / name for name in names if is_data_file(Path(name))]
        parts = parts or [file / name for name in names]
        return [file] if len(names) < 2 else parts
    if file.suffix.lower() in WORKBOOK.suffixes:
        sheets = sheets_with_rows(file)
        return [file / sheet for sheet in sheets] if len(sheets) > 1 else [file]
    return [file / name for name in split_keys(file)] or [file]


def is_text_folder(folder: Path) -> bool:
    """True if a folder has documents: several sub-folders with texts, many texts, or brat files.

    Sub-folders named like splits do not count, nor does a folder with a text named like a split
    (train.txt).
    """
    if len([name for name in list_labels(folder) if split_from_name(name) is None]) > 1:
        return True
    if has_annotations(folder) and not any(split_from_name(name) for name in list_labels(folder)):
        return True
    others = set(data_suffixes()) - set(PLAIN.suffixes)
    return has_texts(folder, MAX_SPLIT_TEXTS + 1) and not any(
        entry.suffix.lower() in others or (split_from_name(entry.stem) and is_data_file(entry))
        for entry in folder.iterdir()
    )


def holds_texts(folder: Path) -> bool:
    """True if a folder contains documents, or a sub-folder of documents for each split."""
    return is_text_folder(folder) or bool(list_splits(folder))


def list_splits(folder: Path) -> list[Path]:
    """Sub-folders of documents that are named like splits."""
    return sorted(
        entry
        for entry in folder.iterdir()
        if split_from_name(entry.name) and entry.is_dir() and is_text_folder(entry)
    )


class SplitFiles(NamedTuple):
    """Data files by split, those for training first, and the files and sheets left out."""

    sources: dict[Source, list[Path]]
    left_out: list[Path]

    @property
    def main_file(self) -> Path:
        """The file whose format and columns apply to all."""
        return next(iter(self.sources.values()))[0]


def split_files(path: Path, validation: Path | None = None, test: Path | None = None) -> SplitFiles:
    """The data files of a file or folder by split.

    Files given for validation or test replace those found. Raises BadFile if there are none.
    """
    files = expand(data_files([path]))
    if not files:
        raise BadFile(
            path,
            phrase("there are no data files in it."),
            phrase("Choose a table (Excel, CSV, Parquet, …), JSON or text."),
        )
    found: dict[Source, list[Path]] = {split: [] for split in SPLITS}
    left_out: list[Path] = []
    for file, split in zip(files, guess_splits(files), strict=True):
        (left_out if split is None else found[split]).append(file)
    given: dict[Source, Path | None] = {"validation": validation, "test": test}
    found |= {split: [file] for split, file in given.items() if file is not None}
    sources: dict[Source, list[Path]] = {split: paths for split, paths in found.items() if paths}
    if "train" in sources and len(sources) > 1:
        return SplitFiles(sources, left_out)
    return SplitFiles({"all": found["train"] or files}, left_out)


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


def guess_splits(files: Sequence[Path]) -> list[SplitName | None]:
    """Guess the split of each file from its name.

    Files with other names are for training, unless one is named train; then they are skipped
    (None). Of a workbook's sheets with other names, only the first is for training.
    """
    splits = [split_in_name(file) for file in files]
    if "train" in splits:
        return splits
    unnamed = [file for file, split in zip(files, splits, strict=True) if split is None]
    sheets = {file for file in unnamed if file.parent.suffix.lower() in WORKBOOK.suffixes}
    skipped = sheets - set(unnamed[:1])
    pairs = zip(files, splits, strict=True)
    return [split or (None if file in skipped else "train") for file, split in pairs]


def check_no_splits(folder: Path) -> None:
    """Raise BadFile if the sub-folders are the splits of a data set."""
    if folders := list_splits(folder):
        raise BadFile(
            folder,
            phrase(
                "its sub-folders {names} are splits of a data set.",
                names=", ".join(split.name for split in folders),
            ),
            phrase("Import each of them as its split."),
        )


def _text_folders(folder: Path) -> list[Path]:
    return list_splits(folder) or ([folder] if is_text_folder(folder) else [])


def split_in_name(file: Path) -> SplitName | None:
    """The split in the name of a file, or in that of the folder of a shard."""
    words = re.split(r"[\W_\d]+", Path(logical_name(file)).stem)
    split = next((split for split in map(split_from_name, words) if split is not None), None)
    return split or (split_from_name(file.parent.name) if SHARD.search(file.stem) else None)
