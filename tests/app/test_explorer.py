"""The window's side of the explorer, with real worker processes on a tiny network."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from app import explorer as explorer_module
from app.explorer import Explorer, OneTimeWorker, Standby, WorkerProcess
from app.settings import Settings
from engine.messages.explore.attention import Attend, Attended
from engine.messages.explore.fill_mask import FillMask, MaskFilled
from engine.messages.importing import Examine
from engine.messages.question import Refused, Working
from engine.models.heads import Heads
from engine.runs import launch
from tests.engine.models.small import folder

PATIENCE = 120_000  # ms; a worker loads torch first, maybe on a busy machine


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("models") / "tiny", Heads(mlm=True))


@pytest.fixture
def explorer(qtbot, tmp_path: Path, settings: Settings) -> Iterator[Explorer]:
    explorer = Explorer(tmp_path / "cache", settings)
    explorer.answers = []
    explorer.deaths = []
    explorer.answered.connect(explorer.answers.append)
    explorer.died.connect(explorer.deaths.append)
    yield explorer
    explorer.close()


def wait_for_answer(qtbot, explorer: Explorer, number: int):
    qtbot.waitUntil(lambda: any(a.to == number for a in explorer.answers), timeout=PATIENCE)
    return next(a for a in explorer.answers if a.to == number)


def test_questions_are_answered_and_closing_ends_worker_and_files(qtbot, explorer, tiny):
    number = explorer.ask(FillMask(checkpoint=tiny, text="a [MASK]"))
    assert explorer.is_busy
    answer = wait_for_answer(qtbot, explorer, number)
    assert isinstance(answer, MaskFilled)
    assert not explorer.is_busy
    answer = wait_for_answer(qtbot, explorer, explorer.ask(Attend(checkpoint=tiny, text="a b")))
    assert isinstance(answer, Attended)
    assert answer.weights.path.is_file()
    explorer.close()
    assert not explorer.scratch.exists()
    assert explorer.pid == 0
    assert explorer.deaths == []


FAKE_WORKER = """
import sys, time, types
from engine.messages.explore.fill_mask import MaskFilled
from engine.messages.question import Working
from engine.worker.__main__ import explore

class Context:
    def __init__(self, scratch, emit):
        time.sleep(0.5)
        self.emit, self.models = emit, types.SimpleNamespace(prepare=lambda: False)

def respond(line, context):
    if b"slow" in line.content:
        context.emit(Working(to=line.number, stage="Reading"))
    context.emit(MaskFilled(to=line.number, tokens=(), predictions=(), milliseconds=1))

sys.modules["engine.worker.context"] = types.SimpleNamespace(WorkerContext=Context)
sys.modules["engine.worker.answerers"] = types.SimpleNamespace(respond=respond)
explore(None)
"""


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers run the real loop but answer every question without torch."""
    fake_worker(monkeypatch, FAKE_WORKER)


def test_only_the_latest_waiting_question_of_a_kind_is_answered(qtbot, explorer, tiny, no_torch):
    """Of forty questions in a row, the first and the last are answered."""
    numbers = [explorer.ask(FillMask(checkpoint=tiny, text="a " * n + "[MASK]")) for n in range(40)]
    wait_for_answer(qtbot, explorer, numbers[-1])
    assert [answer.to for answer in explorer.answers] == [numbers[0], numbers[-1]]
    assert not explorer.is_busy
    first = explorer.ask(FillMask(checkpoint=tiny, text="a [MASK]"))
    explorer.ask(Attend(checkpoint=tiny, text="a"))
    fill = explorer.ask(FillMask(checkpoint=tiny, text="b [MASK]"))
    attend = explorer.ask(Attend(checkpoint=tiny, text="b"))
    other_side = explorer.ask(Attend(checkpoint=tiny, text="b", side=1))
    wait_for_answer(qtbot, explorer, other_side)
    assert [answer.to for answer in explorer.answers][2:] == [first, fill, attend, other_side]


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_a_worker_killed_while_busy_or_idle_restarts(qtbot, explorer, tiny, no_torch):
    explorer.start()
    qtbot.waitUntil(lambda: explorer.pid > 0, timeout=PATIENCE)
    number = explorer.ask(FillMask(checkpoint=tiny, text="a [MASK]"))
    os.kill(explorer.pid, signal.SIGKILL)
    answer = wait_for_answer(qtbot, explorer, number)
    assert isinstance(answer, MaskFilled)
    assert len(explorer.deaths) == 1
    assert "signal 9" in explorer.deaths[0]
    assert explorer.deaths[0].endswith(".")
    wait_for_answer(qtbot, explorer, explorer.ask(FillMask(checkpoint=tiny, text="a [MASK]")))
    old_pid = explorer.pid
    explorer.deaths.clear()
    with qtbot.waitSignal(explorer.died, timeout=PATIENCE):
        os.kill(old_pid, signal.SIGKILL)
    assert explorer.pid == 0
    wait_for_answer(qtbot, explorer, explorer.ask(FillMask(checkpoint=tiny, text="b [MASK]")))
    assert explorer.pid not in (0, old_pid)


