"""Text of a file as blocks for a columnar parser, or line by line for a fallback."""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from engine.data.formats.lines import BLOCK, MAX_LINE_CHARACTERS, Lines

STEP = 1 << 14  # bytes for the fallback at first, doubled each time
BYTE_ORDER_MARK = "\ufeff".encode()  # a byte order mark, which pyarrow skips
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
        self.is_over = False  # everything was read

    def _read_block(self) -> None:
        block = next(self._blocks, None)
        if block is None:
            self.is_over = True
        else:
            self._content += block

    def block(self) -> bytes:
        """Unconsumed text, at least a block; empty at the end."""
        if self._pending:
            self._content = "".join(reversed(self._pending)).encode("utf-8") + self._content
            self._pending = []
        while len(self._content) < BLOCK and not self.is_over:
            self._read_block()
        return self._content

    def consume(self, size: int, lines: int) -> None:
        """Consume the start of the block."""
        self._content = self._content[size:]
        self.lines_read += lines

    def limit(self, rows: Iterable[T], size: int) -> Iterator[T]:
        """Rows of these lines, until `size` bytes are consumed."""
        self._bytes_read = 0
        for row in rows:
            yield row
            if self._bytes_read >= size:
                return

    def parse(
        self, fast: Callable[[bytes], T | None], slow: Callable[[int], Iterable[T]]
    ) -> Iterator[T]:
        """Results of all blocks.

        Args:
            fast: parses and consumes the start of a block; None if it cannot.
            slow: parses that many bytes line by line instead; twice as many each time in a row.
        """
        step = STEP
        while content := self.block():
            if (result := fast(content)) is not None:
                step = STEP
                yield result
            else:
                yield from slow(min(step, len(content)))
                step *= 2

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        """Consume the next line, with its end."""
        while len(self._pending) < 2 and (self._content or not self.is_over):
            self._split_block()
        if not self._pending:
            raise StopIteration
        line = self._pending.pop()
        self.lines_read += 1
        if len(line) >= MAX_LINE_CHARACTERS and (
            len(line) > MAX_LINE_CHARACTERS or line[-1] not in "\r\n"
        ):
            raise self._lines.too_long(self.lines_read, MAX_LINE_CHARACTERS)
        self._bytes_read += len(line) if line.isascii() else len(line.encode("utf-8"))
        return line

    def _split_block(self) -> None:
        if not self._content:
            self._read_block()
        rest = self._pending.pop() if self._pending else ""
        if len(rest) > MAX_LINE_CHARACTERS:
            raise self._lines.too_long(self.lines_read + 1, MAX_LINE_CHARACTERS)
        text = rest + self._content.decode("utf-8")
        self._content = b""
        self._pending = io.StringIO(text, newline="").readlines()[::-1]
