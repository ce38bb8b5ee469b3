"""Recognise the encoding of a file, and reject binary files."""

import codecs
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

from engine.data.formats.archives import open_source
from engine.data.formats.lines import file_size, read_error
from engine.errors import BadFile
from engine.phrases import phrase

SAMPLE_BYTES = 1 << 16  # examined closely
MAX_CHECKED_BYTES = 1 << 26  # tried as UTF-8
KINDS: tuple[tuple[bytes, str], ...] = (
    (b"%PDF", phrase("a PDF document")),
    (b"7z\xbc\xaf\x27\x1c", phrase("a 7-Zip archive")),
    (b"Rar!\x1a\x07", phrase("a RAR archive")),
    (b"SQLite format 3\x00", phrase("an SQLite database")),
    (b"$FL2", phrase("an SPSS file")),
    (b"$FL3", phrase("an SPSS file")),
    (b"<stata_dta>", phrase("a Stata file")),
    (b"ORC", phrase("an ORC file")),
    (b"Obj\x01", phrase("an Avro file")),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (b"\x93NUMPY", phrase("a NumPy array")),
    (b"\x89PNG", phrase("a PNG image")),
    (b"\xff\xd8\xff", phrase("a JPEG image")),
    (b"GIF8", phrase("a GIF image")),
    (b"\x7fELF", "a program"),
    *((bytes([0x80, version]), phrase("a Python pickle")) for version in range(2, 6)),
    (b"{\\rtf", phrase("a rich text document")),
)
BYTE_ORDER_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
ADVICE = phrase("Save it as CSV, TSV, JSON Lines or plain text first.")
CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")


class EncodingGuess(NamedTuple):
    """Encoding of a file, with a note if it is uncertain."""

    encoding: str
    note: str = ""


def recognise_encoding(path: Path) -> EncodingGuess:
    """Recognise the encoding of a text file.

    Raises BadFile for another kind of file, with its name if known.
    """
    with _open(path) as file:
        start = file.read(SAMPLE_BYTES)
        _check_kind(path, start)
        for mark, name in BYTE_ORDER_MARKS:
            if start.startswith(mark):
                return EncodingGuess(name)
        if utf16 := _guess_utf16(start):
            note = phrase("The file has no byte order mark; it was read as {name}.", name=utf16)
            return EncodingGuess(utf16, note)
        content = start + file.read(MAX_CHECKED_BYTES - SAMPLE_BYTES)
    if _is_mostly_utf8(content):
        _check_control_characters(path, content[:SAMPLE_BYTES].decode("utf-8", errors="ignore"))
        return EncodingGuess("utf-8")
    _check_control_characters(path, start.decode("latin-1"))
    if mixed := _count_utf8(content):
        note = phrase(
            "The file mixes encodings: {n:,} line(s) are UTF-8, and others are not. It was read as"
            " cp1252; save it in one encoding.",
            n=mixed,
        )
        return EncodingGuess("cp1252", note)
    name = _guess_single_byte(content)
    return EncodingGuess(
        name,
        phrase(
            "The file is not UTF-8; it was read as {name}. Please check accented and special "
            "letters.",
            name=name,
        ),
    )


def first_bytes(path: Path) -> bytes:
    """First unpacked bytes of a file. Raises BadFile."""
    with _open(path) as file:
        return file.read(SAMPLE_BYTES)


@contextmanager
def _open(path: Path) -> Iterator[BinaryIO]:
    file_size(path)
    try:
        file, _ = open_source(path)
        with file:
            yield file
    except OSError as error:
        raise read_error(path, error) from error


