"""Explorer: asks the explorer worker; one question at a time, the newest of each kind waits.

The worker is a child of the window that reads questions and writes answers as lines. Both pipes are
served by the event loop; nothing here waits. A worker that dies is told of and started again.
"""

import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path

import shiboken6
from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal

from app.settings import Settings
from app.timers import debounced
from engine.messages.question import Answer, Question, Refused, Working, parse_answer
from engine.runs import launch

MAX_TAIL = 4_000  # characters of what a worker printed that are kept for the details
KILL_TIMEOUT_MS = 2_000  # for a killed process to be gone, at the end of the program
CHOSEN_AT_START = ("threads", "explorer_device")  # settings that a worker cannot change
STANDBY_MS = 120_000  # that a standby worker waits for a question
OUT_OF_MEMORY_SIGNAL = 9  # the signal with which the system ends a process when memory runs out


class WorkerProcess(QObject):
    """A worker process and its pipes.

    Signals:
        told: an Answer.
        ended: how it ended in a few words, and what it printed last. Not after `end`.
        gone: after `end`, once there is no process any more.
    """

    told = Signal(object)
    ended = Signal(str, str)
    gone = Signal()

    def __init__(
        self,
        scratch: Path,
        settings: Settings,
        parent: QObject | None = None,
        worker: str = "explore",
    ) -> None:
        """`worker` is the program, as `engine.worker` names it."""
        super().__init__(parent)
        self._tail = ""
        self._process = QProcess(self)
        program, *arguments = launch.worker(worker, str(scratch))
        self._process.setProgram(program)
        self._process.setArguments(arguments)
        self._process.setWorkingDirectory(str(launch.CODE))
        self._process.setProcessEnvironment(environment(settings))
        self._process.readyReadStandardOutput.connect(self._on_output)
        self._process.readyReadStandardError.connect(self._on_print)
        self._process.errorOccurred.connect(self._on_error)
        self._process.finished.connect(self._on_finished)
        self._asked: Question | None = None  # the newest question, which tells what answers it
        self._is_wanted = True

    def start(self) -> None:
        """Start it, unless it runs already."""
        if self._process.state() == QProcess.ProcessState.NotRunning:
            self._process.start()

    def send(self, question: Question) -> None:
        self._asked = question
        self._process.write(question.line())

    def end(self) -> None:
        """Kill the process and hear no more of it."""
        self._is_wanted = False
        if self._process.state() == QProcess.ProcessState.NotRunning:
            self.gone.emit()
            self.deleteLater()
            return
        self.setParent(None)
        _ending.add(self)
        self._process.kill()

    def wait(self) -> None:
        """Stay until the killed process is gone."""
        self._process.waitForFinished(KILL_TIMEOUT_MS)

    @property
    def pid(self) -> int:
        return self._process.processId()

    def _on_output(self) -> None:
        while self._is_wanted and self._process.canReadLine():
            line = bytes(self._process.readLine().data())
            try:
                answer = self._parsed(line)
            except ValueError:  # whoever writes that is not well; it is replaced
                self._tail += f"\nnot an answer: {line[:200]!r}"
                self._process.kill()
                return
            self.told.emit(answer)

    def _parsed(self, line: bytes) -> Answer:
        """Raises ValueError where the line is no answer to what was asked."""
        if self._asked is None:
            raise ValueError("nothing was asked")
        return parse_answer(line, self._asked)

    def _on_print(self) -> None:
        printed = bytes(self._process.readAllStandardError().data())
        self._tail = (self._tail + printed.decode("utf-8", "replace"))[-MAX_TAIL:]

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error != QProcess.ProcessError.FailedToStart:
            return  # a process that dies is told of by `finished`
        if self._is_wanted:
            self.ended.emit(self._process.errorString(), self._tail)

    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        if not self._is_wanted:
            _ending.discard(self)
            self.gone.emit()
            self.deleteLater()
            return
        self._on_print()
        if status == QProcess.ExitStatus.NormalExit:
            how = self.tr("exit code {0}").format(code)
        elif code == OUT_OF_MEMORY_SIGNAL:
            how = self.tr("killed by signal 9, possibly out of memory")
        else:
            how = self.tr("killed by signal {0}").format(code)
        self.ended.emit(how, self._tail)


