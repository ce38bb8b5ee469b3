"""Read files of static word vectors: the text of GloVe, and word2vec's text and binary format.

Each line of text has a word and its numbers, separated by spaces. word2vec, and fastText in its
.vec files, begin with a line of two numbers: words and size. Only a line feed ends a line, because
words of real files contain spaces, no-break spaces and U+0085. The binary format has each word, a
space and float32 in little-endian order (Mikolov et al. 2013, word2vec.c). D is the size of a
vector.
"""

import io
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.archives import SUFFIXES
from engine.data.formats.archives import PACKED_SUFFIXES, logical_name, open_source
from engine.errors import BadFile
from engine.files.regular_file import MAX_LINE
from engine.phrases import Phrase, phrase

SAMPLE = 1 << 20  # bytes that are read to recognise a file
CHUNK = 1 << 22  # bytes
CHUNK_WORDS = 4_096  # of the binary format
SAMPLE_LINES = 100
MAX_SIZE = 100_000  # numbers of a vector
MAX_PLAUSIBLE = 1e9  # of a number in a vector
MAX_WORD = 10_000  # bytes
WRITTEN_PER_SECOND = 200e6  # bytes, on an ordinary disk
MIN_OBVIOUS_SIZE = 20  # numbers in each line by which a text without a header is recognised
USUAL_SUFFIXES = (".txt", ".vec", ".bin", *PACKED_SUFFIXES)
WEIGHTS = "pytorch_model"  # begins the names of weights that end with .bin
HEADER = re.compile(rb"(\d{1,12})[ \t](\d{1,6})\s*")
ROW = re.compile(r"at row (\d+)")  # in errors of NumPy
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
OTHER_FILES = {  # by their first bytes
    b"\xba\x16\x4f\x2f": phrase("it is a model of fastText, not its word vectors."),
    b"\x80": phrase("it is a file of gensim or of Python, not in the format of word2vec."),
    b"\x93NUMPY": phrase("it is an array without words."),
}


class Layout(NamedTuple):
    """Form of a file. `words` is announced by its first line, or estimated from its size."""

    is_binary: bool
    has_header: bool
    size: int  # numbers of a vector
    words: int
    seconds: float  # to convert it on this machine, estimated from its beginning

    @property
    def bytes(self) -> int:
        """Approximate size of the mapped copy."""
        return self.words * (4 * self.size + 24)

    def sentence(self) -> Phrase:
        """Size and time of the conversion, for a question before it."""
        return phrase(
            "About {words:,} words of {size:,} numbers: the mapped copy takes {mb:,.0f} MB and "
            "about {seconds:,.0f} s.",
            words=self.words,
            size=self.size,
            mb=max(1, self.bytes / 1e6),
            seconds=max(1, self.seconds),
        )


class Part(NamedTuple):
    """Some words as bytes, and their vectors, float32 [N, D]; `first` is the number of the first
    line or entry, from 1."""

    words: list[bytes]
    vectors: NDArray[np.float32]
    first: int


def is_meant(path: Path) -> bool:
    """True if an import of this path means word vectors, though they may be damaged."""
    name = path.name.lower()
    if not path.is_file() or name.startswith(WEIGHTS):
        return False
    is_usual = name.endswith(USUAL_SUFFIXES) and not name.endswith(SUFFIXES)
    return is_usual or holds_word_vectors(path)


def vectors_name(path: Path) -> str:
    """Name for the word vectors of a file, without its suffixes."""
    return Path(logical_name(path)).stem


def holds_word_vectors(path: Path) -> bool:
    """True if a file is obviously one of word vectors, by its content."""
    try:
        layout = examine(path)
    except (BadFile, OSError):
        return False
    return layout.has_header or layout.size >= MIN_OBVIOUS_SIZE


