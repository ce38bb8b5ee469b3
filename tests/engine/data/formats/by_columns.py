"""Rows and columnar batches of a file, for comparison."""

from engine.data.formats.reading import TableReader
from engine.errors import BadFile


def outcome(table: TableReader, by_columns: bool) -> tuple[list[object], str, tuple[str, ...]]:
    """All rows, what they were refused with, and what was said of them."""
    found: list[object] = []
    try:
        if by_columns:
            for batch in table.batches():
                found += batch.rows()
        else:
            found += ((row.line, row.cells) for row in table)
    except BadFile as error:
        return found, str(error), table.notes
    return found, "", table.notes
