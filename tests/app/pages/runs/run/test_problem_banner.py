"""The problem of a run, with its advice."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from app.pages.runs.view import RunsPage
from app.studio import Studio
from engine.record.runs import run as find
from tests.app.pages.runs.conftest import MakeRun
from tests.app.pages.runs.pages import open_run


def test_a_failed_run_shows_its_problem_and_resumes_from_its_checkpoint(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = make_run("broken", upto=7, outcome="failed", problem="Memory ran out.")
    view = open_run(page(), run_id, qtbot)
    banner = view.banner
    assert not banner.isHidden()
    assert (banner.problem.text(), banner.advice.text()) == (
        "Memory ran out.",
        "Use a smaller batch size.",
    )
    assert banner.details.isHidden()
    qtbot.mouseClick(banner.open, Qt.MouseButton.LeftButton)
    assert "Traceback: in loop.py" in banner.details.toPlainText()
    assert not banner.details.isHidden()
    qtbot.mouseClick(banner.copy, Qt.MouseButton.LeftButton)
    assert (
        QGuiApplication.clipboard().text().startswith("Memory ran out.\nUse a smaller batch size.")
    )
    assert banner.resume.text() == "&Resume from step 5"
    wished: list[str] = []
    monkeypatch.setattr(studio.dispatcher, "resume", wished.append)
    qtbot.mouseClick(banner.resume, Qt.MouseButton.LeftButton)
    assert wished == [run_id]


def test_a_run_that_waits_for_disk_space_resumes_without_a_click(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = make_run("full", upto=7, outcome=None)
    monkeypatch.setattr("app.pages.runs.run.state.SILENCE_MS", 0)
    with studio.record.session() as session:
        found = find(session, run_id)
        assert found is not None
        found.state, found.problem, found.advice = "paused", "The disk is full.", "Free 3 MB."
    view = open_run(page(), run_id, qtbot)
    assert not view.banner.isHidden() and view.banner.resume.isHidden()
    assert view.banner.problem.text() == "The disk is full."
    assert view.header.stop.isEnabled() and not view.header.stop.isHidden()
    assert view.header.force_stop.isHidden()  # it is silent for a reason
