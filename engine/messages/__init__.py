"""Every message between processes, and its line.

An *event* is a line that a training worker appends to `events.jsonl`. A *question* goes to the
explorer's stdin and each of its *answers* comes from its stdout. A tensor travels as a file that
a message names. Old lines stay readable: a new field has a default, a kind never changes meaning.
"""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

YEARS = range(1970, 9999)  # of which a moment can be said in every time zone


def in_calendar(at: datetime) -> datetime:
    """The same moment in UTC. Raises ValueError where it is at the edge of the calendar."""
    try:
        moved = at.astimezone(UTC)
    except OverflowError as error:
        raise ValueError("this is no date") from error
    if moved.year not in YEARS:
        raise ValueError("this is no date")
    return moved


Moment = Annotated[AwareDatetime, AfterValidator(in_calendar)]
Count = Annotated[int, Field(ge=0, lt=2**63)]  # what the record can hold


class Message(BaseModel):
    """One line. Unknown fields of a newer writer are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def line(self) -> bytes:
        """The message as one line of JSON, with its newline."""
        return self.model_dump_json().encode("utf-8") + b"\n"


def now() -> datetime:
    return datetime.now(UTC)
