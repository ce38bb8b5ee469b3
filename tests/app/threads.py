"""Threads instead of workers: starting a process with torch takes 2 s of CPU time."""

from pathlib import Path

from PySide6.QtCore import QObject

from app import background
from engine.errors import StudioError
from engine.messages.question import Answer, Question, Refused, Working
from engine.worker.answerers import answer
from engine.worker.context import WorkerContext
from engine.worker.questions import Emit


class FakeWorkers:
    """Answer questions to one-time workers in threads."""

    def __init__(self, scratch: Path, owner: QObject) -> None:
        self.scratch, self._owner = scratch, owner
        self.questions: list[Question] = []
        self.is_held = False  # if true, nothing is answered and a test may cancel

    def start(self, question, done, refused, working=None, owner=None, on_partial=lambda _: None):
        self.questions.append(question)
        worker = _FakeWorker()

        def work() -> list[Answer]:
            answers: list[Answer] = []
            try:
                answers.append(self._answer(question, answers.append))
            except StudioError as error:
                answers.append(
                    Refused(to=question.number, problem=error.problem, advice=error.advice)
                )
            return answers

        def deliver(answers: list[Answer]) -> None:
            for reply in answers:
                if isinstance(reply, Working):
                    (working or on_partial)(reply)
                elif not worker.is_cancelled:
                    callback = done if reply.is_final else on_partial
                    (refused if isinstance(reply, Refused) else callback)(reply)

        if not self.is_held:
            background.run(self._owner, work, deliver)
        return worker

    def _answer(self, question: Question, emit: Emit) -> Answer:
        if question.worker == "hub":
            from engine.worker.hub import HUB_ANSWERERS

            return HUB_ANSWERERS[type(question)](question, emit)
        return answer(question, WorkerContext(self.scratch, emit))


class _FakeWorker:
    is_cancelled = False

    def cancel(self, on_exited=lambda: None) -> None:
        self.is_cancelled = True
