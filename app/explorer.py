"""The Explore worker, one-time workers, and their processes.

A worker is a child process that reads questions and writes answers as lines. The event loop serves
both pipes without blocking. If the Explore worker dies, it is restarted.
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

MAX_TAIL = 4_000  # characters of stderr kept for the details
KILL_TIMEOUT_MS = 2_000  # wait for a killed process when the program ends
START_SETTINGS = ("threads", "explorer_device")  # settings fixed when a worker starts
STANDBY_MS = 120_000  # idle time after which a standby worker ends
OUT_OF_MEMORY_SIGNAL = 9  # sent by the OOM killer


class WorkerProcess(QObject):
    """A worker process and its pipes.

    Signals:
        answer_received: an Answer.
        ended: the reason and the last output. Not emitted after `end`.
        exited: after `end`, when the process has exited.
    """

    answer_received = Signal(object)
    ended = Signal(str, str)
    exited = Signal()

    def __init__(
        self,
        scratch: Path,
        settings: Settings,
        parent: QObject | None = None,
        worker: str = "explore",
    ) -> None:
        """`worker` names the program in `engine.worker`."""
        super().__init__(parent)
        self._tail = ""
        self._process = QProcess(self)
        program, *arguments = launch.worker(worker, str(scratch))
        self._process.setProgram(program)
        self._process.setArguments(arguments)
        self._process.setWorkingDirectory(str(launch.CODE))
        self._process.setProcessEnvironment(environment(settings))
        self._process.readyReadStandardOutput.connect(self._on_output)
        self._process.readyReadStandardError.connect(self._on_error_output)
        self._process.errorOccurred.connect(self._on_error)
        self._process.finished.connect(self._on_finished)
        self._question: Question | None = None  # newest question; decides how answers are parsed
        self._is_active = True
        self.lacked_memory = False  # probably: it was killed by signal 9

    def start(self) -> None:
        """Start the process unless it is running."""
        if self._process.state() == QProcess.ProcessState.NotRunning:
            self._process.start()

    def send(self, question: Question) -> None:
        self._question = question
        self._process.write(question.line())

    def end(self) -> None:
        """Kill the process and ignore what it still sends."""
        self._is_active = False
        if self._process.state() == QProcess.ProcessState.NotRunning:
            self.exited.emit()
            self.deleteLater()
            return
        self.setParent(None)
        _ending.add(self)
        self._process.kill()

    def wait(self) -> None:
        """Block until the killed process has exited."""
        self._process.waitForFinished(KILL_TIMEOUT_MS)

    @property
    def pid(self) -> int:
        return self._process.processId()

    def _on_output(self) -> None:
        while self._is_active and self._process.canReadLine():
            line = bytes(self._process.readLine().data())
            try:
                answer = self._parse(line)
            except ValueError:  # the worker is broken; it is replaced
                self._tail += f"\nnot an answer: {line[:200]!r}"
                self._process.kill()
                return
            self.answer_received.emit(answer)

    def _parse(self, line: bytes) -> Answer:
        """Raises ValueError if the line does not answer the question."""
        if self._question is None:
            raise ValueError("nothing was asked")
        return parse_answer(line, self._question)

    def _on_error_output(self) -> None:
        output = bytes(self._process.readAllStandardError().data())
        self._tail = (self._tail + output.decode("utf-8", "replace"))[-MAX_TAIL:]

    def _on_error(self, error: QProcess.ProcessError) -> None:
        if error != QProcess.ProcessError.FailedToStart:
            return  # `finished` handles processes that die
        if self._is_active:
            self.ended.emit(self._process.errorString(), self._tail)

    def _on_finished(self, code: int, status: QProcess.ExitStatus) -> None:
        if not self._is_active:
            _ending.discard(self)
            self.exited.emit()
            self.deleteLater()
            return
        self._on_error_output()
        if status == QProcess.ExitStatus.NormalExit:
            reason = self.tr("exit code {0}").format(code)
        elif code == OUT_OF_MEMORY_SIGNAL:
            reason = self.tr("killed by signal 9, possibly out of memory")
            self.lacked_memory = True
        else:
            reason = self.tr("killed by signal {0}").format(code)
        self.ended.emit(reason, self._tail)


_ending: set[WorkerProcess] = set()  # killed, not yet exited


def environment(settings: Settings) -> QProcessEnvironment:
    """Environment of every worker, with the user's settings for Explore."""
    variables = QProcessEnvironment()
    for name, value in launch.environment().items():
        variables.insert(name, value)
    variables.insert("BERT_STUDIO_THREADS", str(settings.preferences.threads))
    variables.insert("BERT_STUDIO_EXPLORER_DEVICE", settings.preferences.explorer_device)
    return variables


