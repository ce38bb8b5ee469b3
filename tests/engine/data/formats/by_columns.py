"""All that reading a file gives, for comparing a whole reading with a glance, row by row."""

from engine.data.formats.reading import TableReader
from engine.errors import BadFile


def outcome(table: TableReader) -> tuple[list[object], str, tuple[str, ...]]:
    """The rows, the error that ended them, and the notes."""
    found: list[object] = []
    try:
        found += table
    except BadFile as error:
        return found, str(error), table.notes
    return found, "", table.notes
