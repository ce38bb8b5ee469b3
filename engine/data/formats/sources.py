"""Recognise data files and folders by name, and list their parts."""

from pathlib import Path

from engine.data.columns.names import split_from_name
from engine.data.formats import FORMATS
from engine.data.formats.archives import (
    ARCHIVE_SUFFIX,
    PACKED_SUFFIXES,
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
    """True if a file is data by its name; not a README, nor a tar archive."""
    suffix = Path(logical_name(file)).suffix.lower()
    return suffix in (*format_suffixes(), ARCHIVE_SUFFIX) and not is_documentation(file.name)


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
