"""Empty panels show what they would show, and one press fills them."""

import pytest
from PySide6.QtWidgets import QPushButton

from app.pages.explore.panels import PANELS
from app.pages.explore.set_bar import SetBar
from app.pages.explore.set_work import SAMPLE_ROWS, sample_texts
from app.theme import set_text_size
from app.widgets.page import EmptyState
from engine.models.heads import Heads
from tests.app.cut import cut_texts
from tests.app.pages.explore.conftest import make_model

TEXT = "the cat sat on the mat"


@pytest.fixture
def page(make_page, home):
    make_model(home.models / "other", Heads(mlm=True))
    return make_page(make_model(home.models / "bert", Heads(mlm=True)), TEXT)


def empty_states(panel):
    """Those that are shown, unless an answer is awaited."""
    shown = [empty for empty in panel.findChildren(EmptyState) if empty.isVisible()]
    return [empty for empty in shown if not empty.title.text().startswith("Running")]


@pytest.mark.parametrize("panel_id", [panel().id for panel in PANELS])
def test_one_press_fills_an_empty_panel(page, workers, wait, panel_id):
    explore = page.state
    page.bench.set_offered(panel_id, True)
    page.bench.show_panel(panel_id)
    wait(lambda: page.bench.is_visible(panel_id))
    panel = page.bench.docks[panel_id].panel
    if panel_id == "words":
        explore.toggle_mask(2)
        explore.toggle_mask(2)
    if not empty_states(panel):
        return
    for empty in empty_states(panel):
        assert empty.title.text(), "what the panel shows"
    bars = [bar for bar in panel.findChildren(SetBar) if bar.isVisible()]
    own = [button for empty in empty_states(panel) for button in empty.findChildren(QPushButton)]
    (button,) = [b for b in (*own, *(bar.run for bar in bars)) if b.isVisible()]
    assert button.isEnabled()
    asked, questions = len(workers.questions), len(page._studio.explorer.questions)
    button.click()
    wait(
        lambda: (
            len(workers.questions) > asked
            or len(page._studio.explorer.questions) > questions
            or not empty_states(panel)
        )
    )
    if bars:
        assert explore.chosen == sample_texts()
        assert workers.questions[-1].texts.typed[0].label
        texts = page.bench.docks["texts"].panel if panel_id == "texts" else None
        assert texts is None or texts.typed.toPlainText().count("\n") == SAMPLE_ROWS - 1


def test_sample_texts_are_shown_as_typed_ones(page, wait):
    page.state.choose_texts(sample_texts())
    page.bench.show_panel("texts")
    view = page.bench.docks["texts"].panel
    assert view.rows.rowCount() == SAMPLE_ROWS and not empty_states(view)
    view.typed.setPlainText("one\ntwo")
    wait(lambda: page.state.chosen is not None and page.state.chosen.count == 2)


def test_no_panel_cuts_texts_at_150_per_cent(page, qapp, qtbot):
    try:
        set_text_size(qapp, 150)
        page.resize(1280 - 126, 800 - 54)
        for panel_id in (panel().id for panel in PANELS):
            page.bench.set_offered(panel_id, True)
            page.bench.show_panel(panel_id)
            qtbot.wait(20)
            assert list(cut_texts(page)) == [], panel_id
    finally:
        set_text_size(qapp, 100)