_ending: set[WorkerProcess] = set()  # killed, and not yet gone


def environment(settings: Settings) -> QProcessEnvironment:
    """The environment of every worker, with what the user chose for exploring."""
    made = QProcessEnvironment()
    for name, value in launch.environment().items():
        made.insert(name, value)
    made.insert("BERT_STUDIO_THREADS", str(settings.preferences.threads))
    made.insert("BERT_STUDIO_EXPLORER_DEVICE", settings.preferences.explorer_device)
    return made


class Explorer(QObject):
    """The worker that answers the explore page.

    While an answer is awaited, the newest question of each kind and side waits; the one before it
    is dropped and never answered. So typing builds no queue.

    Signals:
        answered: an Answer; `to` is the number that `ask` gave.
        died: a sentence for the user. The lost question is asked once more by itself.
        busy_changed: whether an answer is awaited.
    """

    answered = Signal(object)
    died = Signal(str)
    busy_changed = Signal(bool)

    def __init__(self, cache: Path, settings: Settings) -> None:
        """`cache` is the home's folder for what can be made again; one window uses it."""
        super().__init__()
        self.scratch = cache / "explorer"
        shutil.rmtree(self.scratch, ignore_errors=True)  # of a window that was killed
        self.scratch.mkdir(mode=0o700, parents=True)
        self.last_words = ""  # what the last worker that died had printed
        self._settings = settings
        self._numbers = count(1)
        self._process: WorkerProcess | None = None
        self._asked: Question | None = None
        self._waiting: dict[tuple[str, int], Question] = {}
        self._asked_again = 0  # number of the question that was lost with a worker before
        settings.changed.connect(self._on_setting)

    @property
    def is_busy(self) -> bool:
        return self._asked is not None

    @property
    def pid(self) -> int:
        """The worker's process id, 0 where there is none."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the worker before the first question, so that torch is loaded by then."""
        if self._process is None:
            self._process = WorkerProcess(self.scratch, self._settings, self)
            self._process.told.connect(self._on_told)
            self._process.ended.connect(self._on_ended)
            self._process.start()

    def ask(self, question: Question) -> int:
        """Ask as soon as the answer before is there, and say which number the answer will carry."""
        numbered = question.model_copy(update={"number": next(self._numbers)})
        self._waiting.pop(_place(numbered), None)
        self._waiting[_place(numbered)] = numbered
        self._send_next()
        return numbered.number

    def close(self) -> None:
        """End the worker and remove its files; for the end of the program."""
        self._waiting.clear()
        self._stop()
        self._asked = None
        for process in list(_ending):
            process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _send_next(self) -> None:
        """Send the question that waits longest, unless an answer is awaited."""
        if self._asked is None and self._waiting:
            self._asked = self._waiting.pop(next(iter(self._waiting)))
            self.start()
            assert self._process is not None
            self._process.send(self._asked)
            self.busy_changed.emit(True)

    def _on_told(self, answer: Answer) -> None:
        is_last = self._asked is not None and answer.to == self._asked.number
        if is_last and answer.is_final:
            self._asked = None
        self.answered.emit(answer)
        self._send_next()
        if self._asked is None:
            self.busy_changed.emit(False)

    def _on_ended(self, how: str, last_words: str) -> None:
        assert self._process is not None
        self._process.deleteLater()
        self._process = None
        self.last_words = last_words
        lost, self._asked = self._asked, None
        sentence = self.tr("The Explore process stopped unexpectedly ({0}) and is restarting.")
        self.died.emit(sentence.format(how))
        if lost is not None:
            self._ask_again(lost, last_words)
        self._send_next()
        if self._asked is None:
            self.busy_changed.emit(False)

    def _ask_again(self, lost: Question, last_words: str) -> None:
        """Once; a question that ends two workers is refused."""
        if lost.number != self._asked_again:
            self._asked_again = lost.number
            self._put_first(lost)
            return
        self.answered.emit(
            Refused(
                to=lost.number,
                problem=self.tr("Explore crashed twice on this input."),
                advice=self.tr("Try a shorter text or another model. See the details."),
                details=last_words,
            )
        )

    def _put_first(self, question: Question) -> None:
        """Before all that waits, unless a newer one of its kind does."""
        if _place(question) not in self._waiting:
            self._waiting = {_place(question): question, **self._waiting}

    def _on_setting(self, name: str) -> None:
        """Threads and device are chosen at the start of a worker, so a new one takes over."""
        if name in CHOSEN_AT_START and self._process is not None:
            self._stop()
            if self._asked is not None:
                self._put_first(self._asked)
                self._asked = None
            self._send_next()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


