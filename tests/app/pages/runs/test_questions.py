"""The queue is reordered by drag and keys, and runs wait for others."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from app.pages.runs.questions import OrderedList, _item, ask_after
from app.pages.runs.rows import RunRow, read_rows
from app.pages.runs.state import RunsState


@pytest.fixture
def row(studio, make_run) -> RunRow:
    make_run("one")
    return read_rows(studio.record)[0]


def waiting(row: RunRow) -> list[RunRow]:
    return [replace(row, id=name, name=name, state="queued") for name in "abc"]


def test_runs_are_moved_by_keys_and_by_dragging(qtbot, row):
    queue = OrderedList("Queue", [_item(run.name, run.id) for run in waiting(row)])
    qtbot.addWidget(queue)
    keys = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(queue, Qt.Key.Key_Down, keys)
    assert queue.keys() == ["b", "a", "c"] and queue.currentItem().text() == "a"
    qtbot.keyClick(queue, Qt.Key.Key_Up, keys)
    qtbot.keyClick(queue, Qt.Key.Key_Up, keys)
    assert queue.keys() == ["a", "b", "c"], "the first run stays first"
    qtbot.keyClick(queue, Qt.Key.Key_Down)
    assert queue.keys() == ["a", "b", "c"] and queue.currentRow() == 1
    moved = queue.model().moveRow(queue.rootIndex(), 2, queue.rootIndex(), 0)  # as a drop does
    assert moved and queue.keys() == ["c", "a", "b"]


def test_only_unfinished_runs_can_be_waited_for(qtbot, studio, row, monkeypatch):
    state = RunsState(studio)
    state.rows = {run.id: run for run in [*waiting(row), row]}
    questions: list[object] = []
    monkeypatch.setattr("app.pages.runs.questions.confirm", lambda *args: questions.append(args))
    calls: list[object] = []
    monkeypatch.setattr(
        state.dispatcher, "start_after", lambda ids, before: calls.append((ids, before))
    )
    ask_after(None, state, [state.rows["b"]])
    (call,) = questions
    box, answer = call[5][0], call[4]
    assert isinstance(box, QComboBox)
    assert [box.itemData(n) for n in range(box.count())] == ["", "a", "c"]
    answer()
    assert calls == [(["b"], "a")]
