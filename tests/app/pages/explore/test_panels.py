"""The table of panels: everybody who needs something of a panel finds it in its description."""

import ast
import sys
from pathlib import Path

import pytest

from app import resources
from app.pages.explore import panels, view
from app.pages.explore.captions import source
from app.pages.explore.panels import FRONT, PANELS
from app.pages.explore.view import ExplorePage
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.help_topics import concept
from engine.runs import launch
from tests.app.pages.explore import counting

LATER = 120_000  # ms; a worker loads torch first, maybe on a busy machine
EVERY = [panel() for panel in PANELS]
each = pytest.mark.parametrize("described", EVERY, ids=lambda described: described.id)


@pytest.fixture
def page(qtbot, workshop, model, wait) -> ExplorePage:
    """With “the cat sat” and its model, at rest, “cat” masked and picked."""
    made = ExplorePage(workshop)
    qtbot.addWidget(made)
    made.resize(1180, 720)
    made.show()
    made.arrive({"text": "the cat sat", "pair": "a dog"})
    wait(lambda: made.state.is_settled and made.state.first.pair == "a dog")
    made.state.pick(2)
    made.state.toggle_mask(2)
    return made


def test_every_folder_of_panels_stands_in_the_table():
    folders = {folder.parent.name for folder in Path(panels.__file__).parent.glob("*/view.py")}
    assert folders == {described.id for described in EVERY}
    assert len({described.title for described in EVERY}) == len(EVERY)
    assert FRONT in folders


@each
def test_a_panel_has_a_title_an_icon_and_a_page_of_help(described):
    assert described.title[0].isupper()
    assert not resources.icon(described.icon).isNull()
    assert concept(described.help).text


@each
def test_the_workbench_shows_it_and_its_menu_names_it(page, described, wait):
    bench, key = page.bench, described.id
    bench.set_offered(key, True)
    bench.show_panel(key)
    wait(lambda: bench.is_seen(key))
    assert bench.docks[key].help.toolTip()
    menu = bench.menu()
    menu.aboutToShow.emit()
    assert described.title in [action.text().replace("&", "") for action in menu.actions()]
    assert (key in page.toggles) == (not described.is_open)


@each
def test_every_figure_says_where_its_numbers_come_from(page, described, explorer, wait):
    """Each question of the panel is answered by the worker's own functions."""
    bench, key = page.bench, described.id
    bench.set_offered(key, True)
    bench.show_panel(key)
    wait(lambda: bench.is_seen(key))
    for question in explorer.asked:
        explorer.truly(question)
    buttons = bench.panels[key].findChildren(FigureButton)
    assert bool(buttons) == (key != "history")
    if buttons and described.is_offered(page.state) and not described.works_on_texts:
        wait(lambda: any(button._make() for button in buttons))
    for figure in filter(None, (button._make() for button in buttons)):
        assert figure.caption.endswith(source(page.state))


def test_the_page_names_no_panel():
    """What a panel needs stands in its own folder; only the table knows which there are."""
    for file in Path(panels.__file__).parents[1].glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith("app.pages.explore.panels."), file.name


def test_a_panel_from_outside_is_shown_and_answered(qtbot, studio, model, monkeypatch):
    """Its folder, its question and answer, a line in each of the two tables: nothing else."""
    monkeypatch.setattr(view, "PANELS", (*PANELS, counting.panel))
    monkeypatch.setattr(
        launch, "worker", lambda *given: [sys.executable, "-c", counting.WORKER, given[-1]]
    )
    page = ExplorePage(studio)
    qtbot.addWidget(page)
    page.resize(1180, 720)
    page.show()
    page.arrive({"text": "the cat sat"})
    qtbot.waitUntil(lambda: page.state.is_settled and page.state.first.text == "the cat sat")
    page.bench.show_panel("counting")
    shown = page.panels["counting"]
    qtbot.waitUntil(lambda: shown.label.text() == "9 letters, 3 layers", timeout=LATER)
    page.state.set_texts("the mat")
    qtbot.waitUntil(lambda: shown.label.text() == "6 letters, 3 layers", timeout=LATER)
