"""Every message between processes, and its line.

An *event* is a line that a training worker appends to `events.jsonl`. A *question* goes to the
explorer's stdin and each of its *answers* comes from its stdout. A tensor travels as a file that
a message names. Old lines stay readable: a new field has a default, a kind never changes meaning.
"""

from datetime import UTC, datetime

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """One line. Unknown fields of a newer writer are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def line(self) -> bytes:
        """The message as one line of JSON, with its newline."""
        return self.model_dump_json().encode("utf-8") + b"\n"


def now() -> datetime:
    return datetime.now(UTC)
