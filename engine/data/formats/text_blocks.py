"""Text of a file as blocks for a columnar parser, or line by line for a fallback."""

import io
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from engine.data.formats.lines import BLOCK, MAX_LINE_CHARACTERS, Lines

STEP = 1 << 14  # bytes for the fallback at first, doubled each time
MARK = "\ufeff".encode()  # a byte order mark, which pyarrow skips
T = TypeVar("T")


class TextBlocks:
    """Text of a file, consumed in blocks or line by line."""

    def __init__(self, lines: Lines) -> None:
        self._lines, self._blocks = lines, lines.blocks()
        self._content = b""  # unconsumed, in UTF-8
        self._next: list[str] = []  # lines before it, in reverse order; the last may be incomplete
        self.before = 0  # lines consumed
        self._taken = 0  # bytes of single lines consumed
        self.is_over = False  # everything was read

    def more(self) -> None:
        block = next(self._blocks, None)
        if block is None:
            self.is_over = True
        else:
            self._content += block

    def block(self) -> bytes:
        """Unconsumed text, at least a block; empty at the end."""
        if self._next:
            self._content = "".join(reversed(self._next)).encode("utf-8") + self._content
            self._next = []
        while len(self._content) < BLOCK and not self.is_over:
            self.more()
        return self._content

    def take(self, size: int, lines: int) -> None:
        """Consume the start of the block."""
        self._content = self._content[size:]
        self.before += lines

    def some(self, rows: Iterable[T], size: int) -> Iterator[T]:
        """Rows made of these lines, until they start after `size` bytes."""
        self._taken = 0
        for row in rows:
            yield row
            if self._taken >= size:
                return

    def parse(
        self, fast: Callable[[bytes], T | None], slow: Callable[[int], Iterable[T]]
    ) -> Iterator[T]:
        """Results of all blocks.

        Args:
            fast: parses and takes the start of a block; None if it cannot.
            slow: parses lines, `some` of the next bytes, instead; so many more each time in a row.
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
        while len(self._next) < 2 and (self._content or not self.is_over):
            self._cut()
        if not self._next:
            raise StopIteration
        line = self._next.pop()
        self.before += 1
        if len(line) >= MAX_LINE_CHARACTERS and (
            len(line) > MAX_LINE_CHARACTERS or line[-1] not in "\r\n"
        ):
            raise self._lines.too_long(self.before, MAX_LINE_CHARACTERS)
        self._taken += len(line) if line.isascii() else len(line.encode("utf-8"))
        return line

    def _cut(self) -> None:
        if not self._content:
            self.more()
        rest = self._next.pop() if self._next else ""
        if len(rest) > MAX_LINE_CHARACTERS:
            raise self._lines.too_long(self.before + 1, MAX_LINE_CHARACTERS)
        text = rest + self._content.decode("utf-8")
        self._content = b""
        self._next = io.StringIO(text, newline="").readlines()[::-1]
