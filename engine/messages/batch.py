"""What a run's network is given in a step."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.question import Answer, Question


class Target(Message):
    """A position of an input at which something is to be predicted, and what is shown there."""

    position: int
    wanted: str = Field(description="The token that stood there, or the label of the token.")
    shown_as: Literal["mask", "random", "kept", "label"] = Field(
        description="[MASK], a random token, the token itself; or a label is to be predicted."
    )


class BatchRow(Message):
    """One row of a batch, with its padding."""

    tokens: tuple[str, ...] = Field(description="As the network is given them.")
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    length: int = Field(description="Tokens before the padding.")
    targets: tuple[Target, ...] = ()
    wanted: str = Field("", description="What is to be predicted for the input as a whole.")


class BatchShown(Answer):
    """Exactly what the network is given in the step."""

    kind: Literal["batch_shown"] = "batch_shown"
    step: int
    steps: int
    rows: tuple[BatchRow, ...]


class ShowBatch(Question):
    """What a run's network is given in a step, which counts from 1; rebuilt from its folder."""

    answered_by: ClassVar[type[Answer]] = BatchShown
    kind: Literal["show_batch"] = "show_batch"
    run: Path
    step: int
