"""The log of a run."""

from collections.abc import Callable

from pytestqt.qtbot import QtBot

from app.pages.runs.view import RunsPage
from app.studio import Studio
from tests.app.pages.runs.conftest import MakeRun
from tests.app.pages.runs.pages import open_run


def test_what_was_read_before_is_in_the_log(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    view = open_run(page(), make_run("one"), qtbot)
    qtbot.waitUntil(lambda: "2 texts were truncated" in view.state.log)
    view.tabs.setCurrentWidget(view.log)
    assert view.log.made.text.toPlainText() == view.state.log


def test_the_log_follows_only_for_those_who_are_at_its_end(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one")
    view = open_run(page(), run_id, qtbot)
    log = studio.home.runs / run_id / "worker.log"
    log.write_text("\n".join(f"line {n}" for n in range(500)))
    view.tabs.setCurrentWidget(view.log)
    text = view.log.made.text
    qtbot.waitUntil(lambda: "line 499" in text.toPlainText())
    bar = text.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    log.write_text("\n".join(f"line {n}" for n in range(600)))
    qtbot.waitUntil(lambda: "line 599" in text.toPlainText())
    assert bar.value() == 100
