"""Lines of a text file, read with limits on file and line size.

Only regular files are opened, and none is read whole, so that pipes, devices, huge sparse files
and endless lines give an error instead of exhausting memory.
"""

import codecs
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path

from engine.data.formats.archives import Source, file_on_disk, open_source
from engine.errors import BadFile
from engine.phrases import phrase
from engine.progress import Cancelled, ProgressCallback

MAX_FILE_BYTES = 16 * 1024**3
MAX_LINE_CHARACTERS = 50_000_000
HEAD_LINES = 50_000  # for a look-ahead if only the first rows are needed
CHUNK_CHARACTERS = 1 << 18  # decoded at a time
BLOCK_BYTES = 1 << 20  # read at a time for columnar parsing
TICK_LINES = 2_000
TICK_CHARACTERS = 1_000_000


def file_size(path: Path) -> int:
    """Size in bytes of a plain, readable, non-empty file.

    Raises BadFile otherwise, before anything is read.
    """
    try:
        status = file_on_disk(path).stat()
    except FileNotFoundError as error:
        raise BadFile(
            path, phrase("the file does not exist."), phrase("It may have been moved or renamed.")
        ) from error
    except (OSError, ValueError) as error:
        raise BadFile(
            path,
            phrase("the file cannot be reached: {error}.", error=reason(error)),
            phrase("Check its location."),
        ) from error
    if stat.S_ISDIR(status.st_mode):
        raise BadFile(path, phrase("this is a folder, not a file."), phrase("Choose a file in it."))
    if not stat.S_ISREG(status.st_mode):
        raise BadFile(
            path,
            phrase("this is a pipe or a device, not a file."),
            phrase("Save its contents first."),
        )
    if status.st_size == 0:
        raise BadFile(path, phrase("the file is empty."), phrase("Choose a file with text."))
    if status.st_size > MAX_FILE_BYTES:
        raise BadFile(
            path,
            phrase(
                "the file has {st_size:.0f} GiB, more than the {largest_file} GiB that can be"
                " read.",
                st_size=status.st_size / 1024**3,
                largest_file=MAX_FILE_BYTES // 1024**3,
            ),
            phrase("Split it, or use a part of it."),
        )
    if not os.access(file_on_disk(path), os.R_OK):
        raise BadFile(
            path,
            phrase("you do not have permission to read this file."),
            phrase("Change the permissions of the file."),
        )
    return status.st_size


class NotText(BadFile):
    """The bytes of a file are not text in its encoding."""


