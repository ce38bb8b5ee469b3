"""The worker for searches: the next combination, and the importance of fields. No torch."""

from collections.abc import Callable
from typing import Any

from engine.messages.question import Answer, Question
from engine.messages.searching import MeasureImportance, Suggest, Suggested
from engine.worker.questions import Emit


def _suggest(question: Suggest, _: Emit) -> Answer:
    from engine.search.tpe import OPTUNA, suggest

    return Suggested(values=suggest(question), optuna=OPTUNA)


def _importance(question: MeasureImportance, _: Emit) -> Answer:
    from engine.search.importance import importance

    return importance(question)


SEARCH_ANSWERERS: dict[type[Question], Callable[[Any, Emit], Answer]] = {
    Suggest: _suggest,
    MeasureImportance: _importance,
}
