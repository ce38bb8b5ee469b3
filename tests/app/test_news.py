"""Notices about runs: their end, and their deletion with undo."""

import logging

import pytest

from app.studio import Studio
from app.window import RunNotices
from engine.record.run_watch import RunEnd, Trashed


@pytest.fixture
def notices(studio: Studio) -> RunNotices:
    return RunNotices(studio, studio)


def run_end(state: str, problem: str = "", by_user: bool = False) -> RunEnd:
    return RunEnd("run-1", "One", state, problem, "", "validation_accuracy", 0.75, by_user)


def test_the_end_of_a_run_is_announced_with_its_score_and_link(studio, notices, qtbot):
    studio.dispatcher.ended.emit(run_end("finished"))
    (notice,) = studio.notices.shown
    assert notice.problem == "The run “One” finished; best validation accuracy: 75.0 %."
    assert not notice.is_error and notice.act is not None
    with qtbot.waitSignal(studio.navigate) as signal:
        notice.act()
    assert signal.args == ["runs", {"run": "run-1"}]


def test_a_failure_stays_and_an_unrequested_stop_is_announced(studio, notices):
    studio.dispatcher.ended.emit(run_end("failed", "The loss is not a number."))
    (notice,) = studio.notices.shown
    assert notice.is_error and notice.action
    assert notice.problem == "The run “One” failed. The loss is not a number."
    studio.dispatcher.ended.emit(run_end("stopped", "The disk is full."))
    notice = studio.notices.shown[-1]
    assert notice.problem == "The run “One” stopped. The disk is full." and not notice.is_error


def test_a_requested_stop_is_not_announced(studio, notices):
    studio.dispatcher.ended.emit(run_end("stopped", by_user=True))
    studio.dispatcher.ended.emit(run_end("stopped", "Pruned at step 3: too poor."))
    studio.dispatcher.ended.emit(run_end("crashed", "Killed.", by_user=True))
    assert studio.notices.shown == []


def test_notes_of_a_run_are_logged(studio, notices, caplog):
    with caplog.at_level(logging.INFO, "studio"):
        studio.dispatcher.noted.emit("run-1", "69 tensors loaded.")
    assert studio.notices.shown == [] and "69 tensors loaded." in caplog.text
    studio.dispatcher.noted.emit("", "The record was damaged.")
    assert [notice.problem for notice in studio.notices.shown] == ["The record was damaged."]


def test_undo_restores_deleted_runs(studio, notices, monkeypatch, tmp_path):
    restored: list[tuple[Trashed, ...]] = []
    monkeypatch.setattr(studio.dispatcher, "restore", restored.append)
    first, other = (
        Trashed(name, tmp_path / name, tmp_path / "trash" / name, {"name": name}) for name in "ab"
    )
    for trashed, expected in (((first,), "“a” was moved to"), ((first, other), "2 run")):
        studio.dispatcher.trashed.emit(trashed)
        notice = studio.notices.shown[-1]
        assert notice.problem.startswith(expected) and notice.action == "Undo"
        assert notice.act is not None
        notice.act()
        assert restored[-1] == trashed
