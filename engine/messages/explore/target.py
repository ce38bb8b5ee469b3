"""The logit that a question is about."""

from typing import Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import TextQuestion


class Explained(Message):
    """What is explained: one logit, the number of a regression, or a difference of two logits.

    `position` is a token, where the logit is one of a token: of a tag, of the first or last token
    of an answer, of what is predicted at a mask. `against` is what it is compared with.
    """

    label: str = ""
    against: str = ""
    position: int | None = None
    score: float


class AboutTarget(TextQuestion):
    """A question about one logit of a text.

    `head` says whether it is one of the task, or of the tokens that are predicted at a mask.
    `label` is a class, a label, an ending, a tag, “start” or “end” of an answer, or a token; empty
    means what is predicted. With `against` the difference “label rather than against” is meant.
    """

    head: Literal["task", "mlm"] = "task"
    label: str = ""
    against: str = ""
    position: int | None = Field(None, description="Of a token; None: where it is predicted.")
    endings: tuple[str, ...] = Field((), description="To choose from, for multiple choice.")
