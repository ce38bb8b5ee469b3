"""The batch that a run's network gets in a step."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.question import Answer, Question


class Target(Message):
    """A position with a prediction target, and the token shown there."""

    position: int
    expected: str = Field(description="The original token, or the label of the token.")
    shown_as: Literal["mask", "random", "kept", "label"] = Field(
        description="[MASK], a random token, the token itself; or a label is to be predicted."
    )


class BatchRow(Message):
    """One row of a batch, with its padding."""

    tokens: tuple[str, ...] = Field(description="As the network receives them.")
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    length: int = Field(description="Tokens before the padding.")
    targets: tuple[Target, ...] = ()
    expected: str = Field("", description="The target of the whole input.")


class BatchShown(Answer):
    """Exactly the input of the network in the step."""

    kind: Literal["batch_shown"] = "batch_shown"
    step: int
    steps: int
    rows: tuple[BatchRow, ...]


class ShowBatch(Question):
    """Rebuild the batch of a step, counted from 1, from the run folder."""

    answered_by: ClassVar[type[Answer]] = BatchShown
    kind: Literal["show_batch"] = "show_batch"
    run: Path
    step: int
