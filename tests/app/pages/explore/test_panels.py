"""The table of panels: each description is complete."""

import ast
from pathlib import Path

import pytest

from app import resources
from app.pages.explore import panels, view
from app.pages.explore.captions import source
from app.pages.explore.panels import DEFAULT_PANEL, PANELS
from app.pages.explore.view import ExplorePage
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.help_topics import concept
from engine.messages.question import parse_answer
from engine.worker.answerers import ANSWERERS, exact_answerer
from engine.worker.questions import parse_among
from tests.app.pages.explore import counting

DESCRIPTIONS = [panel() for panel in PANELS]


@pytest.fixture
def page(make_page, model) -> ExplorePage:
    """With “the cat sat” and its model, at rest, “cat” masked and picked."""
    new_page = make_page(model, "the cat sat", (1180, 720), "a dog")
    new_page.state.pick(2)
    new_page.state.toggle_mask(2)
    return new_page


def test_every_folder_of_panels_is_registered():
    folders = {folder.parent.name for folder in Path(panels.__file__).parent.glob("*/view.py")}
    assert folders == {description.id for description in DESCRIPTIONS}
    assert len({description.title for description in DESCRIPTIONS}) == len(DESCRIPTIONS)
    assert DEFAULT_PANEL in folders


def test_each_panel_has_a_title_an_icon_and_a_help_page(qapp):
    for description in DESCRIPTIONS:
        assert description.title[0].isupper()
        assert not resources.icon(description.icon).isNull(), description.id
        assert concept(description.help).text


def test_each_panel_is_in_the_menu_and_its_figures_name_their_source(page, explorer, wait):
    """The worker's own functions answer the questions of each panel."""
    bench = page.bench
    menu = bench.menu()
    menu.aboutToShow.emit()
    titles = [action.text().replace("&", "") for action in menu.actions()]
    for description in DESCRIPTIONS:
        key, count = (
            description.id,
            len(explorer.questions) if description.id != DEFAULT_PANEL else 0,
        )
        bench.set_offered(key, True)
        bench.show_panel(key)
        wait(lambda key=key: bench.is_visible(key))
        assert bench.docks[key].help.toolTip(), key
        assert description.title in titles
        assert (key in page.toggles) == (not description.is_open)
        while count < len(explorer.questions):
            explorer.compute(explorer.questions[count])
            count += 1
        buttons = bench.docks[key].panel.findChildren(FigureButton)
        assert bool(buttons) == (key != "history")
        if buttons and description.is_offered(page.state) and not description.works_on_texts:
            wait(lambda buttons=buttons: any(button.figure() for button in buttons))
        for figure in filter(None, (button.figure() for button in buttons)):
            assert figure.caption.endswith(source(page.state)), key


def test_the_page_imports_no_panel():
    """A panel is in its own folder; only the table knows which exist."""
    for file in Path(panels.__file__).parents[1].glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert not node.module.startswith("app.pages.explore.panels."), file.name


def test_a_third_party_panel_is_shown_and_answered(make_page, model, explorer, wait, monkeypatch):
    """It needs its folder, its question and answer, and a line in each of two tables."""
    monkeypatch.setattr(view, "PANELS", (*PANELS, counting.panel))
    monkeypatch.setitem(ANSWERERS, counting.CountLetters, exact_answerer(counting.count))
    page = make_page(model, "the cat sat")
    page.bench.show_panel("counting")
    panel = page.bench.docks["counting"].panel
    for text, shown in (("the cat sat", "9 letters, 3 layers"), ("the mat", "6 letters, 3 layers")):
        page.state.set_texts(text)
        wait(lambda text=text: explorer.of_kind("count_letters")[-1].text == text)
        sent = explorer.of_kind("count_letters")[-1]
        read = parse_among(sent.model_dump_json().encode(), ANSWERERS)
        answer = explorer.compute(read)
        assert read == sent and panel.label.text() == shown
        assert parse_answer(answer.model_dump_json().encode(), sent) == answer
