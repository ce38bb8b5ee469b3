"""What can be asked for: frozen, typed, no torch.

Every field that a user can set carries a title, a help text and its range here. The window draws
its form from it, the run folder stores it, the worker reads it: one place.
"""

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A piece of a job: never changed after it is made; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
