"""The order of the queue by drag and keys, and after which run others start."""

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox
from pytestqt.qtbot import QtBot

from app.pages.runs.questions import QueueList, ask_after
from app.pages.runs.rows import RunRow, read_rows
from app.pages.runs.state import RunsState
from app.studio import Studio
from tests.app.pages.runs.conftest import MakeRun


@pytest.fixture
def row(studio: Studio, make_run: MakeRun) -> RunRow:
    make_run("one")
    return read_rows(studio.record)[0]


def waiting(row: RunRow) -> list[RunRow]:
    return [replace(row, id=name, name=name, state="queued") for name in "abc"]


def test_runs_are_moved_by_keys_and_by_dragging(qtbot: QtBot, row: RunRow) -> None:
    queue = QueueList(waiting(row))
    qtbot.addWidget(queue)
    keys = Qt.KeyboardModifier.ControlModifier
    qtbot.keyClick(queue, Qt.Key.Key_Down, keys)
    assert queue.ids() == ["b", "a", "c"] and queue.currentItem().text() == "a"
    qtbot.keyClick(queue, Qt.Key.Key_Up, keys)
    qtbot.keyClick(queue, Qt.Key.Key_Up, keys)
    assert queue.ids() == ["a", "b", "c"], "the first stays the first"
    qtbot.keyClick(queue, Qt.Key.Key_Down)
    assert queue.ids() == ["a", "b", "c"] and queue.currentRow() == 1
    moved = queue.model().moveRow(queue.rootIndex(), 2, queue.rootIndex(), 0)  # as a drop does
    assert moved and queue.ids() == ["c", "a", "b"]


def test_only_runs_that_are_not_over_can_be_waited_for(
    qtbot: QtBot, studio: Studio, row: RunRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = RunsState(studio)
    state.rows = {one.id: one for one in [*waiting(row), row]}
    asked: list[object] = []
    monkeypatch.setattr("app.pages.runs.questions.ask", lambda *said: asked.append(said))
    told: list[object] = []
    monkeypatch.setattr(
        state.dispatcher, "start_after", lambda ids, before: told.append((ids, before))
    )
    ask_after(None, state, [state.rows["b"]])  # type: ignore[arg-type]
    (said,) = asked
    box, answer = said[5][0], said[4]  # type: ignore[index]
    assert isinstance(box, QComboBox)
    assert [box.itemData(n) for n in range(box.count())] == ["", "a", "c"]
    answer("cancel")
    answer("save")
    assert told == [(["b"], "a")]
