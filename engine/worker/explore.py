"""The explorer worker: questions as lines on stdin, answers as lines on stdout.

Of each kind of question, and of each side of what is compared, only the newest counts: one that
waits is dropped, without an answer, when another of its kind comes in. The process ends with its
input, also amid a computation. Stdout carries answers and nothing else: whatever any library
prints goes to stderr.
"""

import io
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from pydantic import ValidationError

from engine.cores import threads_worth_trying
from engine.errors import StudioError
from engine.messages.answers import (
    Answer,
    Estimated,
    Examined,
    Exported,
    Filled,
    Imported,
    PreciseAnswer,
    Refused,
    Working,
)
from engine.messages.questions import (
    QUESTION,
    AnyQuestion,
    Attend,
    Embed,
    Estimate,
    Examine,
    Export,
    Fill,
    Follow,
    Import,
    Predict,
    QueryKey,
    Question,
    Score,
    Search,
    ShowBatch,
    Trace,
    Weigh,
)
from engine.phrases import phrase

if TYPE_CHECKING:
    from engine.models.checkpoint import Checkpoint
    from engine.training.batch_preview import Showing

Tell = Callable[[Answer], None]
Precise = TypeVar("Precise", Fill, Attend, Predict)

THREADS = "BERT_STUDIO_THREADS"  # environment: processor threads; unset or 0 means all cores
DEVICE = "BERT_STUDIO_EXPLORER_DEVICE"  # environment: cpu, cuda, mps; unset or auto means cpu
REMEMBERED = 200  # answers of a model
QUIET = 1.0  # s without a question, after which something else is done
LONGEST_REASON = 300  # characters


def main(scratch: Path) -> None:
    """Answer until the input ends; tensors go into files in `scratch`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in a terminal is meant for the window
    out = _take_stdout()
    inbox = Inbox()
    threading.Thread(target=inbox.read, args=(sys.stdin.buffer,), daemon=True).start()
    answerer = Answerer(scratch, os.environ.get(DEVICE, "auto"))

    def tell(answer: Answer) -> None:
        try:
            out.write(answer.line())
            out.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody listens any more

    while True:
        respond(answerer, inbox.take(answerer.prepare), tell)


def _take_stdout() -> BinaryIO:
    """The stdout of the process for answers alone; every other writer, in C too, gets stderr."""
    out = os.fdopen(os.dup(1), "wb", buffering=io.DEFAULT_BUFFER_SIZE)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return out


class Inbox:
    """What was asked and not yet taken: the newest of each kind, in the order of asking."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int], AnyQuestion | Unreadable] = {}
        self._changed = threading.Condition()

    def read(self, lines: BinaryIO) -> None:
        """Take in lines until there are no more; then the process ends at once."""
        for line in lines:
            if line.strip():
                self.put(line)
        os._exit(0)

    def put(self, line: bytes) -> None:
        question = parse(line)
        place = question.kind, question.side
        with self._changed:
            self._waiting.pop(place, None)
            self._waiting[place] = question
            self._changed.notify()

    def take(self, meanwhile: Callable[[], bool] = lambda: False) -> "AnyQuestion | Unreadable":
        """The question that waits longest; blocks until there is one.

        Where none comes for a while, `meanwhile` is called again and again, as long as it says that
        there is more for it to do. Who types is not made to wait for that.
        """
        with self._changed:
            if not self._waiting:
                self._changed.wait(QUIET)
        while not self._waiting and meanwhile():
            pass
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            return self._waiting.pop(next(iter(self._waiting)))


class Unreadable(Question):
    """A line that is no question."""

    kind: str = "unreadable"
    reason: str


def parse(line: bytes) -> AnyQuestion | Unreadable:
    try:
        return QUESTION.validate_json(line)
    except ValidationError as error:
        try:
            number = json.loads(line)["number"]
        except (ValueError, KeyError, TypeError, RecursionError):
            number = 0
        reason = phrase(
            "{error} errors, the first: {error2}",
            error=error.error_count(),
            error2=error.errors()[0]["msg"],
        )
        return Unreadable(number=number if isinstance(number, int) else 0, reason=reason)


def respond(answerer: "Answerer", question: AnyQuestion | Unreadable, tell: Tell) -> None:
    """Answer a question; an error is an answer too, and the worker lives on."""
    try:
        answerer.answer(question, tell)
    except StudioError as error:
        tell(Refused(to=question.number, problem=error.problem, advice=error.advice))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the edge; panics of Rust are no Exception
        details = traceback.format_exc()
        print(details, file=sys.stderr, flush=True)
        tell(refusal(question.number, error, details))


def refusal(number: int, error: BaseException, details: str) -> Refused:
    """Too little memory is nobody's mistake; anything else is the studio's."""
    if is_out_of_memory(error):
        return Refused(
            to=number,
            problem=phrase("There is not enough memory for this."),
            advice=phrase("Close other programs, stop a training, or choose a smaller model."),
            details=details,
        )
    problem = phrase(
        "BERT Studio made a mistake: {name}: {error}", name=type(error).__name__, error=error
    )
    return Refused(
        to=number,
        problem=problem[:LONGEST_REASON],
        advice=phrase("Please report it with the details."),
        details=details,
        bug=True,
    )


