"""Waiting runs are reordered by dragging rows of the table."""

import itertools
from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QMimeData, QObject, QPoint, Qt, QTimer, QUrl
from PySide6.QtGui import QCursor, QDrag, QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QWidget

from app.pages.runs.arranging import order_after_drop
from app.pages.runs.columns import Column
from app.pages.runs.rows import RunRow, read_rows
from app.pages.runs.view import RunsPage
from app.widgets.tables import NOWHERE
from tests.app.pages.runs.pages import change_run, names
from tests.conftest import END_TIMEOUT

TRIES = 5  # attempts to start a drag
NAMES = ("first", "second", "third", "fourth")


@pytest.fixture
def waiting(studio, make_run) -> list[str]:
    """Ids of four waiting runs, the next one first; a finished run is listed as well."""
    make_run("done")
    ids = [make_run(name, step=0, outcome=None) for name in NAMES]
    for row, run_id in enumerate(ids):
        change_run(studio, run_id, state="on hold", priority=-row, started=None)
    return ids


@pytest.fixture
def row(studio, make_run) -> RunRow:
    make_run("one")
    return read_rows(studio.record)[0]


def test_the_queue_follows_a_drop_between_two_rows(row):
    for moved, above, below, order in [
        ("c", "", "a", "cab"),
        ("a", "c", "", "bca"),
        ("ab", "c", "", "cab"),
        ("a", "b", "c", "bac"),
        ("a", "a", "b", None),  # unchanged
        ("b", "c", "x", "acb"),  # x is not waiting
        ("b", "x", "", None),
    ]:
        rows = {name: replace(row, id=name, state="queued") for name in "abc"}
        rows["x"] = replace(row, id="x", state="finished")
        result = order_after_drop("abc", list(moved), rows.get(above), rows.get(below))
        assert result == (None if order is None else list(order))


class EventLog(QObject):
    """Records the drop events of the table."""

    def __init__(self, port: QWidget) -> None:
        super().__init__(port)
        self.events: list[str] = []
        self.position: QPoint | None = None  # a position that accepts the drop
        port.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QDropEvent):  # entered, moved, dropped
            self.events.append(f"{event.type().name} at {event.position().toTuple()}")
            self.position = event.position().toPoint()
        return False


def drag(page: RunsPage, run_id: str, target: QPoint) -> EventLog:
    """Press on a row, move to a position of the table, release there.

    Waits with the release until the table has received the position. Tries again if no drag
    started because the screen was not ready.
    """
    table = page.list.table
    port, window = table.viewport(), page.windowHandle()
    column = page.list.model.column(Column.NAME)
    index = page.list.model.index(page.list.model.find_row(run_id), column)
    start = table.visualRect(index).center()
    log = EventLog(port)
    fractions = itertools.cycle((0.5, 1.0))

    def to_page(point: QPoint) -> QPoint:
        return port.mapTo(page, point)

    def advance() -> None:  # in the loop of the drag
        if not table.findChildren(QDrag):
            return
        QTest.mouseMove(window, to_page(start + (target - start) * next(fractions)))
        if log.position == target:
            clock.stop()
            QTest.mouseRelease(window, Qt.MouseButton.LeftButton, pos=to_page(target))

    clock = QTimer(page)
    clock.timeout.connect(advance)
    clock.start(10)
    for _ in range(TRIES):
        QTest.mousePress(window, Qt.MouseButton.LeftButton, pos=to_page(start))
        QTest.mouseMove(window, to_page(start + QPoint(0, 2)))
        QTest.mouseMove(window, to_page(start + QPoint(0, 3 * QApplication.startDragDistance())))
        QTest.qWait(500)  # ms; a drag ends within this time
        if log.events:
            break
        QTest.mouseRelease(window, Qt.MouseButton.LeftButton, pos=to_page(start))
    return log


@pytest.mark.gui
def test_a_run_is_dragged_to_another_position_in_the_queue(make_page, studio, waiting, qtbot):
    """On a real screen: Qt cannot drag offscreen."""
    QCursor.setPos(QApplication.primaryScreen().geometry().bottomRight())  # out of the way
    studio.dispatcher.begin()
    page = make_page()
    qtbot.waitUntil(page.isActiveWindow, timeout=1000 * END_TIMEOUT)
    model, table = page.list.model, page.list.table
    first = model.index(model.find_row(waiting[0]), 0)
    log = drag(page, waiting[3], table.visualRect(first).bottomLeft() + QPoint(40, -1))

    def is_moved() -> None:
        assert names(page) == ["first", "fourth", "second", "third", "done"], log.events

    qtbot.waitUntil(is_moved, timeout=1000 * END_TIMEOUT)


def test_a_drop_in_the_table_changes_the_queue(make_page, studio, waiting, qtbot):
    studio.dispatcher.begin()
    page = make_page()
    model = page.list.model
    assert names(page) == ["first", "second", "third", "fourth", "done"], "the next one is on top"
    queued = [model.index(model.find_row(run_id), 0) for run_id in (waiting[3], waiting[1])]
    done = model.index(model.find_row("run0"), 0)
    data, move = model.mimeData([*queued, done]), Qt.DropAction.MoveAction
    assert not model.canDropMimeData(data, move, -1, -1, NOWHERE), "below a finished run"
    assert not model.canDropMimeData(QMimeData(), move, 0, 0, NOWHERE)
    row = model.find_row(waiting[0])
    assert model.canDropMimeData(data, move, row + 1, 0, NOWHERE)
    model.dropMimeData(data, move, row + 1, 0, NOWHERE)
    qtbot.waitUntil(lambda: names(page) == ["first", "second", "fourth", "third", "done"])


def test_only_queued_runs_in_queue_order_can_be_dragged(make_page, waiting, qtbot):
    page = make_page()
    model = page.list.model
    drags = Qt.ItemFlag.ItemIsDragEnabled

    def can_be_dragged() -> list[str]:
        rows = range(model.rowCount())
        indices = [model.index(row, model.column(Column.NAME)) for row in rows]
        return [str(index.data()) for index in indices if model.flags(index) & drags]

    assert sorted(can_be_dragged()) == sorted(NAMES)
    page.list.sort_by(Column.NAME)
    assert can_be_dragged() == []
    page.list.sort_by(Column.STARTED)
    assert names(page) == ["done", *NAMES] and len(can_be_dragged()) == 4
    page.list.group_by([Column.TASK])
    assert can_be_dragged() == []


def test_a_dragged_file_is_left_to_the_window(make_page, waiting, qtbot):
    files = QMimeData()
    files.setUrls([QUrl.fromLocalFile("/tmp/run")])
    copy, button = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    no_modifier = Qt.KeyboardModifier.NoModifier
    event = QDragEnterEvent(QPoint(30, 30), copy, files, button, no_modifier)
    QApplication.sendEvent(make_page().list.table.viewport(), event)
    assert not event.isAccepted()
