"""The settings of jobs: frozen, typed, without torch.

Every user setting has its title, help text and range here. The window builds its forms from them,
run folders store them, workers read them.
"""

from pydantic import BaseModel, ConfigDict


class Spec(BaseModel):
    """A part of a job: immutable; unknown fields are rejected."""

    model_config = ConfigDict(frozen=True, extra="forbid")
