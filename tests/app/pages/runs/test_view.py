from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QMenu
from pytestqt.qtbot import QtBot

from app.pages.runs.columns import Column
from app.pages.runs.rows import RunRow
from app.pages.runs.table import ROW_ROLE
from app.pages.runs.view import RunsPage
from app.studio import Studio
from app.theme import Choice
from engine.runs.folder import RunFolder
from tests.app.accessible import assert_accessible
from tests.app.pages.runs.conftest import MakeRun
from tests.app.pages.runs.pages import HOSTILE, PATIENCE, names, open_run
from tests.engine.runs import fake_worker


def test_a_dropped_run_folder_is_copied_in(
    page: Callable[[], RunsPage], studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:

    folder = RunFolder.create(tmp_path / "elsewhere", fake_worker.job("from afar"))
    studio.dispatcher.begin()
    shown = page()
    assert not shown.accept_drop([tmp_path])
    assert shown.accept_drop([folder.path])
    qtbot.waitUntil(lambda: names(shown) == ["from afar"], timeout=PATIENCE)


def test_an_unknown_run_leads_back_to_all_runs(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    make_run("one")
    shown = page()
    shown.arrive({"run": "gone"})
    qtbot.waitUntil(lambda: shown.run is None)
    assert names(shown) == ["one"]


def test_names_with_markup_are_shown_as_they_are(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run(HOSTILE, upto=7, outcome="failed", problem=f"Wrong: {HOSTILE}")
    shown = page()
    assert names(shown) == [HOSTILE]
    view = open_run(shown, run_id, qtbot)
    assert view.header.name.whole() == HOSTILE
    assert view.banner.problem.text() == f"Wrong: {HOSTILE}"
    for label in shown.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText or HOSTILE not in label.text()
    tip = shown.list.model.index(0, shown.list.model.column(Column.NAME)).data(
        Qt.ItemDataRole.ToolTipRole
    )
    assert "<img" not in tip and "&lt;img" in tip
    view.header.more.click()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.close()


def test_everything_has_a_name(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one", upto=7, outcome="failed", problem="Wrong.")
    shown = page()
    assert_accessible(shown)
    open_run(shown, run_id, qtbot)
    assert_accessible(shown)


def test_both_pages_draw_themselves_in_both_themes(
    page: Callable[[], RunsPage],
    make_run: MakeRun,
    qtbot: QtBot,
    looks: Callable[[Choice], None],
    screen: Any,
) -> None:
    run_id = make_run("one", upto=7, outcome="failed", problem="Memory ran out.", not_finite=[3])
    shown = page()
    themes: tuple[Choice, ...] = ("light", "dark")
    for theme in themes:
        looks(theme)
        shown.show_all()
        assert isinstance(shown.list.table.model().index(0, 0).data(ROW_ROLE), RunRow)
        screen(shown, f"runs-list-{theme}")
        view = open_run(shown, run_id, qtbot)
        for tab in range(view.tabs.count()):
            view.tabs.setCurrentIndex(tab)
            screen(shown, f"run-{tab}-{theme}")
