"""The logit that a question is about."""

from typing import Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import TextQuestion


class Explained(Message):
    """The explained quantity: a logit, the number of a regression, or a difference of two logits.

    `position` is a token if the logit belongs to one: a tag, the first or last token of an answer,
    or a masked token. `against` is the label it is compared with.
    """

    label: str = ""
    against: str = ""
    position: int | None = None
    score: float


class AboutTarget(TextQuestion):
    """A question about one logit of a text.

    `head` is that of the task, or of the tokens predicted at a mask. `label` is a class, a label,
    an ending, a tag, “start” or “end” of an answer, or a token; empty means the predicted one. With
    `against`, the difference “label rather than against” is meant.
    """

    head: Literal["task", "mlm"] = "task"
    label: str = ""
    against: str = ""
    position: int | None = Field(None, description="Of a token; None: where it is predicted.")
    endings: tuple[str, ...] = Field((), description="To choose from, for multiple choice.")
