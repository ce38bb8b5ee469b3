"""A run trained elsewhere is dropped on the window and imported."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDropEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.pages.runs.view import RunsPage
from app.window import MainWindow
from engine.messages.events import Ended, Prepared, Started, measured
from engine.runs import copying
from engine.runs.folder import RunFolder
from tests.app.pages.runs.pages import PATIENCE, names, open_run
from tests.engine.runs import fake_worker


@pytest.fixture
def window(qtbot, studio) -> Iterator[MainWindow]:
    studio.dispatcher.begin()
    window = MainWindow(studio)
    qtbot.addWidget(window)
    with qtbot.waitExposed(window):
        window.show()
    yield window
    window.studio.settings.set("ask_on_close", False)
    window.close()


@pytest.fixture
def foreign_run(tmp_path) -> RunFolder:
    """The folder of a run that two processes trained on another machine."""
    folder = RunFolder.create(tmp_path / "elsewhere" / "far", fake_worker.job("from afar"))
    with folder.lock():
        folder.append(Started(pid=1, host="another"))
        started = {"steps": 6, "parameters": 9, "examples": 9, "device": "cuda", "threads": 4}
        folder.append(Prepared.model_validate(started | {"processes": 2}))
        for step in range(1, 7):
            folder.append(measured("loss", step, 2 / step))
            folder.append(measured("tokens_per_second", step, 2e6))
        fake_worker.save(folder, 3, best=True)
        fake_worker.save(folder, 6)
        folder.append(Ended(outcome="finished", step=6))
    return folder


def drop(window: MainWindow, folder: Path) -> None:
    """Send the drop events that the window system sends."""
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(folder))])
    copy, left = Qt.DropAction.CopyAction, Qt.MouseButton.LeftButton
    no_modifier = Qt.KeyboardModifier.NoModifier
    entering = QDragEnterEvent(QPoint(300, 300), copy, data, left, no_modifier)
    QApplication.sendEvent(window, entering)
    assert entering.isAccepted()
    dropping = QDropEvent(QPointF(300, 300), copy, data, left, no_modifier)
    QApplication.sendEvent(window, dropping)
    assert dropping.isAccepted()


def runs_page(window: MainWindow) -> RunsPage:
    page = window.pages["runs"]
    assert isinstance(page, RunsPage)
    return page


def dismiss(window: MainWindow, qtbot: QtBot, text: str) -> str:
    """Close the notice with this text; returns its problem and advice."""
    notices = window.studio.notices
    qtbot.waitUntil(lambda: any(text in n.problem for n in notices.shown), timeout=PATIENCE)
    notice = next(n for n in notices.shown if text in n.problem)
    notices.close(notice)
    return f"{notice.problem} {notice.advice}"


def test_a_run_folder_is_dropped_on_any_page(window, foreign_run, qtbot, studio):
    window.go("data")
    drop(window, foreign_run.path)
    qtbot.waitUntil(lambda: window.current == "runs", timeout=PATIENCE)
    page = runs_page(window)
    qtbot.waitUntil(lambda: names(page) == ["from afar"], timeout=PATIENCE)
    qtbot.waitUntil(lambda: [row.id for row in page.list.selected()] == ["far"], timeout=PATIENCE)
    assert page.list.copying.isHidden()
    assert (studio.home.runs / "far" / "events.jsonl").is_file() and foreign_run.path.is_dir()
    view = open_run(page, "far", qtbot)
    assert "Step 6 of 6" in view.header.status.full_text()
    assert view.details.facts.values["Processes"].text() == "2"
    assert view.checkpoints.table.model().rowCount() == 2

    window.go("data")
    drop(window, foreign_run.path)
    assert "in the folder far" in dismiss(window, qtbot, "already in the list of runs")
    assert sorted(f.name for f in studio.home.runs.iterdir()) == ["far"]


def test_other_and_newer_folders_are_refused(window, tmp_path, qtbot, foreign_run, studio):
    (tmp_path / "holiday").mkdir()
    drop(window, tmp_path / "holiday")
    assert "a run folder" in dismiss(window, qtbot, "does not recognise holiday")
    with open(foreign_run.events_file, "ab") as file:
        file.write(b'{"kind":"teleported","at":"2030-01-01T00:00:00Z"}\n')
    drop(window, foreign_run.path)
    assert "Install the latest" in dismiss(window, qtbot, "does not understand 1 of its events")
    job = foreign_run.spec_file.read_text()
    foreign_run.spec_file.write_text(job.replace('"name"', '"holographic": true, "name"', 1))
    drop(window, foreign_run.path)
    assert "newer BERT Studio" in dismiss(window, qtbot, "settings that this version does not know")
    assert not any(studio.home.runs.iterdir())


def test_a_long_copy_is_shown_and_can_be_cancelled(window, foreign_run, qtbot, studio, monkeypatch):
    (foreign_run.checkpoint(6) / "model.safetensors").write_bytes(bytes(200_000))
    monkeypatch.setattr(copying, "COPY_CHUNK", 1000)
    original = copying._copy

    def slow_copy(file: Path, target: Path) -> Iterator[int]:
        for count in original(file, target):
            time.sleep(0.02)
            yield count

    monkeypatch.setattr(copying, "_copy", slow_copy)
    drop(window, foreign_run.path)
    qtbot.waitUntil(lambda: "runs" in window.pages, timeout=PATIENCE)
    line = runs_page(window).list.copying
    qtbot.waitUntil(lambda: line.bar.value() > 0, timeout=PATIENCE)
    assert line.isVisible() and "far" in line.stage.text()
    qtbot.mouseClick(line.cancel, Qt.MouseButton.LeftButton)
    assert line.isHidden()
    qtbot.waitUntil(lambda: not any(studio.home.runs.iterdir()), timeout=PATIENCE)
    drop(window, foreign_run.path)
    qtbot.waitUntil(line.isVisible, timeout=PATIENCE)
    monkeypatch.setattr(copying, "_copy", original)
