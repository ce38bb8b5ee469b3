"""The explorer worker: questions as lines on stdin, answers as lines on stdout.

Of each kind of question, and of each side of what is compared, only the newest counts: one that
waits is dropped, without an answer, when another of its kind comes in. The process ends with its
input, also amid a computation. Stdout carries answers and nothing else: whatever any library
prints goes to stderr.
"""

import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from engine.errors import is_out_of_memory
from engine.messages.question import Answer, Question, Refused
from engine.phrases import phrase
from engine.system.errors import explained
from engine.system.terminal import remark
from engine.worker.inbox import Inbox, Line, addressed

if TYPE_CHECKING:
    from engine.worker.desk import Desk

MAX_REASON = 300  # characters


def main(scratch: Path) -> None:
    """Answer until the input ends; tensors go into files in `scratch`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is meant for the window
    tell = teller()
    inbox = reading()
    from engine.worker.desk import Desk  # loads torch, while questions come in already

    desk = Desk(scratch, tell)
    while True:
        respond(inbox.take(desk.models.prepare), desk)


def reading() -> Inbox:
    """The questions that come in from now on."""
    inbox = Inbox()
    threading.Thread(target=inbox.read, args=(sys.stdin.buffer,), daemon=True).start()
    return inbox


def teller() -> Callable[[Answer], None]:
    """What writes an answer to stdout, which is for nothing else from now on."""
    return _teller(_take_stdout())


def _take_stdout() -> BinaryIO:
    """The stdout of the process for answers alone; every other writer, in C too, gets stderr."""
    out = os.fdopen(os.dup(1), "wb", buffering=io.DEFAULT_BUFFER_SIZE)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


def _teller(out: BinaryIO) -> Callable[[Answer], None]:
    def tell(answer: Answer) -> None:
        try:
            out.write(answer.line())
            out.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody listens any more

    return tell


def respond(line: Line, desk: "Desk") -> None:
    """Answer a question; an error is an answer too, and the worker lives on."""
    say(line, desk.tell, lambda: answer(parse(line.content), desk))


def say(line: Line, tell: Callable[[Answer], object], answered: Callable[[], Answer]) -> None:
    """Tell what `answered` gives to the question in `line`, or why it cannot be answered."""
    try:
        tell(answered())
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the edge; panics of Rust are no Exception
        if (understood := explained(error)) is not None:
            problem, advice = understood.problem, understood.advice
            details = understood.details
            tell(Refused(to=line.number, problem=problem, advice=advice, details=details))
            return
        details = traceback.format_exc()
        remark(*details.splitlines())
        tell(refusal(line.number, error, details))


def answer(question: Question, desk: "Desk") -> Answer:
    """As the table of answerers says; what comes before the last answer is told to the desk."""
    from engine.worker.answerers import ANSWERERS

    return ANSWERERS[type(question)](question, desk)


def parse(content: bytes) -> Question:
    """The question in a line, one of those that the table answers. Raises ValueError for others."""
    from engine.worker.answerers import ANSWERERS

    return parsed(content, ANSWERERS)


def parsed(content: bytes, known: Iterable[type[Question]]) -> Question:
    """The question in a line, one of those that are `known`. Raises ValueError for others."""
    kinds = {question.model_fields["kind"].default: question for question in known}
    kind = addressed(content).kind
    if kind not in kinds:
        raise ValueError(f"a worker was asked what is no question: {content[:80]!r}")
    return kinds[kind].model_validate_json(content)


def refusal(number: int, error: BaseException, details: str) -> Refused:
    """Too little memory is nobody's mistake; anything else is the studio's."""
    if is_out_of_memory(error):
        return Refused(
            to=number,
            problem=phrase("There is not enough memory for this."),
            advice=phrase("Close other programs, stop a training run, or choose a smaller model."),
            details=details,
        )
    problem = phrase(
        "Something went wrong in BERT Studio: {name}: {error}",
        name=type(error).__name__,
        error=str(error)[:MAX_REASON],
    )
    return Refused(
        to=number,
        problem=problem,
        advice=phrase("Please report it with the details."),
        details=details,
        bug=True,
    )
