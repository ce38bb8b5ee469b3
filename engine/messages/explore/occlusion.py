"""Occlusion: the words behind a prediction of a fine-tuned model."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.target import AboutTarget
from engine.messages.explore.text import Token
from engine.messages.question import Answer


class WordEffect(Message):
    """A word of a text, in characters, and the fall of the score without it.

    Above 0 the word supports the explained label, below 0 it opposes it.
    """

    text: str
    segment: int
    start: int
    end: int
    effect: float


class Occluded(Answer):
    """Some of the words, in their order; `next` is where to continue, None at the end."""

    kind: Literal["occluded"] = "occluded"
    tokens: tuple[Token, ...]
    truncated: bool = False
    words: tuple[WordEffect, ...]
    label: str = Field(description="The class or choice that is explained; empty for a number.")
    score: float = Field(description="Its logit with all words, or the number.")
    next: int | None = None
    total: int = Field(description="Words in the whole input.")


class Occlude(AboutTarget):
    """Measure the change of a score when each word is masked.

    Occlusion (Zeiler and Fergus 2014) of one word at a time: all its tokens become [MASK]. A long
    text is slow, so an answer covers some words and says where to continue.
    """

    answered_by: ClassVar[type[Answer]] = Occluded
    kind: Literal["occlude"] = "occlude"
    start: int = Field(0, ge=0, description="The first word that is not yet known.")
