"""Base classes of questions to a worker and of its answers.

Each subject has a file with its question and its answer. A question names the class of its answer,
so the reply can be parsed without a central list.
"""

from typing import ClassVar, Literal

from pydantic import Field

from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.phrases import Phrase, join


class Answer(Message):
    """An answer; `to` is the number of its question."""

    kind: str
    to: int = 0

    @property
    def is_final(self) -> bool:
        """False if more answers to this question follow."""
        return True


class PartAnswer(Answer):
    """Part of a long answer; `next` is the index of the next part, None at the end."""

    next: int | None = None


class Working(Answer):
    """Progress of the work on a question."""

    is_final: ClassVar[bool] = False
    kind: Literal["working"] = "working"
    stage: PhraseField
    done: int = 0
    total: int = 0


class Refused(Answer):
    """The question cannot be answered; the worker continues."""

    kind: Literal["refused"] = "refused"
    problem: PhraseField
    advice: PhraseField = ""
    details: str = ""
    bug: bool = False
    lacks_memory: bool = False

    @property
    def phrase(self) -> Phrase:
        return join(" ", filter(None, (self.problem, self.advice)))


class Question(Message):
    """A question; a newer one replaces a waiting one of the same kind and side."""

    answered_by: ClassVar[type[Answer]]
    worker: ClassVar[str] = "explore"  # the program that answers it, as in engine.worker
    kind: str
    number: int = 0
    side: int = Field(0, description="Side of a comparison: 0 is the first, 1 the second.")


def parse_answer(line: bytes, question: Question) -> Answer:
    """Parse the answer to `question`. Raises ValidationError if it is none."""
    answer_class = question.answered_by
    kind = _Kind.model_validate_json(line).kind
    by_kind: dict[str, type[Answer]] = {"working": Working, "refused": Refused}
    return by_kind.get(kind, answer_class).model_validate_json(line)


class _Kind(Message):
    kind: str
