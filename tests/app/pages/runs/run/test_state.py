from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from app.pages.runs.run.checkpoints_tab import Checkpoint, CheckpointsState
from app.pages.runs.run.state import MAX_LINE, RunState, latest_points
from app.pages.runs.state import RunsState
from app.studio import Studio
from engine.messages.events import measured
from engine.record.metrics import Points


@pytest.fixture
def runs(studio) -> RunsState:
    return RunsState(studio, studio)


def open_run(runs: RunsState, studio: Studio, run_id: str, qtbot: QtBot) -> RunState:
    state = RunState(studio, runs, run_id, studio)
    with qtbot.waitSignals([state.changed, state.curves_read]):
        state.open()
    return state


def test_a_run_is_read_when_it_is_opened(runs, studio, make_run, qtbot):
    run_id = make_run("mine", step=10, outcome="stopped", not_finite=[3])
    state = RunState(studio, runs, run_id, studio)
    received: dict[str, Any] = {}
    state.curves_read.connect(lambda curves: received.update(curves=curves))
    checkpoints = CheckpointsState(studio, state)
    checkpoints.checkpoints_read.connect(lambda points: received.update(checkpoints=points))
    state.log_read.connect(lambda log: received.update(log=log))
    state.open()
    qtbot.waitUntil(lambda: len(received) == 3)
    loss: Points = received["curves"]["loss"]
    assert loss.steps.tolist() == list(range(1, 11))
    assert list(loss.finite())[:3] == [(1, 2.0), (2, 1.0), (4, 0.5)]
    assert loss.not_finite == ((3, "nan"),)
    saved: list[Checkpoint] = received["checkpoints"]
    assert [(s.step, s.best) for s in saved] == [(10, False), (5, True)]
    assert saved[0].bytes > 0
    assert received["log"] == "• 2 texts were truncated.\nloading\nstep 1"
    assert (state.row.checkpoint_step, state.row.checkpoint) == (10, saved[1].folder)


def test_points_that_arrive_while_curves_are_read_are_kept(runs, studio, make_run, qtbot):
    run_id = make_run("mine", step=4, outcome=None)
    state = RunState(studio, runs, run_id, studio)
    calls: list[str] = []
    state.curves_read.connect(lambda _: calls.append("read"))
    state.measured.connect(lambda new: calls.append(f"new {new['loss'].steps.tolist()}"))
    state.open()
    studio.dispatcher.measured.emit(run_id, [measured("loss", 5, 1.0), measured("loss", 6, 0.5)])
    studio.dispatcher.measured.emit("somebody", [measured("loss", 7, 1.0)])
    qtbot.waitUntil(lambda: len(calls) == 2)
    assert calls == ["read", "new [5, 6]"]
    studio.dispatcher.measured.emit(run_id, [measured("loss", 7, 1.0)])
    assert calls[2] == "new [7]"
    points = latest_points([measured("loss", s, v) for s, v in ((3, 0.3), (4, 0.4), (3, 0.5))])
    assert list(points["loss"].finite()) == [(3, 0.5), (4, 0.4)]


def test_long_log_lines_are_truncated(runs, studio, make_run, qtbot):
    run_id = make_run("mine")
    state = open_run(runs, studio, run_id, qtbot)
    (studio.home.runs / run_id / "worker.log").write_text("x" * 1_000_000 + "\nend")
    state.read_log()
    qtbot.waitUntil(lambda: state.log.endswith("end"))
    assert max(map(len, state.log.splitlines())) <= MAX_LINE + 1


def test_a_removed_run_is_announced(runs, studio, make_run, qtbot):
    state = RunState(studio, runs, "nobody", studio)
    with qtbot.waitSignal(state.removed):
        state.open()
    run_id = make_run("mine")
    with qtbot.waitSignal(runs.listed):
        runs.read()
    opened = open_run(runs, studio, run_id, qtbot)
    with qtbot.waitSignal(opened.removed):
        studio.dispatcher.run_removed.emit(run_id)
    assert run_id not in runs.rows


def test_an_export_of_a_checkpoint_is_named_after_its_run(runs, studio, make_run, qtbot, tmp_path):
    state = open_run(runs, studio, make_run("mine/..\\x"), qtbot)
    assert state.row is not None and state.row.checkpoint is not None
    export = CheckpointsState(studio, state).create_export(state.row.checkpoint)
    export.set_folder(tmp_path)
    assert export.target == tmp_path / f"mine-..-x-{state.row.checkpoint.name}-hf"
