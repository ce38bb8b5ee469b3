"""Folders of documents: one per file, labelled by sub-folder."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from engine.config.dataset import Reading
from engine.data.formats.encodings import recognise_encoding
from engine.data.formats.lines import LARGEST_FILE, Lines, NotText, file_size, reason
from engine.data.formats.plain import MAX_TEXT_CHARACTERS, PLAIN
from engine.data.formats.rows import Content, Format, Remarks, Row, is_about_data
from engine.errors import BadFile
from engine.files.regular_file import open_regular
from engine.phrases import phrase
from engine.progress import Cancelled, ProgressCallback

MAX_FILES = 2_000_000
MAX_OTHERS = 100_000  # other files and folders; more means a wrong folder
LONGEST_TEXT = 200_000_000  # bytes of a text read whole
PREVIEW_FILES = 2_000  # files of a preview
ANNOTATIONS = ".ann"  # annotation files of brat
UNLABELLED = ("unsup", "unlabeled", "unlabelled")  # sub-folders of unlabelled texts


def no_lines(lines: Lines, _reading: Reading, _remarks: Remarks) -> Content:
    """Refuse a file."""
    raise BadFile(
        lines.path,
        phrase("this is a file, not a folder of texts."),
        phrase("Choose another format."),
    )


def open_folder(
    folder: Path,
    encoding: str,
    remarks: Remarks,
    progress: ProgressCallback | None = None,
    cancelled: Callable[[], bool] | None = None,
    glance: bool = False,
) -> Content:
    """A row for each file in order of name: text, label and file.

    The label is the name of the sub-folder if several have texts; otherwise there is no label
    column. The “line” of a row is the number of its file. Texts above a million characters are
    split into rows. A file that is not in `encoding` is read in its own.

    Raises:
        BadFile: if there are no texts, or a file cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    labels = labels_in(folder)
    known = [label for label in labels if label.lower() not in UNLABELLED]
    if len(known) > 1:
        for label in labels:
            if label not in known:
                remarks.saw(
                    phrase("The texts in “{label}” have no label and were skipped", label=label), 1
                )
        columns: tuple[str, ...] = ("text", "label", "file")
        files = [(label, file) for label in known for file in _texts(folder / label)]
        if has_texts(folder):
            remarks.saw(phrase("Texts outside the sub-folders have no label and were skipped"), 1)
    else:
        columns = ("text", "file")
        files = [("", file) for file in texts_below(folder)]
    if not files:
        raise BadFile(
            folder, phrase("there are no text files in it."), phrase("Choose a folder with texts.")
        )
    read = _read(folder, files, encoding, remarks, progress, cancelled)
    rows = (Row(n, (text, label, name) if label else (text, name)) for n, text, label, name in read)
    return Content(columns, islice(rows, PREVIEW_FILES) if glance else rows)


def _read(
    folder: Path,
    files: list[tuple[str, Path]],
    encoding: str,
    remarks: Remarks,
    progress: ProgressCallback | None,
    cancelled: Callable[[], bool] | None,
) -> Iterator[tuple[int, str, str, str]]:
    """Number, text, label and name of each document."""
    whole, done = size_of_folder(folder) if progress is not None else 0, 0
    for number, (label, file) in enumerate(files, start=1):
        if cancelled is not None and cancelled():
            raise Cancelled
        name = file.relative_to(folder).as_posix()
        status = file.stat()
        size = status.st_size if stat.S_ISREG(status.st_mode) else file_size(file)
        texts = _texts_of(file, encoding, number, remarks) if size else []
        if len(texts) > 1:
            remarks.saw(
                phrase("Text of more than a million characters split into several rows"), number
            )
        if not texts:
            remarks.saw(phrase("File without text skipped"), number)
        for text in texts:
            yield number, text, label, name
        done += size
        if progress is not None:
            progress(min(done, whole), whole)


def _texts_of(file: Path, encoding: str, number: int, remarks: Remarks) -> list[str]:
    """Texts of a file, in its own encoding if it is not in that of the folder."""
    try:
        texts = _decoded(Lines(file, encoding))
        if not any("\0" in text for text in texts):
            return texts  # otherwise it may be UTF-16 without a mark
    except NotText:
        texts = []
    own = recognise_encoding(file).encoding
    if own != encoding:
        remarks.saw(
            phrase("File not in {encoding}, read as {own}", encoding=encoding, own=own), number
        )
        return _decoded(Lines(file, own, replaces=True))
    if not texts:
        remarks.saw(phrase("Bytes that are not {encoding}, read as “�”", encoding=encoding), number)
        return _decoded(Lines(file, encoding, replaces=True))
    return texts


