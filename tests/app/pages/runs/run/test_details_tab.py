"""Details and notes of a run."""

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from app.pages.runs.view import RunsPage
from app.studio import Studio
from tests.app.pages.runs.conftest import MakeRun
from tests.app.pages.runs.pages import HOSTILE, names, open_run, row_of


def test_notes_are_kept_and_found(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one")
    shown = page()
    view = open_run(shown, run_id, qtbot)
    view.details.notes.setPlainText(f"remember {HOSTILE}")
    shown.show_all()
    qtbot.waitUntil(lambda: row_of(studio, run_id).notes == f"remember {HOSTILE}")
    qtbot.waitUntil(lambda: bool(shown.state.rows[run_id].notes))
    qtbot.keyClicks(shown.list.search, "remember")
    assert names(shown) == ["one"]
    assert open_run(shown, run_id, qtbot).details.notes.toPlainText() == f"remember {HOSTILE}"
