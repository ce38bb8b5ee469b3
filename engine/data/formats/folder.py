"""Folders of documents: one per file, labelled by sub-folder."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from engine.data.formats.encodings import recognise_encoding
from engine.data.formats.lines import MAX_FILE_BYTES, Lines, NotText, file_size, read_error
from engine.data.formats.plain import MAX_TEXT_CHARACTERS, PLAIN
from engine.data.formats.rows import Content, Format, Remarks, Row, is_documentation
from engine.errors import BadFile
from engine.files.regular_file import open_regular
from engine.phrases import phrase
from engine.progress import Cancelled, ProgressCallback

MAX_FILES = 2_000_000
MAX_OTHERS = 100_000  # files that are not texts, and folders; more means a wrong folder
MAX_TEXT_BYTES = 200_000_000  # of a text that is read whole
PREVIEW_FILES = 2_000
ANNOTATIONS = ".ann"  # annotation files of brat
UNLABELLED_FOLDERS = ("unsup", "unlabeled", "unlabelled")  # sub-folders of unlabelled texts


@dataclass(frozen=True)
class TextFolder:
    """A folder to read, for a `Format`; `progress` is called with bytes."""

    path: Path
    encoding: str
    progress: ProgressCallback | None = None
    cancelled: Callable[[], bool] | None = None
    head_only: bool = False

    def enumerate_files(self, files: list[Path]) -> Iterator[tuple[int, Path]]:
        """Number the files from 1 while they are read.

        Raises Cancelled soon after `cancelled()` is true.
        """
        total, done = 0 if self.progress is None else folder_size(self.path), 0
        for number, file in enumerate(files, start=1):
            if self.cancelled is not None and self.cancelled():
                raise Cancelled
            yield number, file
            if self.progress is not None:
                annotations = file.with_suffix(ANNOTATIONS)
                done += sum(path.stat().st_size for path in (file, annotations) if path.is_file())
                self.progress(min(done, total), total)

    def limit(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Keep only the first rows if `head_only`."""
        return islice(rows, PREVIEW_FILES) if self.head_only else rows


def open_folder(folder: TextFolder, remarks: Remarks) -> Content:
    """A row for each file in order of name: text, label and file.

    The label is the name of the sub-folder if several have texts; otherwise there is no label
    column. The “line” of a row is the number of its file. Texts above a million characters are
    split into rows. A file in another encoding is read by its own.

    Raises:
        BadFile: if there are no texts, or a file cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    labels = list_labels(folder.path)
    labelled = [label for label in labels if label.lower() not in UNLABELLED_FOLDERS]
    if len(labelled) > 1:
        for label in labels:
            if label not in labelled:
                remarks.count(
                    phrase("The texts in “{label}” have no label and were skipped", label=label), 1
                )
        columns: tuple[str, ...] = ("text", "label", "file")
        files = [file for label in labelled for file in _list_direct_texts(folder.path / label)]
        if has_texts(folder.path):
            remarks.count(phrase("Texts outside the sub-folders have no label and were skipped"), 1)
    else:
        columns = ("text", "file")
        files = list_texts(folder.path)
    if not files:
        raise BadFile(
            folder.path,
            phrase("there are no text files in it."),
            phrase("Choose a folder with texts."),
        )

    def rows() -> Iterator[Row]:
        for number, file in folder.enumerate_files(files):
            name = file.relative_to(folder.path).as_posix()
            label = (name.partition("/")[0],) if "label" in columns else ()
            for text in _read_texts(file, folder.encoding, number, remarks):
                yield Row(number, (text, *label, name))

    return Content(columns, folder.limit(rows()))


def _read_texts(file: Path, encoding: str, number: int, remarks: Remarks) -> list[str]:
    status = file.stat()
    size = status.st_size if stat.S_ISREG(status.st_mode) else file_size(file)
    texts = _decode_texts(file, encoding, number, remarks) if size else []
    if len(texts) > 1:
        remarks.count(
            phrase("Text of more than a million characters split into several rows"), number
        )
    if not texts:
        remarks.count(phrase("File without text skipped"), number)
    return texts


def _decode_texts(file: Path, encoding: str, number: int, remarks: Remarks) -> list[str]:
    """Decode the texts of a file, by its own encoding if the folder's fails."""
    try:
        texts = _join_texts(Lines(file, encoding))
        if not any("\0" in text for text in texts):
            return texts  # otherwise it may be UTF-16 without a mark
    except NotText:
        texts = []
    own = recognise_encoding(file).encoding
    if own != encoding:
        remarks.count(
            phrase("File not in {encoding}, read as {own}", encoding=encoding, own=own), number
        )
        return _join_texts(Lines(file, own, replace_errors=True))
    if not texts:
        remarks.count(
            phrase("Bytes that are not {encoding}, read as “�”", encoding=encoding), number
        )
        return _join_texts(Lines(file, encoding, replace_errors=True))
    return texts


