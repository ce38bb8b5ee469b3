"""Compressed files and archives, unpacked while they are read.

A path below a file names a part of it: `reviews.zip/train.csv` is a member of an archive,
`book.xlsx/Sheet 2` a sheet of a workbook, and `all.zip/book.xlsx/Sheet 2` both. All readers accept
such paths.

Files are unpacked to disk only for libraries that need random access, and only up to the size of a
plain file and a plausible compression ratio.
"""

import bz2
import gzip
import io
import lzma
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple, cast

import pyarrow as pa

from engine.errors import BadFile
from engine.files.atomic_write import check_free_space, disk_errors_for
from engine.files.regular_file import open_regular
from engine.phrases import join, phrase

MAX_UNPACKED = 16 * 1024**3  # bytes, as for plain files
SUSPICIOUS_BYTES, MAX_RATIO = 256 * 1024**2, 500  # text does not reach this ratio above this size
CHUNK = 1 << 18  # bytes
MAX_MEMBERS = 100_000
MAX_LISTED_MEMBERS = 10
UNPACKERS: dict[bytes, Callable[[Any], Any]] = {  # by the first bytes
    b"\x1f\x8b": lambda inner: gzip.GzipFile(fileobj=inner),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"\x28\xb5\x2f\xfd": lambda inner: pa.CompressedInputStream(pa.PythonFile(inner, "r"), "zstd"),
}
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
PACKED_SUFFIXES = (".gz", ".bz2", ".xz", ".zst")
ARCHIVE_SUFFIX = ".zip"
OFFICE_FILES = ("[Content_Types].xml", "mimetype", "META-INF/manifest.xml")  # files in workbooks
HIDDEN_PREFIXES = ("__macosx/", ".")  # prefixes of members that operating systems add
SETTINGS = (  # names of files of the `datasets` library, of models and of programs
    *("dataset_info.json", "dataset_infos.json", "dataset_dict.json", "state.json"),
    *("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json"),
    *("special_tokens_map.json", "added_tokens.json", "vocab.json", "vocab.txt", "merges.txt"),
    *("sentence_bert_config.json", "config_sentence_transformers.json", "modules.json"),
    *("adapter_config.json", "trainer_state.json", "preprocessor_config.json"),
    *("model.safetensors.index.json", "typesystem.xml"),
    *("package.json", "package-lock.json", "tsconfig.json", "composer.json"),
)
DOCUMENTATION = (  # prefixes of documentation files
    *("readme", "licence", "license"),
    *("dataset_info", "dataset_dict", "state.json"),  # of the `datasets` library
)
READ_ERRORS = (  # raised for damaged, encrypted or unsupported files
    *(OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile),
    *(pa.ArrowException, NotImplementedError, RuntimeError, struct.error),
)


class Location(NamedTuple):
    """Location of a source: file on disk, archive member, and the rest of the path."""

    file: Path
    member: str
    sheet: str


def file_on_disk(path: Path) -> Path:
    """The file on disk that holds `path`, or `path` itself."""
    try:
        if path.exists():
            return path
        return next((parent for parent in path.parents if parent.is_file()), path)
    except (OSError, ValueError):
        return path  # opening it reports the error


def locate(path: Path) -> Location:
    """Location of a source.

    Raises BadFile if the archive has no such member, or several and none is named.
    """
    file = file_on_disk(path)
    rest = path.relative_to(file).as_posix() if file != path else ""
    if not is_archive(file):
        return Location(file, "", rest)
    names = members(file)
    if rest:
        matches = [name for name in names if rest == name or rest.startswith(f"{name}/")]
        if not matches:
            raise BadFile(
                file,
                phrase("there is no “{name}” in it.", name=rest[:100]),
                phrase("The archive has: {names}.", names=_list_names(names)),
            )
        member = max(matches, key=len)
        return Location(file, member, rest[len(member) + 1 :])
    if not names:
        raise BadFile(
            file, phrase("there are no files in it."), phrase("Choose an archive with data.")
        )
    if len(names) > 1:
        names = [
            name for name in names if PurePosixPath(name).name.lower() not in SETTINGS
        ] or names
    if len(names) > 1:
        raise BadFile(
            file,
            phrase("it has {count:,} files: {names}.", count=len(names), names=_list_names(names)),
            phrase(
                "Choose one of them, such as {example}.", example=f"{file.name}/{names[0][:100]}"
            ),
        )
    return Location(file, names[0], "")


def _list_names(names: list[str]) -> str:
    shown = join(", ", [name[:100] for name in names[:MAX_LISTED_MEMBERS]])
    return join(", ", (shown, "…")) if len(names) > MAX_LISTED_MEMBERS else shown


def is_archive(file: Path) -> bool:
    """True for a ZIP file that is not a workbook, by content."""
    try:
        with open_regular(file) as raw:
            if raw.read(4) not in ZIP:
                return False
            raw.seek(0)
            with zipfile.ZipFile(raw) as archive:
                return not set(archive.namelist()) & set(OFFICE_FILES)
    except OSError:
        return False
    except READ_ERRORS:
        return file.suffix.lower() == ARCHIVE_SUFFIX


