"""Which exports were made: a line for each in `exports.jsonl` of the home.

An export stands where its user wants it and knows nothing of the home, so nothing else says what
became of a checkpoint.
"""

from pathlib import Path

from engine.config.export import Form, Precision
from engine.files.atomic_write import disk_errors_for
from engine.files.home import Home
from engine.files.regular_file import LONGEST_LINE, lines_of, open_regular
from engine.messages import Message, Moment

LARGEST = 64 << 20  # bytes, of some 200,000 exports


class ExportNote(Message):
    """One export, as it was verified and put in its place."""

    at: Moment
    checkpoint: Path
    folder: Path
    form: Form
    precision: Precision


def note_export(home: Home, note: ExportNote) -> None:
    """Add a line. Where there is no home, as on a machine that only exports, nothing is kept."""
    if home.root.is_dir():
        with disk_errors_for(home.exports), open(home.exports, "ab") as file:
            file.write(note.line())


def noted_exports(home: Home) -> list[ExportNote]:
    """All exports in the order in which they were made; a damaged line is passed over."""
    try:
        with open_regular(home.exports, LARGEST) as file:
            lines = [line for line in lines_of(file) if len(line) < LONGEST_LINE]
    except FileNotFoundError:
        return []
    found = (_note(line) for line in lines)
    return [note for note in found if note is not None]


def _note(line: bytes) -> ExportNote | None:
    try:
        return ExportNote.model_validate_json(line)
    except ValueError:
        return None