class Explorer(QObject):
    """Client of the Explore worker: one question at a time.

    While an answer is pending, the newest question of each kind and side waits; it replaces an
    older one, which is never answered. So typing builds no queue.

    Signals:
        answered: an Answer; `to` is the number that `ask` returned.
        died: a message for the user. The lost question is asked again once.
        busy_changed: True while an answer is pending.
    """

    answered = Signal(object)
    died = Signal(str)
    busy_changed = Signal(bool)

    def __init__(self, cache: Path, settings: Settings) -> None:
        """`cache` is the home's cache folder, used by one window at a time."""
        super().__init__()
        self.scratch = cache / "explorer"
        shutil.rmtree(self.scratch, ignore_errors=True)  # left by a killed window
        self.scratch.mkdir(mode=0o700, parents=True)
        self.last_output = ""  # last output of the worker that died
        self._settings = settings
        self._ids = count(1)
        self._process: WorkerProcess | None = None
        self._question: Question | None = None
        self._waiting: dict[tuple[str, int], Question] = {}
        self._last_retried = 0  # number of the last question that was asked again
        settings.changed.connect(self._on_setting)

    @property
    def is_busy(self) -> bool:
        return self._question is not None

    @property
    def pid(self) -> int:
        """Process id of the worker, 0 without one."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start the worker early, so that torch is loaded before the first question."""
        if self._process is None:
            self._process = WorkerProcess(self.scratch, self._settings, self)
            self._process.answer_received.connect(self._on_answer_received)
            self._process.ended.connect(self._on_ended)
            self._process.start()

    def ask(self, question: Question) -> int:
        """Queue a question; returns the number that its answer will carry."""
        numbered = question.model_copy(update={"number": next(self._ids)})
        self._waiting.pop(_slot(numbered), None)
        self._waiting[_slot(numbered)] = numbered
        self._send_next()
        return numbered.number

    def close(self) -> None:
        """End the worker and remove its files, when the program ends."""
        self._waiting.clear()
        self._stop()
        self._question = None
        for process in list(_ending):
            process.wait()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def _send_next(self) -> None:
        if self._question is None and self._waiting:
            self._question = self._waiting.pop(next(iter(self._waiting)))
            self.start()
            assert self._process is not None
            self._process.send(self._question)
            self.busy_changed.emit(True)

    def _on_answer_received(self, answer: Answer) -> None:
        is_current = self._question is not None and answer.to == self._question.number
        if is_current and answer.is_final:
            self._question = None
        self.answered.emit(answer)
        self._send_next()
        if self._question is None:
            self.busy_changed.emit(False)

    def _on_ended(self, reason: str, last_output: str) -> None:
        assert self._process is not None
        self._process.deleteLater()
        self._process = None
        self.last_output = last_output
        lost, self._question = self._question, None
        sentence = self.tr("The Explore process stopped unexpectedly ({0}) and is restarting.")
        self.died.emit(sentence.format(reason))
        if lost is not None:
            self._retry(lost, last_output)
        self._send_next()
        if self._question is None:
            self.busy_changed.emit(False)

    def _retry(self, lost: Question, last_output: str) -> None:
        """Retry once; a question that crashes two workers is refused."""
        if lost.number != self._last_retried:
            self._last_retried = lost.number
            self._put_first(lost)
            return
        self.answered.emit(
            Refused(
                to=lost.number,
                problem=self.tr("Explore crashed twice on this input."),
                advice=self.tr("Try a shorter text or another model. See the details."),
                details=last_output,
            )
        )

    def _put_first(self, question: Question) -> None:
        """Put a question first, unless a newer one of its kind waits."""
        if _slot(question) not in self._waiting:
            self._waiting = {_slot(question): question, **self._waiting}

    def _on_setting(self, name: str) -> None:
        """Replace the worker if a setting that is fixed at its start changes."""
        if name in START_SETTINGS and self._process is not None:
            self._stop()
            if self._question is not None:
                self._put_first(self._question)
                self._question = None
            self._send_next()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


