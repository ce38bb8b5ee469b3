"""Outcomes of reading a file, for comparing ways to read it."""

import pytest

from engine.data.formats import lines, text_blocks
from engine.data.formats.reading import TableReader
from engine.errors import BadFile


def outcome(table: TableReader) -> tuple[list[object], str, tuple[str, ...]]:
    """The rows, the error that ended them, and the notes."""
    result: list[object] = []
    try:
        result += table
    except BadFile as error:
        return result, str(error), table.notes
    return result, "", table.notes


def set_block_size(patch: pytest.MonkeyPatch, size: int) -> None:
    """Read small blocks, so that every construct crosses a block boundary."""
    patch.setattr(lines, "BLOCK_BYTES", size)
    patch.setattr(text_blocks, "BLOCK_BYTES", size)
    patch.setattr(text_blocks, "FALLBACK_BYTES", min(size // 3, 100))