def fake_worker(monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Start `program` in place of the worker."""
    monkeypatch.setattr(launch, "worker", lambda *args: [sys.executable, "-c", program, args[-1]])


def test_a_question_that_crashes_two_workers_is_refused(qtbot, explorer, tiny, monkeypatch):
    fake_worker(monkeypatch, "import sys; sys.stdin.readline(); sys.exit('the last words')")
    number = explorer.ask(FillMask(checkpoint=tiny, text="a [MASK]"))
    answer = wait_for_answer(qtbot, explorer, number)
    assert isinstance(answer, Refused)
    assert "the last words" in answer.details
    assert len(explorer.deaths) == 2
    assert "exit code 1" in explorer.deaths[0]
    assert not explorer.is_busy


def test_a_newer_question_replaces_a_lost_one(qtbot, explorer, tiny, monkeypatch, tmp_path):
    marker = tmp_path / "marker"
    fake_worker(
        monkeypatch,
        f"import pathlib, sys, json; marker = pathlib.Path({str(marker)!r})\n"
        "line = json.loads(sys.stdin.readline())\n"
        "if not marker.exists(): marker.touch(); sys.exit(3)\n"
        "print(json.dumps({'kind': 'refused', 'to': line['number'], 'problem': 'x'}), flush=True)\n"
        "sys.stdin.read()",
    )
    lost = explorer.ask(FillMask(checkpoint=tiny, text="a"))
    newer = explorer.ask(FillMask(checkpoint=tiny, text="ab"))
    wait_for_answer(qtbot, explorer, newer)
    assert [answer.to for answer in explorer.answers] == [newer]
    assert lost != newer


def test_a_worker_with_invalid_output_is_replaced(qtbot, explorer, tiny, monkeypatch):
    fake_worker(
        monkeypatch, "import sys; sys.stdin.readline(); print('hello', flush=True); input()"
    )
    number = explorer.ask(FillMask(checkpoint=tiny, text="a"))
    answer = wait_for_answer(qtbot, explorer, number)
    assert isinstance(answer, Refused)
    assert "hello" in answer.details


def test_a_worker_that_cannot_be_started_is_reported(qtbot, explorer, tiny, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/program")
    number = explorer.ask(FillMask(checkpoint=tiny, text="a"))
    assert isinstance(wait_for_answer(qtbot, explorer, number), Refused)
    assert explorer.deaths


def test_a_changed_setting_restarts_the_worker_silently(qtbot, explorer, tiny, settings, no_torch):
    wait_for_answer(qtbot, explorer, explorer.ask(FillMask(checkpoint=tiny, text="a [MASK]")))
    old_pid = explorer.pid
    number = explorer.ask(FillMask(checkpoint=tiny, text="b [MASK]"))
    settings.set("threads", 1)
    assert isinstance(wait_for_answer(qtbot, explorer, number), MaskFilled)
    assert explorer.pid != old_pid
    assert explorer.deaths == []
    qtbot.waitUntil(lambda: not explorer_module._ending, timeout=PATIENCE)


def test_files_of_a_killed_window_are_removed_at_the_next_start(qtbot, tmp_path, settings):
    leftover = tmp_path / "cache" / "explorer" / "attention-7.npy"
    leftover.parent.mkdir(parents=True)
    leftover.touch()
    explorer = Explorer(tmp_path / "cache", settings)
    assert not leftover.exists()
    assert explorer.scratch.is_dir()
    explorer.close()


class Recorder:
    """Records the callbacks of a OneTimeWorker."""

    def __init__(self) -> None:
        self.done: list[object] = []
        self.refused: list[Refused] = []
        self.working: list[Working] = []

    def run(self, question, scratch: Path, settings: Settings, owner: QObject | None = None):
        return self.ask(question, WorkerProcess(scratch, settings), owner)

    def ask(self, question, process: WorkerProcess, owner: QObject | None = None):
        callbacks = (self.done.append, self.refused.append, self.working.append)
        return OneTimeWorker(question, process, *callbacks, owner)


def test_a_one_time_question_has_its_own_process(qtbot, tmp_path, settings, tiny, no_torch):
    recorder = Recorder()
    one_time_worker = recorder.run(FillMask(checkpoint=tiny, text="slow"), tmp_path, settings)
    qtbot.waitUntil(lambda: bool(recorder.done), timeout=PATIENCE)
    assert isinstance(recorder.done[0], MaskFilled)
    assert [working.stage for working in recorder.working] == ["Reading"]
    assert recorder.refused == []
    assert one_time_worker.is_finished()
    qtbot.waitUntil(lambda: not explorer_module._ending, timeout=PATIENCE)


def test_a_one_time_question_can_be_refused(qtbot, tmp_path, settings, monkeypatch):
    fake_worker(
        monkeypatch,
        "import sys, json; sys.stdin.readline()\n"
        "print(json.dumps({'kind': 'refused', 'to': 0, 'problem': 'x'}), flush=True)\n"
        "sys.stdin.read()",
    )
    recorder = Recorder()
    recorder.run(Examine(folder=tmp_path), tmp_path, settings)
    qtbot.waitUntil(lambda: bool(recorder.refused), timeout=PATIENCE)
    assert recorder.done == [] and recorder.refused[0].problem == "x"
    qtbot.waitUntil(lambda: not explorer_module._ending, timeout=PATIENCE)


def test_a_question_whose_process_dies_is_refused(qtbot, tmp_path, settings, monkeypatch, tiny):
    fake_worker(monkeypatch, "import os; os.abort()")
    recorder = Recorder()
    recorder.run(Examine(folder=tiny), tmp_path, settings)
    qtbot.waitUntil(lambda: bool(recorder.refused), timeout=PATIENCE)
    assert "stopped" in recorder.refused[0].problem


def test_a_cancelled_or_ownerless_question_is_silent(qtbot, tmp_path, settings, tiny, no_torch):
    recorder = Recorder()
    one_time_worker = recorder.run(Examine(folder=tiny), tmp_path, settings)
    one_time_worker.cancel()
    qtbot.waitUntil(lambda: not explorer_module._ending, timeout=PATIENCE)
    assert (recorder.done, recorder.refused) == ([], [])
    recorder, owner = Recorder(), QObject()
    one_time_worker = recorder.run(Examine(folder=tiny), tmp_path, settings, owner)
    owner.deleteLater()
    qtbot.waitUntil(one_time_worker.is_finished, timeout=PATIENCE)
    qtbot.waitUntil(lambda: not explorer_module._ending, timeout=PATIENCE)
    assert (recorder.done, recorder.refused) == ([], [])


@pytest.fixture
def standby(qtbot, tmp_path: Path, settings: Settings, no_torch: None) -> Iterator[Standby]:
    standby = Standby(tmp_path, settings)
    yield standby
    standby.end()
    qtbot.waitUntil(lambda: not explorer_module._ending, timeout=PATIENCE)


def start_standby(qtbot, standby: Standby) -> int:
    """Start the standby worker and return its process id."""
    standby.start()
    qtbot.waitUntil(lambda: standby.pid > 0, timeout=PATIENCE)
    return standby.pid


def test_a_standby_worker_answers_one_question_of_its_program(qtbot, standby, tiny):
    pid = start_standby(qtbot, standby)
    other = standby.take("hub")
    assert other.pid == 0 and standby.pid == pid
    other.deleteLater()
    standby.start()
    assert standby.pid == pid, "only one at a time"
    process = standby.take("explore")
    assert process.pid == pid and standby.pid == 0
    recorder = Recorder()
    recorder.ask(FillMask(checkpoint=tiny, text="a [MASK]"), process)
    qtbot.waitUntil(lambda: bool(recorder.done), timeout=PATIENCE)
    assert isinstance(recorder.done[0], MaskFilled)
    assert start_standby(qtbot, standby) != pid


def test_an_outdated_or_unused_standby_worker_ends(qtbot, standby, settings, monkeypatch):
    start_standby(qtbot, standby)
    settings.set("threads", 1)
    assert standby.pid == 0, "threads are set at its start"
    start_standby(qtbot, standby)
    settings.set("stand_by", False)
    assert standby.pid == 0
    standby.start()
    assert standby.pid == 0, "turned off by the user"
    settings.set("stand_by", True)
    standby._idle_timer.setInterval(1)
    start_standby(qtbot, standby)
    qtbot.waitUntil(lambda: standby.pid == 0, timeout=PATIENCE)


def test_a_standby_worker_that_died_is_replaced(qtbot, standby):
    pid = start_standby(qtbot, standby)
    os.kill(pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: standby.pid == 0, timeout=PATIENCE)
    assert start_standby(qtbot, standby) != pid
