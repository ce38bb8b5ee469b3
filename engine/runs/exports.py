"""The log of exports: a line for each in `exports.jsonl` of the home.

An export folder may be anywhere and does not know the home, so this is the only link from a
checkpoint to its exports.
"""

from pathlib import Path

from engine.config.export import Form, Precision
from engine.files.atomic_write import disk_errors_for
from engine.files.home import Home
from engine.files.regular_file import MAX_LINE, iter_lines, open_regular
from engine.messages import Message, Moment

MAX_BYTES = 64 << 20  # bytes, about 200,000 exports


class ExportNote(Message):
    """One verified export, and its folder."""

    at: Moment
    checkpoint: Path
    folder: Path
    form: Form
    precision: Precision


def log_export(home: Home, note: ExportNote) -> None:
    """Add a line; does nothing without a home, as on a machine that only exports."""
    if home.root.is_dir():
        with disk_errors_for(home.exports), open(home.exports, "ab") as file:
            file.write(note.line())


def read_exports(home: Home) -> list[ExportNote]:
    """All exports in chronological order; damaged lines are skipped."""
    try:
        with open_regular(home.exports, MAX_BYTES) as file:
            lines = [line for line in iter_lines(file) if len(line) < MAX_LINE]
    except FileNotFoundError:
        return []
    notes = (_note(line) for line in lines)
    return [note for note in notes if note is not None]


def _note(line: bytes) -> ExportNote | None:
    try:
        return ExportNote.model_validate_json(line)
    except ValueError:
        return None
