"""Messages between processes, each one line of JSON.

An *event* is a line that a training worker appends to `events.jsonl`. A *question* goes to the
explorer's stdin and each of its *answers* comes from its stdout. A tensor travels as a file that a
message names. Old lines stay readable: a new field has a default, a kind never changes meaning.
"""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

CALENDAR = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC)
"""The first valid moment, and the first that cannot be shown in every time zone."""

Moment = Annotated[AwareDatetime, Field(ge=CALENDAR[0], lt=CALENDAR[1])]
Count = Annotated[int, Field(ge=0, lt=2**63)]  # the maximum is that of the record


class Message(BaseModel):
    """One line. Unknown fields of a newer writer are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def line(self) -> bytes:
        return self.model_dump_json().encode("utf-8") + b"\n"


def now() -> datetime:
    return datetime.now(UTC)
