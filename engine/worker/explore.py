"""The explorer worker, which answers questions about models."""

from pathlib import Path
from typing import TYPE_CHECKING

from engine.messages.question import Answer, Question
from engine.worker.questions import Line, answer_writer, emit_answer, parse_among, start_inbox

if TYPE_CHECKING:
    from engine.worker.context import WorkerContext


def main(scratch: Path) -> None:
    """Answer until the input ends; tensors go into files in `scratch`."""
    emit = answer_writer()
    inbox = start_inbox()
    from engine.worker.context import WorkerContext  # loads torch while questions already come in

    context = WorkerContext(scratch, emit)
    while True:
        respond(inbox.take(context.models.prepare), context)


def respond(line: Line, context: "WorkerContext") -> None:
    """Answer a question; an error is an answer too, and the worker lives on."""
    emit_answer(line, context.emit, lambda: answer(parse(line.content), context))


def answer(question: Question, context: "WorkerContext") -> Answer:
    """Return the last answer; earlier, partial ones are emitted through the context."""
    from engine.worker.answerers import ANSWERERS

    return ANSWERERS[type(question)](question, context)


def parse(content: bytes) -> Question:
    """Parse a question that this worker answers. Raises ValueError for others."""
    from engine.worker.answerers import ANSWERERS

    return parse_among(content, ANSWERERS)
