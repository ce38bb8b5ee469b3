"""The worker that is asked about searches: the next combination, and what mattered; no torch."""

import signal
from collections.abc import Callable
from typing import Any

from engine.messages.question import Answer, Question
from engine.messages.searching import MeasureImportance, Suggest, Suggested
from engine.worker.explore import parsed, reading, say, teller


def main() -> None:
    """Answer until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is meant for the window
    tell, inbox = teller(), reading()
    while True:
        line = inbox.take()
        say(line, tell, lambda content=line.content: _answer(content))  # type: ignore[misc]


def _answer(content: bytes) -> Answer:
    question = parsed(content, SEARCH_ANSWERERS)
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
