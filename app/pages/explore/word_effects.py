"""Effects of the words of a text on a logit."""

from collections.abc import Callable
from typing import Any

from app.explorer import Explorer
from app.pages.explore.model_input import ModelInput
from app.pages.explore.parts_query import PartsQuery
from app.pages.explore.state import ExploreState
from engine.messages.explore.attribution import Attribute, Attributed, WordEffect


class WordEffectsState(PartsQuery[Attribute, Attributed]):
    """Word effects of one side; partial results are shown while the rest is computed."""

    def __init__(
        self,
        explore: ExploreState,
        explorer: Explorer,
        make: Callable[[ModelInput], Attribute | None],
        side: int = 0,
    ) -> None:
        super().__init__(explore, explorer, make, side, _resume)

    @property
    def words(self) -> tuple[WordEffect, ...]:
        return self.answer.words if self.answer is not None else ()


def _resume(answer: Attributed) -> dict[str, Any]:
    if not answer.effects:
        return {"so_far": tuple(word.effect for word in answer.words)}
    return {"so_far": answer.effects, "points": answer.points}
