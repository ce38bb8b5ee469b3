"""Heads are switched off in the overview, and every panel shows the effect."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.pages.explore.captions import source
from tests.app.accessible import assert_accessible


@pytest.fixture
def page(make_page, model):
    return make_page(model, "the cat sat on the mat")


@pytest.fixture
def grid(page, explorer, wait):
    page.bench.show_panel("attention")
    wait(lambda: bool(explorer.of_kind("attend")))
    explorer.compute(explorer.of_kind("attend")[-1])
    grid = page.bench.docks["attention"].panel.overview.grid
    wait(lambda: grid.grid_shape == (3, 2))
    return grid


def test_predictions_change_when_a_head_is_switched_off(
    page, grid, explorer, workers, wait, qtbot, model, classifier
):
    """Three actions: a word is masked, Alt and a click, and the panel of predictions."""
    page.state.toggle_mask(2)  # 1
    point = grid.cell(1, 1).center().toPoint()
    qtbot.mouseClick(grid, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.AltModifier, point)  # 2
    assert page.state.first.heads_off == ((1, 1),) and page.state.is_compared
    assert (page.state.layer, page.state.head) == (0, 0), "nothing else is selected"
    wait(lambda: page.state.is_settled)
    page.bench.show_panel("words")  # 3
    wait(lambda: len({q.side for q in explorer.of_kind("fill_mask") if q.masked}) == 2)
    questions = {q.side: q for q in explorer.of_kind("fill_mask") if q.masked}
    assert [questions[side].heads_off for side in (0, 1)] == [((1, 1),), ()]
    assert questions[0].checkpoint == questions[1].checkpoint == model
    after, before = (explorer.compute(questions[side]) for side in (0, 1))
    probabilities = [answer.predictions[0].ranked[0].probability for answer in (after, before)]
    assert probabilities[0] != pytest.approx(probabilities[1], abs=1e-9)
    assert "Heads 2.2 ablated; compared with tiny (intact)." in page.comparison.status.full_text()
    # the later questions ask for the probabilities of the other side's predictions
    for question in explorer.of_kind("fill_mask")[-4:]:
        explorer.compute(question)
    view = page.bench.docks["words"].panel.predictions
    label = before.predictions[0].ranked[0].label
    bar = next(bar for bar in view.cards[0].bars.shown if bar.label == label)
    intact, ablated = bar.probability, bar.second
    assert intact == before.predictions[0].ranked[0].probability
    assert ablated - intact != 0 and bar.difference[0] == ("+" if ablated > intact else "−")
    names = (
        "Upper bars: tiny (intact). Lower bars: tiny (ablated: 2.2). Last column: ablated − inta"
    )
    assert names in view.models.text()
    assert page.state.in_order("ablated", "intact") == ("intact", "ablated")
    assert grid_titles(page) == ["Ablated", "Intact"]
    assert "Ablated heads: 2.2." in source(page.state)
    assert "Ablated" not in source(page.state, 1)
    assert_accessible(page.bench.docks["attention"].panel)
    page.state.switch_head(1, 1)
    assert_head_is_replaced_by_mean(page, wait, explorer)
    # slow means report progress until zero is chosen
    page.state.switch_head(0, 0)
    workers.is_held = True
    page.means.choose("mean")
    assert page.means.replacement == "mean" and "Computing the means" in status_text(page)
    page.means.choose("zero")
    assert page.means.replacement == "zero" and "Computing" not in status_text(page)
    page.state.switch_head(0, 0)
    assert_heads_are_switched_on(page, qtbot, wait, classifier)


def grid_titles(page) -> list[str]:
    group = page.bench.docks["attention"].panel.overview.models.group
    return [button.text() for button in group.buttons()]


def status_text(page) -> str:
    return page.comparison.status.full_text()


def assert_head_is_replaced_by_mean(page, wait, explorer):
    """Zero at first; the mean once it is computed over chosen texts."""
    box = page.comparison.replacement
    assert not box.isVisible()
    page.state.switch_head(1, 1)
    assert box.isVisible() and not box.isEnabled() and "Texts panel" in box.toolTip()
    page.bench.docks["texts"].panel.typed.setPlainText("the cat\na dog sat")
    wait(lambda: page.state.chosen is not None and page.state.chosen.count == 2)
    assert box.isEnabled()
    box.setFocus()
    QTest.keyClick(box, Qt.Key.Key_Down)
    wait(lambda: page.state.first.ablation["head_means"] is not None)
    text = "Ablation: mean over 2 text(s) of the typed list."
    assert text in page.comparison.status.full_text() and text in source(page.state)
    assert text not in source(page.state, 1)
    page.bench.show_panel("words")
    wait(lambda: {q.head_means is None for q in explorer.of_kind("fill_mask") if q.heads_off})
    question = [q for q in explorer.of_kind("fill_mask") if q.heads_off and q.masked][-1]
    other = question.model_copy(update={"head_means": None})
    mean, zero = (explorer.compute(q).predictions[0].ranked[0] for q in (question, other))
    assert question.head_means is not None and mean.probability != zero.probability
    QTest.keyClick(box, Qt.Key.Key_Up)
    assert page.state.first.ablation["head_means"] is None and "Ablation: mean" not in status_text(
        page
    )
    QTest.keyClick(box, Qt.Key.Key_Down)
    wait(lambda: page.state.first.ablation["head_means"] is not None)
    page.state.switch_head(1, 1)
    assert page.state.means_texts is None, "all heads are on again"
    assert_accessible(page.comparison)


def assert_heads_are_switched_on(page, qtbot, wait, classifier):
    """By button, comparison and model."""
    switch = page.bench.docks["attention"].panel.overview.switch
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert page.state.first.heads_off == ((0, 0),)
    wait(lambda: page.state.is_settled)
    qtbot.mouseClick(switch, Qt.MouseButton.LeftButton)
    assert page.state.first.heads_off == () and not page.state.is_compared
    page.state.switch_head(2, 1)
    page.state.switch_head(0, 1)
    assert page.state.first.heads_off == ((0, 1), (2, 1))
    page.state.switch_head(0, 1)
    assert page.state.first.heads_off == ((2, 1),) and page.state.is_compared
    qtbot.mouseClick(page.comparison.end, Qt.MouseButton.LeftButton)
    assert page.state.first.heads_off == () and not page.state.is_compared
    page.state.switch_head(1, 0)
    page.choose(classifier)
    wait(lambda: page.state.first.checkpoint == classifier and page.state.is_settled)
    assert page.state.first.heads_off == () and not page.state.is_compared