class Lines:
    """Lines of a file with line ends; each iteration reads the file again.

    Compressed files are unpacked. A lone carriage return ends a line, too. With `replace_errors`,
    bytes that are not text become “�”.

    Raises:
        NotText: if the bytes are not text in `encoding`.
        BadFile: if a line is too long.
        Cancelled: soon after `cancelled()` is true.
    """

    def __init__(
        self,
        path: Path,
        encoding: str,
        progress: ProgressCallback | None = None,
        cancelled: Callable[[], bool] | None = None,
        head_only: bool = False,
        replace_errors: bool = False,
    ) -> None:
        self.path, self.encoding, self.head_only = path, encoding, head_only
        self._errors = "replace" if replace_errors else "strict"
        self._progress, self._cancelled = progress, cancelled
        self.size = file_size(path)
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        except (LookupError, UnicodeError, ValueError) as error:
            raise BadFile(
                path,
                phrase("there is no encoding “{encoding}”.", encoding=encoding),
                phrase("Choose, for example, utf-8, utf-16 or cp1252."),
            ) from error

    def look_ahead(
        self, max_length: int = MAX_LINE_CHARACTERS, split: bool = False
    ) -> Iterator[str]:
        """Read lines ahead, without progress; with `head_only`, only the first ones."""
        lines = self.without_progress().limit_lines(max_length, split)
        return islice(lines, HEAD_LINES) if self.head_only else lines

    def without_progress(self) -> "Lines":
        """The same lines without progress."""
        return Lines(self.path, self.encoding, None, self._cancelled)

    def __iter__(self) -> Iterator[str]:
        return self.limit_lines(MAX_LINE_CHARACTERS, split=False)

    def limit_lines(self, max_length: int, split: bool) -> Iterator[str]:
        """Yield lines of at most `max_length` characters; longer lines are split or rejected."""
        number = characters = 0
        with self._open() as (raw, source):
            text = io.TextIOWrapper(raw, self.encoding, self._errors, newline="")
            for line in _split_lines(text, max_length):
                number += 1
                characters += len(line)
                if len(line) >= max_length and not split and line[-1] not in "\r\n":
                    raise self.too_long_error(number, max_length)
                if number % TICK_LINES == 0 or characters > TICK_CHARACTERS:
                    self.tick(source.done)
                    characters = 0
                yield line

    def blocks(self) -> Iterator[bytes]:
        """The text in UTF-8 blocks, without a byte order mark."""
        decoder = codecs.getincrementaldecoder(self.encoding)(self._errors)
        is_first = True
        with self._open() as (raw, source):
            while content := raw.read(BLOCK_BYTES):
                text = decoder.decode(content)
                if is_first and text:
                    text, is_first = text.removeprefix("\ufeff"), False
                self.tick(source.done)
                yield text.encode("utf-8")
            yield decoder.decode(b"", final=True).encode("utf-8")

    @contextmanager
    def _open(self) -> Iterator[tuple[io.BufferedReader, Source]]:
        """Open the file, convert errors of reading to BadFile, and report its end."""
        try:
            raw, source = open_source(self.path)
            with raw:
                yield raw, source
        except UnicodeError as error:
            raise self._decoding_error() from error
        except OSError as error:
            raise read_error(self.path, error) from error
        self.tick(self.size)

    def tick(self, done: int) -> None:
        """Report the bytes read; raises Cancelled."""
        if self._cancelled is not None and self._cancelled():
            raise Cancelled
        if self._progress is not None:
            self._progress(min(done, self.size), self.size)

    def too_long_error(self, line: int, max_length: int) -> BadFile:
        return BadFile(
            self.path,
            phrase("this line is longer than {count:,} characters.", count=max_length),
            phrase("Split it into several lines."),
            line=line,
        )

    def _decoding_error(self) -> NotText:
        """Locate the first undecodable bytes, as the text wrapper knows only its buffer."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        line, column, last = 1, 0, ""
        raw, _ = open_source(self.path)
        with raw:
            while True:
                chunk = raw.read(1 << 16)
                try:
                    text = decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    valid = error.object[: error.start].decode(self.encoding, errors="replace")
                    line += valid.count("\n")
                    column = len((last + valid).rpartition("\n")[2]) + 1
                    break
                except UnicodeError:
                    break
                line += text.count("\n")
                last = (last + text).rpartition("\n")[2][-MAX_LINE_CHARACTERS:]
                if not chunk:
                    break
        return NotText(
            self.path,
            phrase("these bytes are not text in {encoding}.", encoding=self.encoding),
            phrase("Choose the encoding in which the file was saved, or correct these bytes."),
            line=line,
            column=column,
        )


def _split_lines(text: io.TextIOWrapper, max_length: int) -> Iterator[str]:
    """Split lines like `readline(max_length)`, in half the time and without a byte order mark."""
    pending: list[str] = []  # parts of an unfinished line
    length = 0
    is_first = True
    while chunk := text.read(CHUNK_CHARACTERS):
        if is_first:
            chunk, is_first = chunk.removeprefix("\ufeff"), False
        pending.append(chunk)
        length += len(chunk)
        is_inner = (
            "\n" not in chunk and "\r" not in chunk and not "".join(pending[-2:-1]).endswith("\r")
        )
        if is_inner and length <= max_length:
            continue
        *lines, rest = io.StringIO("".join(pending), newline="").readlines() or [""]
        if length <= max_length:
            yield from lines
        else:
            yield from chain.from_iterable(_split(line, max_length) for line in lines)
        while len(rest) > max_length:
            yield rest[:max_length]
            rest = rest[max_length:]
        pending, length = [rest], len(rest)
    for line in io.StringIO("".join(pending), newline=""):
        yield from _split(line, max_length)


def _split(line: str, max_length: int) -> Iterator[str]:
    if len(line) <= max_length:
        yield line
        return
    for start in range(0, len(line), max_length):
        yield line[start : start + max_length]


def read_error(path: Path, error: OSError) -> BadFile:
    return BadFile(
        path, phrase("it cannot be read: {error}.", error=reason(error)), phrase("Try again.")
    )


def reason(error: BaseException) -> str:
    """Message of the operating system, without a full stop."""
    return (getattr(error, "strerror", None) or str(error) or "unknown").rstrip(".")
