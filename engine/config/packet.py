"""Packets: files that carry rows to coders, and their codes back."""

from datetime import datetime

from pydantic import Field

from engine.config import Spec


class Packet(Spec):
    """Whose rows a packet has, and who codes them."""

    name: str = Field(description="Name of the data set that the rows are from.")
    version: int = Field(ge=1, description="Its version.")
    fingerprint: str = Field(description="Fingerprint of this version.")
    id: str = Field(description="Random, the same in all copies of a packet.")
    at: datetime = Field(description="Time at which it was handed out, in UTC.")
    texts: tuple[str, ...] = Field(min_length=1, max_length=2, description="Columns of the texts.")
    column: str = Field(description="The coded column.")
    coders: tuple[str, ...] = Field(description="Everyone who codes some of its rows.")
    coder: str = Field("", description="Who handed it in; empty: it has no codes yet.")