def read_text(file: Path, encoding: str) -> str:
    """Read a text unchanged, so that offsets are valid.

    Raises BadFile if it is not in `encoding`, or too long.
    """
    if not file.stat().st_size:
        return ""
    if file.stat().st_size > MAX_TEXT_BYTES:
        raise BadFile(
            file,
            phrase("it is larger than {size} MB.", size=MAX_TEXT_BYTES // 1_000_000),
            phrase("Split it into several texts."),
        )
    return "".join(Lines(file, encoding))


def _join_texts(lines: Lines) -> list[str]:
    """Join lines to stripped texts of limited length."""
    texts: list[str] = []
    part: list[str] = []
    length = 0
    for line in lines.limit_lines(MAX_TEXT_CHARACTERS, split=True):
        if length + len(line) > MAX_TEXT_CHARACTERS:
            texts.append("".join(part).strip())
            part, length = [], 0
        part.append(line.replace("\r\n", "\n"))
        length += len(line)
    last = "".join(part).strip()
    return [*texts, last] if last else texts


def check_texts(folder: Path) -> None:
    """Raise BadFile if all files of a folder are empty."""
    if not any(file.stat().st_size for file in list_texts(folder)):
        raise BadFile(
            folder, phrase("there are no texts in it."), phrase("Choose a folder with .txt files.")
        )


def folder_size(folder: Path) -> int:
    """Size of all texts in bytes. Raises BadFile if it is too large."""
    size = sum(file.stat().st_size for file in list_texts(folder, annotations=True))
    if size > MAX_FILE_BYTES:
        raise BadFile(
            folder, phrase("its texts are too large to be read."), phrase("Use a part of them.")
        )
    return size


def folder_state(folder: Path) -> tuple[int, int]:
    """Size of all texts, and the latest modification of a text or the folder."""
    states = [file.stat() for file in list_texts(folder, annotations=True)]
    changes = [folder.stat().st_mtime_ns, *(state.st_mtime_ns for state in states)]
    return sum(state.st_size for state in states), max(changes)


def folder_sha256(folder: Path) -> str:
    """SHA-256 over names and contents of all texts."""
    total = hashlib.sha256()
    for file in list_texts(folder, annotations=True):
        with open_regular(file) as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        total.update(f"{file.relative_to(folder).as_posix()}\n{digest}\n".encode(errors="replace"))
    return total.hexdigest()


def list_labels(folder: Path) -> list[str]:
    """Sorted names of the sub-folders with texts."""
    try:
        folders = sorted(entry for entry in folder.iterdir() if entry.is_dir())
    except OSError as error:
        raise read_error(folder, error) from error
    return [entry.name for entry in folders if not entry.name.startswith(".") and has_texts(entry)]


def has_texts(folder: Path, count: int = 1) -> bool:
    """True if a folder itself has at least `count` texts."""
    with os.scandir(folder) as entries:
        texts = (entry for entry in entries if _is_text(entry.name))
        return len(list(islice(texts, count))) == count


def _list_direct_texts(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        names = sorted(entry.name for entry in entries if _is_text(entry.name))
    return [folder / name for name in names]


def has_annotations(folder: Path) -> bool:
    """True if there are brat files among the first files of a folder."""
    files = (name for _, _, names in os.walk(folder) for name in names)
    return any(name.lower().endswith(ANNOTATIONS) for name in islice(files, PREVIEW_FILES))


def list_texts(folder: Path, annotations: bool = False) -> list[Path]:
    """Sorted texts of a folder and its sub-folders, without following links.

    With `annotations`, brat files are listed, too.
    """
    files: list[Path] = []
    others = 0
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [
            Path(root) / name
            for name in names
            if _is_text(name) or (annotations and name.lower().endswith(ANNOTATIONS))
        ]
        files += paths
        others += len(folders) + len(names) - len(paths)
        if others > MAX_OTHERS:
            raise BadFile(
                folder,
                phrase(
                    "it has more than {count:,} files and folders that are not texts.",
                    count=MAX_OTHERS,
                ),
                phrase("Choose the folder in which the texts are."),
            )
        if len(files) > MAX_FILES:
            raise BadFile(
                folder,
                phrase("it has more than {count:,} texts.", count=MAX_FILES),
                phrase("Use a part of them."),
            )
    return sorted(files)


def _is_text(name: str) -> bool:
    lower = name.lower()
    return (
        lower.endswith(PLAIN.suffixes) and not lower.startswith(".") and not is_documentation(name)
    )


FOLDER = Format("folder", phrase("Folder of texts"), (), open_folder=open_folder)