def examine(path: Path) -> Layout:
    """Recognise a file by its beginning.

    Raises BadFile if it has no word vectors or is damaged, and OSError.
    """
    began = time.perf_counter()
    stream, source = open_source(path)
    with stream:
        sample = _read_up_to(stream, SAMPLE).removeprefix(BYTE_ORDER_MARK)
        packed = max(source.done, 1)
    total = source.location.file.stat().st_size * (len(sample) / packed if source.is_packed else 1)
    for mark, problem in OTHER_FILES.items():
        if sample.startswith(mark):
            raise BadFile(
                path,
                problem,
                phrase("Save its vectors with save_word2vec_format, or get its .vec."),
            )
    header = HEADER.fullmatch(sample.partition(b"\n")[0])
    body = sample.partition(b"\n")[2] if header else sample
    lines = [line for line in _fields(body.split(b"\n")) if line]
    if len(lines) > 1 and len(sample) > SAMPLE - len(BYTE_ORDER_MARK):
        lines = lines[:-1]  # it may be cut off
    if not body.strip() or not lines:
        raise BadFile(path, phrase("it has no words."), phrase("Choose another file."))
    if header is not None:
        words, size = int(header[1]), int(header[2])
        is_binary = not _is_number(lines[0].rpartition(b" ")[2])
    else:
        size = Counter(line.count(b" ") for line in lines[:SAMPLE_LINES]).most_common(1)[0][0]
        words, is_binary = 0, False
    is_row = _is_binary_row(body, size) if is_binary else header or _is_row(lines[0], size)
    if not 0 < size <= MAX_SIZE or not is_row:
        raise BadFile(
            path,
            phrase("its first line is neither a word with its numbers nor two numbers."),
            phrase("Choose a file of GloVe, or of word2vec as text or binary."),
        )
    if is_binary:
        row_bytes = 4.0 * size + 10
    else:
        row_bytes = sum(map(len, lines)) / len(lines) + 1
        if header is None:
            words = max(1, round(total / row_bytes))
    layout = Layout(is_binary, header is not None, size, words, 0.0)
    if not is_binary:
        _parse_lines(path, lines, layout, 1 + layout.has_header)
    reading = (time.perf_counter() - began) * words / max(1, len(sample) / row_bytes)
    return layout._replace(seconds=reading + layout.bytes / WRITTEN_PER_SECOND)


def read(path: Path, layout: Layout) -> Iterator[Part]:
    """Read all words in order.

    Raises BadFile, naming the line, if a vector has another size, a number is damaged or not
    finite, or the file has more or fewer words than it announces.
    """
    stream, _ = open_source(path)
    count = 0
    with stream:
        if layout.has_header:
            stream.readline(SAMPLE)
        parts = _binary_parts if layout.is_binary else _text_parts
        for words, vectors, first in parts(stream, path, layout):
            limit = MAX_PLAUSIBLE if layout.is_binary else np.inf
            damaged = ~(np.abs(vectors) < limit).all(axis=1)
            if damaged.any():
                raise _number_error(path, layout, first + int(damaged.argmax()))
            count += len(words)
            yield Part(words, vectors, first)
    if layout.has_header and count != layout.words:
        raise _count_error(path, layout, count)


def _text_parts(
    stream: io.BufferedReader, path: Path, layout: Layout
) -> Iterator[tuple[list[bytes], NDArray[np.float32], int]]:
    first, rest, is_last = 1 + layout.has_header, b"", False
    while not is_last:
        rest += stream.read(CHUNK)
        if first == 1:
            rest = rest.removeprefix(BYTE_ORDER_MARK)
        is_last = not stream.peek(1)
        *lines, rest = (rest.rstrip() + b"\n" if is_last else rest).split(b"\n")
        if len(rest) > MAX_LINE:
            raise BadFile(path, phrase("it is too long."), phrase("Choose another file."), first)
        if lines:
            yield *_parse_lines(path, _fields(lines), layout, first), first
        first += len(lines)


def _fields(lines: list[bytes]) -> list[bytes]:
    """Lines without what word2vec.c and Windows add at their ends, with spaces for tabs."""
    return [line.replace(b"\t", b" ").rstrip(b" \r") for line in lines]