def _slot(question: Question) -> tuple[str, int]:
    return question.kind, question.side


class Standby(QObject):
    """A worker that loads torch before there is a question.

    Loading takes seconds, half the time of an import. An unused worker ends after STANDBY_MS.
    """

    def __init__(self, scratch: Path, settings: Settings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._scratch, self._settings = scratch, settings
        self._process: WorkerProcess | None = None
        self._idle_timer = debounced(self, STANDBY_MS, self.end)
        settings.changed.connect(self._on_setting)

    @property
    def pid(self) -> int:
        """Process id of the waiting worker, 0 without one."""
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Start a worker, or keep it longer; does nothing if the setting is off."""
        if not self._settings.preferences.stand_by:
            return
        self._idle_timer.start()
        if self._process is None:
            self._process = WorkerProcess(self._scratch, self._settings, self)
            self._process.ended.connect(self._on_ended)
            self._process.start()

    def take(self, worker: str) -> WorkerProcess:
        """Return the standby worker, or a new one; `worker` is a program of `engine.worker`."""
        if self._process is None or worker != Question.worker:
            return WorkerProcess(self._scratch, self._settings, worker=worker)
        process, self._process = self._process, None
        self._idle_timer.stop()
        process.ended.disconnect(self._on_ended)
        return process

    def end(self) -> None:
        self._idle_timer.stop()
        if self._process is not None:
            self._process.end()
            self._process = None

    def _on_ended(self) -> None:
        assert self._process is not None
        self._process.deleteLater()
        self._process = None

    def _on_setting(self, name: str) -> None:
        if name in ("stand_by", *START_SETTINGS):
            self.end()


class OneTimeWorker(QObject):
    """Asks one question in a separate process.

    For questions that take long, measure their memory, or read untrusted files. Either `on_done` or
    `on_refused` is called, unless the worker is cancelled or `owner` is destroyed.
    """

    def __init__(
        self,
        question: Question,
        process: WorkerProcess,
        on_done: Callable[[Answer], object],
        on_refused: Callable[[Refused], object],
        on_working: Callable[[Working], object] | None = None,
        owner: QObject | None = None,
        parent: QObject | None = None,
        on_partial: Callable[[Answer], object] = lambda _: None,
    ) -> None:
        """`process` may already run; `on_partial` receives answers that are not final."""
        super().__init__(parent)
        self._on_done, self._on_refused, self._on_working = on_done, on_refused, on_working
        self._on_partial, self._owner = on_partial, owner
        process.setParent(self)
        self._process: WorkerProcess | None = process
        self._process.answer_received.connect(self._on_answer_received)
        self._process.ended.connect(self._on_ended)
        _one_time_workers.add(self)
        self._process.start()
        self._process.send(question)

    def cancel(self, on_exited: Callable[[], object] = lambda: None) -> None:
        """Kill the process and call only `on_exited`, when it has exited."""
        if self._process is not None:
            self._process.exited.connect(on_exited)
            self._process.end()
            self._process = None
            _one_time_workers.discard(self)
            self.deleteLater()

    def is_finished(self) -> bool:
        return self._process is None

    def _on_answer_received(self, answer: Answer) -> None:
        if self._owner is not None and not shiboken6.isValid(self._owner):
            self.cancel()
        elif isinstance(answer, Working):
            if self._on_working is not None:
                self._on_working(answer)
        elif answer.is_final:
            self.cancel()
            if isinstance(answer, Refused):
                self._on_refused(answer)
            else:
                self._on_done(answer)
        else:
            self._on_partial(answer)

    def _on_ended(self, reason: str, last_output: str) -> None:
        self._on_answer_received(
            Refused(
                problem=self.tr("The process working on this stopped unexpectedly ({0}).").format(
                    reason
                ),
                advice=self.tr("Close other programs and try again. See the details."),
                details=last_output,
                lacks_memory=self._process is not None and self._process.lacked_memory,
            )
        )


_one_time_workers: set[OneTimeWorker] = set()  # running; keeps them alive
