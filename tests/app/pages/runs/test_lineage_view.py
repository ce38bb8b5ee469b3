"""The lineage graph: navigated by keys and mouse, opened, copied and saved."""

import random
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSizeF, Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.pages.runs.lineage.picture import layout_graph
from app.pages.runs.lineage.state import MAX_SHOWN
from app.pages.runs.lineage.view import LineageView
from app.pages.runs.view import RunsPage
from engine.config.job import FromCheckpoint
from engine.files.shipped import minilm
from engine.messages import now
from engine.runs.exports import ExportNote, log_export
from engine.runs.lineage import Lineage, Node, export_key, model_key, run_key
from tests.app.accessible import assert_accessible
from tests.app.pages.runs.pages import HOSTILE, PATIENCE
from tests.engine.runs import fake_worker


@pytest.fixture
def chain(studio, make_run, tmp_path) -> tuple[str, str]:
    """A run from MiniLM, one from its checkpoint with a hostile name, and an export of it."""
    job = fake_worker.job("first")
    first = make_run(
        "first", job=job.model_copy(update={"base_model": FromCheckpoint(path=minilm())})
    )
    base = FromCheckpoint(path=studio.home.runs / first / "checkpoints" / "step-00000010")
    second = make_run(
        HOSTILE, job=job.model_copy(update={"name": HOSTILE, "base_model": base}), outcome="failed"
    )
    exported = tmp_path / "exported"
    exported.mkdir()
    checkpoint = studio.home.runs / second / "checkpoints" / "step-00000005"
    note = ExportNote(
        at=now(), checkpoint=checkpoint, folder=exported, form="onnx", precision="int8"
    )
    log_export(studio.home, note)
    return first, second


def open_lineage(page: RunsPage, key: str, qtbot: QtBot) -> LineageView:
    page.arrive({"lineage": key})
    view = page.lineage
    qtbot.waitUntil(lambda: view.picture.graph is not None, timeout=PATIENCE)
    qtbot.waitUntil(view.copy.isEnabled, timeout=PATIENCE)
    return view


