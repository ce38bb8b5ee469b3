"""Text of a file as blocks for a columnar parser, or line by line for a fallback."""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from engine.data.formats.lines import BLOCK_BYTES, MAX_LINE_CHARACTERS, Lines

FALLBACK_BYTES = 1 << 14  # at first; doubled each time
BYTE_ORDER_MARK = "\ufeff".encode()  # skipped by pyarrow
T = TypeVar("T")


class TextBlocks:
    """Text of a file, consumed in blocks or line by line."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._blocks = lines, lines.blocks()
        self._content = b""  # unconsumed, in UTF-8
        # lines before it, in reverse order; the last may be incomplete
        self._pending: list[str] = []
        self.lines_read = 0
        self._bytes_read = 0  # bytes of single lines consumed
        self.is_at_end = False  # everything was read

    def _read_block(self) -> None:
        block = next(self._blocks, None)
        if block is None:
            self.is_at_end = True
        else:
            self._content += block

    def block(self) -> bytes:
        """Unconsumed text, at least a block; empty at the end."""
        if self._pending:
            self._content = "".join(reversed(self._pending)).encode("utf-8") + self._content
            self._pending = []
        while len(self._content) < BLOCK_BYTES and not self.is_at_end:
            self._read_block()
        return self._content

    def consume(self, size: int, lines: int) -> None:
        """Consume the start of the block."""
        self._content = self._content[size:]
        self.lines_read += lines

    def limit(self, rows: Iterable[T], size: int) -> Iterator[T]:
        """Yield rows until `size` bytes of lines are consumed."""
        self._bytes_read = 0
        for row in rows:
            yield row
            if self._bytes_read >= size:
                return

    def parse(
        self, parse_fast: Callable[[bytes], T | None], parse_slow: Callable[[int], Iterable[T]]
    ) -> Iterator[T]:
        """Yield the results of all blocks.

        Args:
            parse_fast: parses and consumes the start of a block; None if it cannot.
            parse_slow: parses a number of bytes line by line; it doubles after each failure.
        """
        size = FALLBACK_BYTES
        while content := self.block():
            if (result := parse_fast(content)) is not None:
                size = FALLBACK_BYTES
                yield result
            else:
                yield from parse_slow(min(size, len(content)))
                size *= 2

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Consume the next line, with its end."""
        while len(self._pending) < 2 and (self._content or not self.is_at_end):
            self._split_block()
        if not self._pending:
            raise StopIteration
        line = self._pending.pop()
        self.lines_read += 1
        if len(line) >= MAX_LINE_CHARACTERS and (
            len(line) > MAX_LINE_CHARACTERS or line[-1] not in "\r\n"
        ):
            raise self._lines.too_long_error(self.lines_read, MAX_LINE_CHARACTERS)
        self._bytes_read += len(line) if line.isascii() else len(line.encode("utf-8"))
        return line

    def _split_block(self) -> None:
        if not self._content:
            self._read_block()
        rest = self._pending.pop() if self._pending else ""
        if len(rest) > MAX_LINE_CHARACTERS:
            raise self._lines.too_long_error(self.lines_read + 1, MAX_LINE_CHARACTERS)
        text = rest + self._content.decode("utf-8")
        self._content = b""
        self._pending = io.StringIO(text, newline="").readlines()[::-1]
