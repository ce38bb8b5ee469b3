"""Questions as lines on stdin, answers as lines on stdout.

Only the newest question of each kind and side counts: a waiting one is dropped, without an answer,
when another of its kind comes in. The process ends with its input, even in the middle of a
computation. Stdout carries answers and nothing else: what libraries print goes to stderr.
"""

import io
import json
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, BinaryIO, NamedTuple, NoReturn

from engine.errors import is_out_of_memory
from engine.messages.question import Answer, Question, Refused
from engine.phrases import phrase
from engine.system.errors import explain_error
from engine.system.terminal import echo_error

Emit = Callable[[Answer], object]

IDLE_SECONDS = 1.0  # without a question until background work starts
MAX_REASON = 300  # characters


class Line(NamedTuple):
    """A question as it arrived, with its header."""

    content: bytes
    kind: str = ""
    side: int = 0
    number: int = 0


class Inbox:
    """The newest question of each kind and side, in the order of arrival."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int], Line] = {}
        self._changed = threading.Condition()

    def read(self, lines: BinaryIO) -> None:
        """Put lines until there are no more, then end the process at once."""
        for line in lines:
            if line.strip():
                self.put(line)
        os._exit(0)

    def put(self, content: bytes) -> None:
        line = parse_line(content)
        key = line.kind, line.side
        with self._changed:
            self._waiting.pop(key, None)
            self._waiting[key] = line
            self._changed.notify()

    def take(self, idle_work: Callable[[], bool] = lambda: False) -> Line:
        """Wait for a question and take the oldest one.

        `idle_work` does a short piece of work and returns whether more is left. It is called after
        a second without questions, so that it never delays somebody who is typing.
        """
        with self._changed:
            if not self._waiting:
                self._changed.wait(IDLE_SECONDS)
        while not self._waiting and idle_work():
            pass
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            return self._waiting.pop(next(iter(self._waiting)))


def start_inbox() -> Inbox:
    """Read questions from stdin in a thread."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is meant for the window
    inbox = Inbox()
    threading.Thread(target=inbox.read, args=(sys.stdin.buffer,), daemon=True).start()
    return inbox


def answer_writer() -> Callable[[Answer], None]:
    """Reserve stdout for answers and return the function that writes one."""
    out = os.fdopen(os.dup(1), "wb", buffering=io.DEFAULT_BUFFER_SIZE)
    os.dup2(2, 1)  # every other writer, also in C, gets stderr
    sys.stdout = sys.stderr

    def emit(answer: Answer) -> None:
        try:
            out.write(answer.line())
            out.flush()
        except BrokenPipeError:
            os._exit(0)  # the reader is gone

    return emit


def answer_all(answerers: Mapping[type[Question], Callable[[Any, Emit], Answer]]) -> NoReturn:
    """Answer the questions of a table until the input ends."""
    emit, inbox = answer_writer(), start_inbox()

    def answer(content: bytes) -> Answer:
        question = parse_among(content, answerers)
        result = answerers[type(question)](question, emit)
        return result.model_copy(update={"to": question.number})

    while True:
        line = inbox.take()
        emit_answer(line, emit, partial(answer, line.content))


def emit_answer(line: Line, emit: Emit, compute: Callable[[], Answer]) -> None:
    """Emit the computed answer to `line`; an error becomes a `Refused`."""
    try:
        emit(compute())
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the edge; panics of Rust are no Exception
        if (studio_error := explain_error(error)) is not None:
            problem, advice = studio_error.problem, studio_error.advice
            details = studio_error.details
            emit(Refused(to=line.number, problem=problem, advice=advice, details=details))
            return
        details = traceback.format_exc()
        echo_error(*details.splitlines())
        emit(refusal(line.number, error, details))


def refusal(number: int, error: BaseException, details: str) -> Refused:
    """Refuse for lack of memory, or else report a bug."""
    if is_out_of_memory(error):
        return Refused(
            to=number,
            problem=phrase("There is not enough memory for this."),
            advice=phrase("Close other programs, stop a training run, or choose a smaller model."),
            details=details,
            lacks_memory=True,
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


def parse_line(content: bytes) -> Line:
    """Read the header of a question as far as possible."""
    try:
        message = json.loads(content)
        kind, side, number = (message.get(name) for name in ("kind", "side", "number"))
    except (ValueError, AttributeError, RecursionError):
        return Line(content)
    return Line(
        content,
        kind if isinstance(kind, str) else "",
        side if isinstance(side, int) else 0,
        number if isinstance(number, int) else 0,
    )


def parse_among(content: bytes, known: Iterable[type[Question]]) -> Question:
    """Parse a question of one of the `known` types. Raises ValueError for others."""
    types = {question.model_fields["kind"].default: question for question in known}
    kind = parse_line(content).kind
    if kind not in types:
        raise ValueError(f"not a question for this worker: {content[:80]!r}")
    return types[kind].model_validate_json(content)
