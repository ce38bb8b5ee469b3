"""Work on many texts: which ones, and the process that computes."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.explorer import OneTimeWorker
from app.translation import tr
from engine.files.regular_file import read_regular
from engine.files.shipped import sample_data
from engine.messages.explore.text_set import SetAnswer, SetQuestion, TextSet, TypedText
from engine.messages.question import Answer, Refused, Working

SAMPLE_ROWS = 40


@dataclass(frozen=True)
class ChosenTexts:
    """A set of texts with its name."""

    texts: TextSet
    name: str
    count: int


def sample_texts() -> ChosenTexts:
    """Labelled passages of the sample data set, for a panel whose texts are not chosen yet."""
    rows = csv.DictReader(io.StringIO(read_regular(sample_data()).decode("utf-8")))
    typed = [TypedText(text=row["text"], label=row["topic"]) for row in islice(rows, SAMPLE_ROWS)]
    return ChosenTexts(TextSet(typed=tuple(typed)), tr("the sample"), len(typed))


StartWorker = Callable[..., OneTimeWorker]  # as `Studio.one_time_worker`


class SetWork(QObject):
    """One question about many texts at a time; a cancelled one can be continued.

    Signals:
        changed: the run state, the progress or the problem changed.
        answer_received: a SetAnswer with the results so far.
    """

    changed = Signal()
    answer_received = Signal(object)

    def __init__(self, start_worker: StartWorker, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._start_worker = start_worker
        self._worker: OneTimeWorker | None = None
        self.question: SetQuestion | None = None
        self.problem = ""
        self.stage = ""  # a step before the question itself
        self.done = self.total = 0
        program = QCoreApplication.instance()
        assert program is not None
        program.aboutToQuit.connect(self._end)

    @property
    def is_running(self) -> bool:
        return self._worker is not None

    @property
    def is_interrupted(self) -> bool:
        """True if it was cancelled before the end."""
        return not self.is_running and 0 < self.done < self.total

    def start(self, question: SetQuestion) -> None:
        self._end()
        self.question, self.problem, self.stage, self.done, self.total = question, "", "", 0, 0
        self._worker = self._start_worker(
            question, self._on_done, self._on_refused, self._on_working, self, self._on_part
        )
        self.changed.emit()

    def cancel(self) -> None:
        """End the process; results so far stay."""
        self._end()
        self.changed.emit()

    def clear(self) -> None:
        """Discard the results: the model or the texts have changed."""
        self._end()
        self.question, self.problem, self.done, self.total = None, "", 0, 0
        self.changed.emit()

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None

    def _on_working(self, working: Working) -> None:
        self.stage, self.done, self.total = working.stage, working.done, working.total
        self.changed.emit()

    def _on_part(self, answer: Answer) -> None:
        if isinstance(answer, SetAnswer):
            self.stage = ""
            self.done, self.total = answer.done, answer.total
            self.answer_received.emit(answer)
            self.changed.emit()

    def _on_done(self, answer: Answer) -> None:
        self._worker = None
        self._on_part(answer)

    def _on_refused(self, refusal: Refused) -> None:
        self._worker = None
        self.problem = refusal.phrase
        self.changed.emit()