def _place(question: Question) -> tuple[str, int]:
    """What a newer question takes the place of."""
    return question.kind, question.side


class Standby(QObject):
    """A worker that has loaded torch before there is a question for it.

    Loading takes seconds, half of what an import takes. Where nobody asks, it ends after a while.
    """

    def __init__(self, scratch: Path, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scratch, self._settings = scratch, settings
        self._process: WorkerProcess | None = None
        self._unused = debounced(self, STANDBY_MS, self.end)
        settings.changed.connect(self._on_setting)

    @property
    def pid(self) -> int:
        """The worker's process id, 0 where there is none."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Let one load, or keep it for longer; none where the user does not like that."""
        if not self._settings.preferences.stand_by:
            return
        self._unused.start()
        if self._process is None:
            self._process = WorkerProcess(self._scratch, self._settings, self)
            self._process.ended.connect(self._on_ended)
            self._process.start()

    def take(self, worker: str) -> WorkerProcess:
        """The one that waits, or a new one; `worker` is a program of `engine.worker`."""
        if self._process is None or worker != Question.worker:
            return WorkerProcess(self._scratch, self._settings, worker=worker)
        process, self._process = self._process, None
        self._unused.stop()
        process.ended.disconnect(self._on_ended)
        return process

    def end(self) -> None:
        """End the one that waits."""
        self._unused.stop()
        if self._process is not None:
            self._process.end()
            self._process = None

    def _on_ended(self) -> None:
        assert self._process is not None
        self._process.deleteLater()
        self._process = None

    def _on_setting(self, name: str) -> None:
        if name in ("stand_by", *CHOSEN_AT_START):
            self.end()


class OneTimeWorker(QObject):
    """One question in a process of its own, which ends with the answer.

    For what takes long, measures its own memory, or reads files that are not trusted. Exactly one
    of `done` and `refused` is called, unless the worker is cancelled or `owner` is destroyed.
    """

    def __init__(
        self,
        question: Question,
        process: WorkerProcess,
        done: Callable[[Answer], object],
        refused: Callable[[Refused], object],
        working: Callable[[Working], object] | None = None,
        owner: QObject | None = None,
        parent: QObject | None = None,
        partly: Callable[[Answer], object] = lambda _: None,
    ) -> None:
        """`process` may have begun; `partly` is told of answers of which more is to come."""
        super().__init__(parent)
        self._done, self._refused, self._working, self._owner = done, refused, working, owner
        self._partly = partly
        process.setParent(self)
        self._process: WorkerProcess | None = process
        self._process.told.connect(self._on_told)
        self._process.ended.connect(self._on_ended)
        _one_time_workers.add(self)
        self._process.start()
        self._process.send(question)

    def cancel(self, gone: Callable[[], object] = lambda: None) -> None:
        """End the process at once; nobody is called any more but `gone`, when it has ended."""
        if self._process is not None:
            self._process.gone.connect(gone)
            self._process.end()
            self._process = None
            _one_time_workers.discard(self)
            self.deleteLater()

    def is_over(self) -> bool:
        return self._process is None

    def _on_told(self, answer: Answer) -> None:
        if self._owner is not None and not shiboken6.isValid(self._owner):
            self.cancel()
        elif isinstance(answer, Working):
            if self._working is not None:
                self._working(answer)
        elif answer.is_final:
            self.cancel()
            if isinstance(answer, Refused):
                self._refused(answer)
            else:
                self._done(answer)
        else:
            self._partly(answer)

    def _on_ended(self, how: str, last_words: str) -> None:
        self._on_told(
            Refused(
                problem=self.tr("The process working on this stopped unexpectedly ({0}).").format(
                    how
                ),
                advice=self.tr("Close other programs and try again. See the details."),
                details=last_words,
            )
        )


_one_time_workers: set[OneTimeWorker] = set()  # under way; whoever ran one need not hold it