def _check_kind(path: Path, start: bytes) -> None:
    kind = next((name for magic, name in KINDS if start.startswith(magic)), "")
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        kind = phrase("a ZIP archive")
    if start[257:262] == b"ustar":
        kind = phrase("a tar archive")
    if kind:
        raise BadFile(path, phrase("this is {kind}, not text.", kind=kind), ADVICE)
    head = start[:1_000].lstrip().lower()
    is_page = head.startswith((b"<!doctype html", b"<html", b"<table", b"<style"))
    if is_page and path.suffix.lower() in (".xls", ".xlsx"):
        raise BadFile(
            path,
            phrase("this is a web page with the name of an Excel file."),
            phrase("Open it in a spreadsheet program and save it as .xlsx."),
        )
    if head.startswith((b"<!doctype html", b"<html", b"<table")):
        raise BadFile(
            path,
            phrase("this is a web page, not a data file."),
            phrase("Download the file itself, or save its table as CSV."),
        )
    if head.startswith(b"version https://git-lfs"):
        raise BadFile(
            path,
            phrase("this is a Git LFS pointer, not the file itself."),
            phrase("Download the file with “git lfs pull”."),
        )


def _guess_utf16(start: bytes) -> str:
    """Guess UTF-16 without a mark: every other byte of Latin text is zero."""
    even, odd = start[0::2].count(0), start[1::2].count(0)  # zero bytes
    name = "utf-16-le" if odd > 10 * even else "utf-16-be" if even > 10 * odd else ""
    if not name or (max(even, odd) < 0.2 * len(start) and _is_mostly_utf8(start)):
        return ""
    text = start[: len(start) // 2 * 2].decode(name, errors="replace")
    plausible = sum(c.isalnum() or c.isspace() or c in ",;.\"'-_:!?()、。" for c in text)
    return name if plausible > 0.8 * len(text) else ""


def _is_mostly_utf8(content: bytes) -> bool:
    """True for UTF-8, even with a few broken bytes."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for first in range(0, len(content), SAMPLE_BYTES):
            decoder.decode(content[first : first + SAMPLE_BYTES])
        is_all = len(content) < MAX_CHECKED_BYTES  # otherwise a character may be truncated
        decoder.decode(b"", final=is_all)
    except UnicodeDecodeError:
        pass
    else:
        return True
    text = content.decode("utf-8", errors="replace")
    broken = text.count("\N{REPLACEMENT CHARACTER}")
    valid = sum(map(len, re.findall(r"[^\x00-\x7f]+", text))) - broken
    return valid > 10 * broken


def _count_utf8(content: bytes) -> int:
    """Number of lines in UTF-8 if they are a fifth of those with special letters; else 0."""
    lines = [line for line in content.split(b"\n") if not line.isascii()]
    valid = sum(_is_valid(line, "utf-8") for line in lines)
    return valid if 5 * valid > len(lines) and _is_valid(content, "cp1252") else 0


def _is_valid(content: bytes, encoding: str) -> bool:
    try:
        content.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _check_control_characters(path: Path, text: str) -> None:
    if len(CONTROL.findall(text)) > max(1, len(text) // 20):
        raise BadFile(path, phrase("this is a binary file, not text."), ADVICE)


def _guess_single_byte(content: bytes) -> str:
    """Guess a single-byte or East Asian encoding."""
    try:
        text, fallback = content.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        text, fallback = "", "latin-1"
    if text and _looks_western(text):
        return "cp1252"
    from charset_normalizer import from_bytes  # slow import

    lines = b"\n".join(line for line in content.split(b"\n") if not line.isascii())
    best = from_bytes(lines[:SAMPLE_BYTES]).best()
    if best is None or best.encoding in ("ascii", "utf_8"):
        return fallback
    try:
        content.decode(best.encoding)
    except UnicodeDecodeError:
        return fallback
    return best.encoding.replace("_", "-")


def _looks_western(text: str) -> bool:
    """True if few letters are non-ASCII, and hardly any at unusual positions."""
    special = len(re.findall(r"[^\x00-\x7f]", text))
    unusual = len(re.findall(r"[A-Za-zÀ-ÿ][¡-¿×÷][a-zß-ÿ]|[a-zß-ÿ][À-Þ]", text))
    letters = sum(map(str.isalpha, text))
    return unusual * 5 <= special and special <= 0.3 * letters + 3