def _decoded(lines: Lines) -> list[str]:
    return list(_cut(lines.upto(MAX_TEXT_CHARACTERS, cut=True)))


def whole_text(file: Path, encoding: str) -> str:
    """A text unchanged, so that offsets are valid.

    Raises BadFile if it is not in `encoding`, or too long.
    """
    if not file.stat().st_size:
        return ""
    if file.stat().st_size > LONGEST_TEXT:
        raise BadFile(
            file,
            phrase("it is larger than {most} MB.", most=LONGEST_TEXT // 1_000_000),
            phrase("Split it into several texts."),
        )
    return "".join(Lines(file, encoding))


def _cut(lines: Iterator[str]) -> Iterator[str]:
    """Join lines to stripped texts of limited length."""
    part: list[str] = []
    length = 0
    for line in lines:
        if length + len(line) > MAX_TEXT_CHARACTERS:
            yield "".join(part).strip()
            part, length = [], 0
        part.append(line.replace("\r\n", "\n"))
        length += len(line)
    if text := "".join(part).strip():
        yield text


def check_texts(folder: Path) -> None:
    """Raise BadFile if all files of a folder are empty."""
    if not any(file.stat().st_size for file in texts_below(folder)):
        raise BadFile(
            folder, phrase("there are no texts in it."), phrase("Choose a folder with .txt files.")
        )


def size_of_folder(folder: Path) -> int:
    """Size of all texts in bytes. Raises BadFile if it is too large."""
    size = sum(file.stat().st_size for file in _all_files(folder))
    if size > LARGEST_FILE:
        raise BadFile(
            folder, phrase("its texts are too large to be read."), phrase("Use a part of them.")
        )
    return size


def state_of_folder(folder: Path) -> tuple[int, int]:
    """Size of all texts, and the latest modification of a text or the folder."""
    states = [file.stat() for file in _all_files(folder)]
    changes = [folder.stat().st_mtime_ns, *(state.st_mtime_ns for state in states)]
    return sum(state.st_size for state in states), max(changes)


def sha256_of_folder(folder: Path) -> str:
    """SHA-256 over names and contents of all texts."""
    found = hashlib.sha256()
    for file in _all_files(folder):
        with open_regular(file) as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        found.update(f"{file.relative_to(folder).as_posix()}\n{digest}\n".encode(errors="replace"))
    return found.hexdigest()


def labels_in(folder: Path) -> list[str]:
    """Sorted names of the sub-folders with texts."""
    try:
        inside = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError as error:
        raise BadFile(
            folder, phrase("it cannot be read: {error}.", error=reason(error)), phrase("Try again.")
        ) from error
    return [entry.name for entry in inside if not entry.name.startswith(".") and has_texts(entry)]


def has_texts(folder: Path, count: int = 1) -> bool:
    """True if a folder itself has at least `count` texts."""
    with os.scandir(folder) as entries:
        texts = (entry for entry in entries if _is_text(entry.name))
        return len(list(islice(texts, count))) == count


def _texts(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if _is_text(entry.name))
    return [folder / name for name in names]


def has_annotations(folder: Path) -> bool:
    """True if there are brat files among the first files of a folder."""
    files = (name for _, _, names in os.walk(folder) for name in names)
    return any(name.lower().endswith(ANNOTATIONS) for name in islice(files, PREVIEW_FILES))


def texts_below(folder: Path) -> list[Path]:
    """Sorted texts of a folder and its sub-folders, without following links."""
    return _all(folder, _is_text)


def _all_files(folder: Path) -> list[Path]:
    """Texts and brat annotations."""
    return _all(folder, lambda name: _is_text(name) or name.lower().endswith(ANNOTATIONS))


def _all(folder: Path, is_wanted: Callable[[str], bool]) -> list[Path]:
    found: list[Path] = []
    others = 0
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        wanted = [Path(place) / name for name in names if is_wanted(name)]
        found += wanted
        others += len(folders) + len(names) - len(wanted)
        if others > MAX_OTHERS:
            raise BadFile(
                folder,
                phrase(
                    "it has more than {most:,} files and folders beside texts.", most=MAX_OTHERS
                ),
                phrase("Choose the folder in which the texts are."),
            )
        if len(found) > MAX_FILES:
            raise BadFile(
                folder,
                phrase("it has more than {most:,} texts.", most=MAX_FILES),
                phrase("Use a part of them."),
            )
    return sorted(found)


def _is_text(name: str) -> bool:
    lower = name.lower()
    return lower.endswith(PLAIN.suffixes) and not lower.startswith(".") and not is_about_data(name)


FOLDER = Format("folder", phrase("Folder of texts"), (), no_lines, open_folder=open_folder)
