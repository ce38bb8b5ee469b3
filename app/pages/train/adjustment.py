"""A choice that the program made for the user: said in a sentence, with a way back."""

from collections.abc import Callable
from dataclasses import dataclass

from app.pages.train.choices import Choices


@dataclass(frozen=True)
class Adjustment:
    """What was changed, and how it is undone: from the choices of then to those without it."""

    sentence: str
    undone: Callable[[Choices], Choices]

    def and_then(self, other: "Adjustment") -> "Adjustment":
        """Both, in one sentence after the other; undone together."""
        return Adjustment(
            f"{self.sentence} {other.sentence}", lambda now: self.undone(other.undone(now))
        )
