"""The worker for searches: the next combination, and the importance of fields. No torch."""

from collections.abc import Callable
from typing import Any

from engine.messages.question import Answer, Question
from engine.messages.searching import MeasureImportance, Suggest, Suggested
from engine.worker.questions import Emit, answer_all, parse_among


def main() -> None:
    """Answer until the input ends."""
    answer_all(_answer)


def _answer(content: bytes, _: Emit) -> Answer:
    question = parse_among(content, SEARCH_ANSWERERS)
    return SEARCH_ANSWERERS[type(question)](question).model_copy(update={"to": question.number})


def _suggest(question: Suggest) -> Answer:
    from engine.search.tpe import suggest

    return Suggested(values=suggest(question))


def _importance(question: MeasureImportance) -> Answer:
    from engine.search.importance import importance

    return importance(question)


SEARCH_ANSWERERS: dict[type[Question], Callable[[Any], Answer]] = {
    Suggest: _suggest,
    MeasureImportance: _importance,
}