def _parse_lines(
    path: Path, lines: list[bytes], layout: Layout, first: int
) -> tuple[list[bytes], NDArray[np.float32]]:
    """The words, and float32 [N, D]; `first` is the number of the first line."""
    words, numbers = list[bytes](), list[bytes]()
    for number, line in enumerate(lines, first):
        spaces = line.count(b" ")
        if spaces == layout.size:
            word, _, values = line.partition(b" ")
        else:
            word = line.rsplit(b" ", layout.size)[0] if spaces > layout.size else b""
            if not word or _is_number(word.rpartition(b" ")[2]):
                raise BadFile(
                    path,
                    phrase(
                        "it has {found:,} numbers, and a vector here has {size:,}.",
                        found=spaces,
                        size=layout.size,
                    ),
                    phrase("The file is damaged or incomplete: get it again."),
                    line=number,
                )
            values = line[len(word) + 1 :]
        words.append(word)
        numbers.append(values)
    try:
        vectors = np.loadtxt(
            io.BytesIO(b"\n".join(numbers)), np.float32, comments=None, delimiter=" ", ndmin=2
        )
        if vectors.shape != (len(lines), layout.size):
            raise ValueError("at row 0")
    except ValueError as error:
        row = ROW.search(str(error))
        raise BadFile(
            path,
            phrase("it does not have a word and {size:,} numbers.", size=layout.size),
            phrase("The file is damaged, or it has no word vectors."),
            line=first + (int(row[1]) if row else 0),
        ) from error
    return words, vectors


def _binary_parts(
    stream: io.BufferedReader, path: Path, layout: Layout
) -> Iterator[tuple[list[bytes], NDArray[np.float32], int]]:
    row_bytes, buffer, place = 4 * layout.size, b"", 0
    for first in range(1, layout.words + 1, CHUNK_WORDS):
        words, rows = list[bytes](), list[bytes]()
        for number in range(first, min(first + CHUNK_WORDS, layout.words + 1)):
            if len(buffer) - place < row_bytes + MAX_WORD:
                buffer, place = buffer[place:] + _read_up_to(stream, CHUNK + row_bytes), 0
            space = buffer.find(b" ", place, place + MAX_WORD)
            if space < 0 or len(buffer) - space <= row_bytes:
                if len(buffer) - place > row_bytes + MAX_WORD:
                    raise BadFile(
                        path,
                        phrase("word {number:,} has no end.", number=number),
                        phrase("The file is damaged, or it has no word vectors."),
                    )
                raise _count_error(path, layout, number - 1)
            words.append(buffer[place:space].lstrip(b"\n"))  # word2vec.c writes one after each
            rows.append(buffer[space + 1 : space + 1 + row_bytes])
            place = space + 1 + row_bytes
        vectors = np.frombuffer(b"".join(rows), "<f4").astype(np.float32)
        yield words, vectors.reshape(len(words), layout.size), first
    if (buffer[place:] + stream.read(MAX_WORD)).strip():
        raise _count_error(path, layout, layout.words + 1)


def _number_error(path: Path, layout: Layout, number: int) -> BadFile:
    if not layout.is_binary:
        problem, advice = phrase("a number is not finite."), phrase("Remove this word.")
        return BadFile(path, problem, advice, line=number)
    return BadFile(
        path,
        phrase("word {number:,} has impossible numbers.", number=number),
        phrase("The file is damaged, or this word has a space, which only text files can have."),
    )


def _count_error(path: Path, layout: Layout, count: int) -> BadFile:
    if count > layout.words:
        problem = phrase(
            "its first line announces {words:,} words, and it has more.", words=layout.words
        )
        return BadFile(path, problem, phrase("Correct the first line, or get the file again."))
    problem = phrase(
        "it is incomplete: its first line announces {words:,} words, and it has {count:,}.",
        words=layout.words,
        count=count,
    )
    return BadFile(path, problem, phrase("Get the file again."))


def _is_row(line: bytes, size: int) -> bool:
    return all(map(_is_number, line.rsplit(b" ", size)[1:]))


def _is_binary_row(body: bytes, size: int) -> bool:
    """True if the first numbers are plausible: read as numbers, letters are huge."""
    numbers = body.partition(b" ")[2][: 4 * size]
    values = np.frombuffer(numbers[: len(numbers) // 4 * 4], "<f4")
    return values.size > 0 and bool((np.abs(values) < MAX_PLAUSIBLE).all())


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return b"_" not in field


def _read_up_to(stream: io.BufferedReader, count: int) -> bytes:
    """Read `count` bytes, or all that are left."""
    content = b""
    while len(content) < count and (chunk := stream.read(count - len(content))):
        content += chunk
    return content