def test_the_graph_is_navigated_by_keys_and_mouse_and_saved(
    make_page, studio, chain, qtbot, tmp_path
):
    first, second = map(run_key, chain)
    page = make_page()
    page.list.table.selectRow(1)
    assert page.list.selected()[0].id == chain[0]
    page.list.actions_.by_key["lineage"].trigger()
    view = open_lineage(page, first, qtbot)
    assert_accessible(view)
    state, picture = view.state, view.picture
    assert state.current == first and "first" in view.title.full_text()
    assert picture.accessibleDescription() == "first, Run, finished"
    assert [view.results.item(n).text() for n in range(view.results.count())] == [
        f"{HOSTILE} (Run, failed): checkpoint of step 10",
        "exported (Export, onnx, int8)",
    ]
    picture.setFocus()
    qtbot.keyClick(picture, Qt.Key.Key_Right)
    assert state.current == second and picture.accessibleDescription() == f"{HOSTILE}, Run, failed"
    qtbot.keyClick(picture, Qt.Key.Key_Right)
    assert state.current == export_key(tmp_path / "exported")
    qtbot.keyClick(picture, Qt.Key.Key_Right)
    assert state.current == export_key(tmp_path / "exported"), "nothing is further right"
    for _ in range(2):
        qtbot.keyClick(picture, Qt.Key.Key_Left)
    assert state.current == first
    qtbot.keyClick(picture, Qt.Key.Key_Left)
    before = state.current
    qtbot.keyClick(picture, Qt.Key.Key_Down)
    qtbot.keyClick(picture, Qt.Key.Key_Up)
    assert before in (model_key(minilm()), "files:data.csv")
    requests: list[tuple[str, object]] = []
    studio.navigate.connect(lambda key, argument: requests.append((key, argument)))
    state.select(model_key(minilm()))
    qtbot.keyClick(picture, Qt.Key.Key_Return)
    state.open("files:data.csv")
    assert requests == [("models", minilm())], "a missing file is not opened"
    state.select(second)
    qtbot.keyClick(picture, Qt.Key.Key_Return)
    assert requests[1:] == [("runs", {"run": chain[1]})]
    # the mouse selects and a double click opens
    view = open_lineage(page, first, qtbot)
    graph = view.picture.graph
    point = graph.boxes[second].center().toPoint()
    qtbot.mouseClick(view.picture, Qt.MouseButton.LeftButton, pos=point)
    assert view.state.current == second and view.kind.text() == "Run, failed"
    qtbot.mouseClick(view.picture, Qt.MouseButton.LeftButton, pos=QPoint(1, 1))
    assert view.state.current == second, "there is nothing outside the boxes"
    qtbot.mouseClick(view.centre, Qt.MouseButton.LeftButton)
    assert view.state.focus == second and not view.centre.isEnabled()
    studio.navigate.connect(lambda _, argument: page.arrive(argument))
    point = view.picture.graph.boxes[first].center().toPoint()
    QTest.mouseDClick(view.picture, Qt.MouseButton.LeftButton, pos=point)
    assert page.run is not None and page.run.state.run_id == chain[0]
    page.run.closed.emit()
    assert page.run is None and page.lineage is view and view.isVisible()
    view.closed.emit()
    assert page.lineage is None
    # the graph is saved and shows the nearest of many runs
    view = open_lineage(page, run_key(chain[1]), qtbot)
    qtbot.mouseClick(view.copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert f"Run “{HOSTILE}”" in copied and "Model “MiniLM”" in copied
    assert "spec.json, SHA-256 " in copied and "random seed 42" in copied
    figure = view.picture.figure()
    assert figure is not None and figure.table is not None
    assert ("first", "Run, finished", HOSTILE, "Run, failed", "checkpoint of step 10") in [
        *figure.table().rows
    ]
    image = QImage(figure.size, QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.white)
    painter = QPainter(image)
    figure.paint(painter, QSizeF(figure.size))
    painter.end()
    colours = {image.pixel(x, y) for x in range(0, image.width(), 3) for y in range(image.height())}
    assert len(colours) > 10
    view = open_lineage(page, run_key(chain[0]), qtbot)
    for number in range(2 * MAX_SHOWN):
        view.state.lineage.add(Node(str(number), "run", "r", "finished", Path("r")))
        view.state.lineage.connect(run_key(chain[0]), str(number))
    keys, total = view.state.nearest_nodes()
    assert len(keys) <= MAX_SHOWN + 1 and total > 2 * MAX_SHOWN
    assert model_key(minilm()) in keys
    view.state.changed.emit()
    assert f"The nearest {MAX_SHOWN} of {total} are shown." in view.summary.text()


def test_a_deleted_node_is_reported(make_page, qtbot):
    page = make_page()
    page.arrive({"lineage": run_key("nothing")})
    view = page.lineage
    qtbot.waitUntil(lambda: view.summary.text() == "This no longer exists.", timeout=PATIENCE)
    assert view.picture.figure() is None
    qtbot.keyClick(view.picture, Qt.Key.Key_Right)
    qtbot.keyClick(view.picture, Qt.Key.Key_Return)


def test_boxes_do_not_overlap_and_lines_go_right(qapp):
    rng = random.Random(3)
    lineage = Lineage()
    for number in range(60):
        lineage.add(Node(str(number), "run", f"run {number}", "finished", Path(str(number))))
    for a in range(60):
        for b in range(a + 1, 60):
            if rng.random() < 0.05:
                lineage.connect(str(a), str(b))
    graph = layout_graph(lineage, list(lineage.nodes))
    boxes = list(graph.boxes.values())
    assert len(boxes) == 60 and sum(map(len, graph.columns)) == 60
    for number, box in enumerate(boxes):
        assert not any(box.intersects(other) for other in boxes[:number])
        assert box.left() >= 0 and box.right() <= graph.size.width()
        assert box.top() >= 0 and box.bottom() <= graph.size.height()
    assert all(graph.boxes[e.source].right() < graph.boxes[e.target].left() for e in graph.edges)