def is_out_of_memory(error: BaseException) -> bool:
    """torch says it with a RuntimeError on the CPU, and with a type of its own on a device."""
    words = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


class Answerer:
    """Answers questions one after the other; loads torch when it is made."""

    def __init__(self, scratch: Path, device: str = "auto") -> None:
        import torch

        asked = os.environ.get(THREADS, "")
        threads = int(asked) if asked.isdecimal() else 0
        if not threads and "OMP_NUM_THREADS" not in os.environ:
            threads = threads_worth_trying()[0]  # torch knows no limit of a container
        if threads:
            torch.set_num_threads(threads)
        from engine.explore.model_cache import ModelCache

        self._scratch = scratch
        self._showing: Showing | None = None
        self._shelf = ModelCache("cpu" if device == "auto" else device)

    def _show(self, question: ShowBatch, tell: Tell) -> Answer:
        from engine.runs.folder import RunFolder
        from engine.training.batch_preview import Showing  # it takes a second, and few ask for it

        self._showing = self._showing or Showing()

        def working(stage: str, done: int, total: int) -> None:
            tell(Working(to=question.number, stage=stage, done=done, total=total))

        shown = self._showing.show(RunFolder(question.run), question.step, working)
        return shown.model_copy(update={"to": question.number})

    def prepare(self) -> bool:
        """Do a little towards quick answers; whether more is left."""
        return self._shelf.prepare()

    def _precisely(
        self, question: Precise, work: "Callable[[Checkpoint, Precise], PreciseAnswer]"
    ) -> Answer:
        """Answer from exact or from quick numbers, and say from which.

        What was asked before, as when somebody takes back what was typed, is not computed again.
        """
        began = time.perf_counter()
        serving = self._shelf.serving(question.checkpoint)
        is_map = isinstance(question, Attend)
        is_analysis = isinstance(question, Attend) and question.measure != "weights"
        checkpoint, kind, why = serving.take(question.exact or is_analysis, is_map)
        said: dict[str, object] = {"to": question.number, "computed": kind, "why_exact": why}
        if is_map:  # its file goes before long
            return work(checkpoint, question).model_copy(update=said)
        key = f"{kind} {question.model_dump_json(exclude={'number', 'side', 'exact'})}"
        answer = serving.answers.get(key)
        if answer is None:
            answer = work(checkpoint, question)
            while len(serving.answers) >= REMEMBERED:
                del serving.answers[next(iter(serving.answers))]
            serving.answers[key] = answer
        elif isinstance(answer, Filled):
            said["milliseconds"] = (time.perf_counter() - began) * 1000
        return answer.model_copy(update=said)

    def answer(self, question: AnyQuestion | Unreadable, tell: Tell) -> None:
        """A line for each kind of question."""
        from engine.explore import (
            answers,
            attention,
            candidates,
            embeddings,
            lens,
            measures,
            predictions,
            scores,
        )

        match question:
            case Fill():
                tell(self._precisely(question, predictions.fill))
            case Attend():
                attend = partial(attention.attend, scratch=self._scratch, tell=tell)
                tell(self._precisely(question, attend))
            case QueryKey():
                tell(measures.query_key(self._shelf.take(question.checkpoint), question))
            case Weigh():
                tell(candidates.weigh(self._shelf.take(question.checkpoint), question))
            case Search():
                tell(candidates.search(self._shelf.take(question.checkpoint), question))
            case Score():
                tell(scores.score(self._shelf.take(question.checkpoint), question))
            case Trace():
                tell(lens.trace(self._shelf.take(question.checkpoint), question))
            case Follow():
                tell(scores.follow(self._shelf.take(question.checkpoint), question))
            case Embed():
                tell(embeddings.embed(self._shelf.take(question.checkpoint), question))
            case Predict():
                tell(self._precisely(question, answers.predict))
            case Examine():
                tell(_examine(question))
            case Import():
                tell(Working(to=question.number, stage=phrase("Converting the model")))
                tell(_import(question))
            case Export():
                tell(_export(question, self._scratch, tell))
            case Estimate():
                tell(_estimate(question, tell))
            case ShowBatch():
                tell(self._show(question, tell))
            case Unreadable():
                raise ValueError(f"the explorer was asked what is no question: {question.reason}")


def _examine(question: Examine) -> Examined:
    from engine.explore.limits import limited_memory
    from engine.models.checkpoint import examine

    with limited_memory(question.folder):
        info, report = examine(question.folder)
    return Examined(to=question.number, info=info, report=report)


def _import(question: Import) -> Imported:
    from engine.explore.limits import limited_memory
    from engine.models.checkpoint import import_checkpoint

    with limited_memory(question.folder):
        info, report = import_checkpoint(question.folder, question.into)
    return Imported(to=question.number, folder=question.into, info=info, report=report)


def _export(question: Export, scratch: Path, tell: Tell) -> Exported:
    from engine.export.exporting import export

    return export(question, scratch, tell)


def _estimate(question: Estimate, tell: Tell) -> Estimated:
    from engine.training.estimate import estimate

    measured = estimate(question.job, lambda stage: tell(Working(to=question.number, stage=stage)))
    return measured.model_copy(update={"to": question.number})