def members(file: Path) -> list[str]:
    """Sorted names of the possible data files in an archive."""
    with convert_errors(file), open_regular(file) as raw, zipfile.ZipFile(raw) as archive:
        entries = archive.infolist()
        if len(entries) > MAX_MEMBERS:
            raise BadFile(
                file,
                phrase("it has more than {maximum:,} files.", maximum=MAX_MEMBERS),
                phrase("Use a part of them."),
            )
        return sorted(entry.filename for entry in entries if _is_member(entry))


def _is_member(entry: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(entry.filename)
    hidden = any(part.lower().startswith(HIDDEN_PREFIXES) for part in (*name.parts, entry.filename))
    return not entry.is_dir() and not hidden and not name.name.lower().startswith(DOCUMENTATION)


@contextmanager
def convert_errors(file: Path) -> Iterator[None]:
    """Convert errors of the libraries to BadFile."""
    try:
        yield
    except READ_ERRORS as error:
        if isinstance(error, RuntimeError) and "encrypted" in str(error):
            raise BadFile(
                file,
                phrase("it is encrypted with a password."),
                phrase("Unpack it first, or save it without a password."),
            ) from error
        if isinstance(error, NotImplementedError):
            raise BadFile(
                file,
                phrase("its compression method is not supported."),
                phrase("Unpack it first."),
            ) from error
        raise BadFile(
            file,
            phrase("it is damaged or incomplete, so it cannot be unpacked."),
            phrase("Download or copy it again."),
        ) from error


def logical_name(path: Path) -> str:
    """File name without compression suffixes."""
    name = path.name
    while name.lower().endswith(PACKED_SUFFIXES) and "." in name[1:]:
        name = name.rpartition(".")[0]
    return name


class Source(io.RawIOBase):
    """Sequential stream of the unpacked bytes of a source.

    Raises BadFile, on opening or reading, if it is damaged or unpacks to too much.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._opened: list[Any] = []  # closed in reverse order
        self._count = 0
        try:
            with convert_errors(path):
                self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        self.location = locate(self.path)
        raw = open_regular(self.location.file)
        self._opened.append(raw)
        self._raw, self._packed = raw, raw.seek(0, io.SEEK_END)
        self._ratio = 1.0  # bytes on disk per unpacked byte of the member
        self.declared_size = 0  # according to the archive; 0 if unknown
        raw.seek(0)
        self._inner: Any = raw  # has `read`
        self._member: zipfile.ZipExtFile | None = None
        if self.location.member:
            archive = zipfile.ZipFile(raw)
            self._opened.append(archive)
            info = archive.getinfo(self.location.member)
            self._inner = self._member = cast(zipfile.ZipExtFile, archive.open(info))
            self._opened.append(self._inner)
            self._ratio = self._packed / max(info.file_size, 1)
            self.declared_size = info.file_size
            self._packed = max(info.compress_size, 1)
            start = self._member.peek(6)[:6]
        else:
            start = raw.peek(6)[:6]
        unpack = next(
            (function for mark, function in UNPACKERS.items() if start.startswith(mark)), None
        )
        self.is_packed = bool(self.location.member) or unpack is not None
        if unpack is not None:
            self._inner = unpack(self._inner)
            self._opened.append(self._inner)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        with convert_errors(self.path):
            chunk = self._inner.read(len(buffer))
        buffer[: len(chunk)] = chunk
        self._count += len(chunk)
        if self.is_packed:
            self._check_bomb()
        return len(chunk)

    def _check_bomb(self) -> None:
        packed = self._packed if self.location.member else self._raw.tell()
        times = self._count / max(packed, 1)
        if self._count > MAX_UNPACKED or (self._count > SUSPICIOUS_BYTES and times > MAX_RATIO):
            raise BadFile(
                self.path,
                phrase(
                    "it unpacks to more than {gigabytes:.1f} GB, which is {times:.0f} times its "
                    "size; it may be meant to exhaust the memory.",
                    gigabytes=self._count / 1e9,
                    times=times,
                ),
                phrase("Unpack it yourself if you trust it."),
            )

    @property
    def done(self) -> int:
        """Approximate number of bytes read from disk."""
        return self._raw.tell() if self._member is None else int(self._member.tell() * self._ratio)

    def close(self) -> None:
        for stream in reversed(self._opened):
            stream.close()
        self._opened = []
        super().close()


def open_source(path: Path) -> tuple[io.BufferedReader, Source]:
    """A stream of the unpacked bytes, to be closed by the caller, and its source for progress."""
    source = Source(path)
    return io.BufferedReader(source, CHUNK), source


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """A file with the unpacked bytes: that of the source, or a temporary copy if it is compressed.

    Raises BadFile as `Source` does, and DiskFull.
    """
    stream, source = open_source(path)
    with stream:
        if not source.is_packed:
            yield source.location.file
            return
        with tempfile.TemporaryDirectory(prefix="bert-studio-") as folder:
            target = Path(tempfile.gettempdir()) / source.path.name
            check_free_space(target, source.declared_size)
            copy = Path(folder) / "unpacked"
            with disk_errors_for(target), open(copy, "xb", buffering=0) as file:
                while chunk := memoryview(stream.read(CHUNK)):
                    while chunk:
                        chunk = chunk[file.write(chunk) :]
            yield copy
