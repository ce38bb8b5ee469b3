"""Lines of a text file, read with limits on file and line size.

Only plain files are opened, and nothing is read whole, so that pipes, devices, huge sparse files
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

LARGEST_FILE = 16 * 1024**3  # bytes
MAX_LINE_CHARACTERS = 50_000_000  # characters
GLANCE = 50_000  # lines of a look-ahead if only the first rows are needed
CHUNK = 1 << 18  # characters decoded at once
BLOCK = 1 << 20  # bytes read at once for columnar parsing
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
    if status.st_size > LARGEST_FILE:
        raise BadFile(
            path,
            phrase(
                "the file has {st_size:.0f} GiB, more than the {largest_file} GiB that can be"
                " read.",
                st_size=status.st_size / 1024**3,
                largest_file=LARGEST_FILE // 1024**3,
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

    Compressed files are unpacked. A lone carriage return ends a line, too. With `cut`, a line that
    is too long is split. With `replaces`, “�” replaces bytes that are not text.

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
        glance: bool = False,
        replaces: bool = False,
    ) -> None:
        self.path, self.encoding, self.glance = path, encoding, glance
        self._errors = "replace" if replaces else "strict"
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

    def ahead(self, longest: int = MAX_LINE_CHARACTERS, cut: bool = False) -> Iterator[str]:
        """Lines for a look-ahead, without progress; with `glance`, only the first ones."""
        lines = self.silent().upto(longest, cut)
        return islice(lines, GLANCE) if self.glance else lines

    def silent(self) -> "Lines":
        """The same lines without progress."""
        return Lines(self.path, self.encoding, None, self._cancelled)

    def __iter__(self) -> Iterator[str]:
        return self.upto(MAX_LINE_CHARACTERS, cut=False)

    def upto(self, longest: int, cut: bool) -> Iterator[str]:
        """Lines of at most `longest` characters; longer ones are split or refused."""
        number = characters = 0
        with self._opened() as (raw, source):
            text = io.TextIOWrapper(raw, self.encoding, self._errors, newline="")
            for line in _lines_in(text, longest):
                number += 1
                characters += len(line)
                if len(line) >= longest and not cut and line[-1] not in "\r\n":
                    raise self.too_long(number, longest)
                if number % TICK_LINES == 0 or characters > TICK_CHARACTERS:
                    self.tick(source.done)
                    characters = 0
                yield line

    def blocks(self) -> Iterator[bytes]:
        """The text in UTF-8 blocks, without a byte order mark."""
        decoder = codecs.getincrementaldecoder(self.encoding)(self._errors)
        is_first = True
        with self._opened() as (raw, source):
            while content := raw.read(BLOCK):
                text = decoder.decode(content)
                if is_first and text:
                    text, is_first = text.removeprefix("\ufeff"), False
                self.tick(source.done)
                yield text.encode("utf-8")
            yield decoder.decode(b"", final=True).encode("utf-8")

    @contextmanager
    def _opened(self) -> Iterator[tuple[io.BufferedReader, Source]]:
        """Open the file, convert errors of reading to BadFile, and report its end."""
        try:
            raw, source = open_source(self.path)
            with raw:
                yield raw, source
        except UnicodeError as error:
            raise self._undecodable() from error
        except OSError as error:
            raise unreadable(self.path, error) from error
        self.tick(self.size)

    def tick(self, done: int) -> None:
        """Report the bytes read; raises Cancelled."""
        if self._cancelled is not None and self._cancelled():
            raise Cancelled
        if self._progress is not None:
            self._progress(min(done, self.size), self.size)

    def too_long(self, line: int, longest: int) -> BadFile:
        return BadFile(
            self.path,
            phrase("this line is longer than {longest:,} characters.", longest=longest),
            phrase("Split it into several lines."),
            line=line,
        )

    def _undecodable(self) -> NotText:
        """Locate the first undecodable bytes: the text wrapper knows only its buffer."""
        decoder = codecs.getincrementaldecoder(self.encoding)()
        line, column, last = 1, 0, ""
        raw, _ = open_source(self.path)
        with raw:
            while True:
                chunk = raw.read(1 << 16)
                try:
                    text = decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as error:
                    good = error.object[: error.start].decode(self.encoding, errors="replace")
                    line += good.count("\n")
                    column = len((last + good).rpartition("\n")[2]) + 1
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
            phrase("Choose the encoding in which the file was saved, or correct this place."),
            line=line,
            column=column,
        )


def _lines_in(text: io.TextIOWrapper, longest: int) -> Iterator[str]:
    """Lines with ends, as `readline(longest)` in half the time, without a byte order mark."""
    begun: list[str] = []  # of an unfinished line
    length = 0
    is_first = True
    while chunk := text.read(CHUNK):
        if is_first:
            chunk, is_first = chunk.removeprefix("\ufeff"), False
        begun.append(chunk)
        length += len(chunk)
        is_inner = (
            "\n" not in chunk and "\r" not in chunk and not "".join(begun[-2:-1]).endswith("\r")
        )
        if is_inner and length <= longest:
            continue
        *lines, rest = io.StringIO("".join(begun), newline="").readlines() or [""]
        if length <= longest:
            yield from lines
        else:
            yield from chain.from_iterable(_cut(line, longest) for line in lines)
        while len(rest) > longest:
            yield rest[:longest]
            rest = rest[longest:]
        begun, length = [rest], len(rest)
    for line in io.StringIO("".join(begun), newline=""):
        yield from _cut(line, longest)


def _cut(line: str, longest: int) -> Iterator[str]:
    if len(line) <= longest:
        yield line
        return
    for start in range(0, len(line), longest):
        yield line[start : start + longest]


def unreadable(path: Path, error: OSError) -> BadFile:
    return BadFile(
        path, phrase("it cannot be read: {error}.", error=reason(error)), phrase("Try again.")
    )


def reason(error: BaseException) -> str:
    """Message of the operating system, without a full stop."""
    return (getattr(error, "strerror", None) or str(error) or "unknown").rstrip(".")
