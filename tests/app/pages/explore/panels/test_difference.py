"""Differences of two models in the window."""

import numpy as np
import pytest
import torch
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.library import describe_model
from app.pages.explore.captions import source
from app.pages.explore.panels.difference.view import make_cka_figure, make_figure, make_texts_figure
from app.widgets.charts import figure as figures
from engine.models.checkpoint import load, write
from tests.app.accessible import assert_accessible

TEXTS = ("the cat sat", "a dog . the mat", "unhappy cats sat on the mat")


@pytest.fixture
def tuned(home, classifier):
    """The classifier after some training steps."""
    loaded = load(classifier)
    torch.manual_seed(4)
    with torch.no_grad():
        for parameter in loaded.network.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.005)
    path = home.models / "zzz-tuned"
    path.mkdir()
    write(path, loaded.network, loaded.tokenizer, loaded.labels)
    return describe_model("tuned", path, "imported")


@pytest.fixture
def page(make_page, classifier):
    return make_page(classifier, size=(1016, 664))


def test_a_fine_tuned_model_is_compared_with_its_origin(
    page, choose_texts, tuned, entry, wait, qtbot
):
    """Six actions: texts, a second model, the panel, Compare, a column, and a text."""
    choose_texts(page, *TEXTS)  # 1
    page.bench.show_panel("difference")  # 2
    view = page.bench.docks["difference"].panel
    assert view.bar.run.isEnabled(), "the press chooses a second model, too"
    page.state.compare(tuned)  # 3
    wait(lambda: page.state.is_settled)
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)  # 4
    wait(lambda: view._state.answer is not None and not view._state.work.is_running)
    wait(lambda: len(view._state.rows) == 3)
    assert view.grid.values.shape == (3, 2) and (view.grid.values > 0).all()
    assert len(view.layers.rows.rows) == 4 and len(view.texts.rows.rows) == 3
    assert view.texts.isVisible() and not view.no_predictions.isVisible()
    changes = [float(row[-1]) for row in view.texts.rows.rows]
    assert changes == sorted(changes, reverse=True)
    assert "CKA is uncertain with fewer than 2,000" in view.note.text()
    view.column.setFocus()
    QTest.keyClick(view.column, Qt.Key.Key_Down)  # 5
    assert view._state.is_signed and (view.grid.values < 0).any()
    plot = make_figure(view._state)
    assert plot.caption.endswith(source(page.state)) and "A: zz-classes. B: tuned." in plot.caption
    assert np.array_equal(plot.array, view.grid.values) and len(plot.table().rows) == 6
    assert b"Layer" in figures.svg(plot)
    cka_figure = make_cka_figure(view._state)
    assert len(cka_figure.table().rows) == 4 and b"CKA" in figures.svg(cka_figure)
    saved = make_texts_figure(view._state)
    texts = [row[1] for row in saved.table().rows]
    assert texts == [view._state.rows[text][0] for text in view.order]
    assert saved.caption.endswith(source(page.state)) and b"unhappy" in figures.svg(saved)
    view.texts.setFocus()
    view.texts.selectRow(0)
    QTest.keyClick(view.texts, Qt.Key.Key_Return)  # 6
    wait(lambda: page.state.first.text == view._state.rows[view.order[0]][0])
    assert page.state.is_compared
    assert_accessible(view)
    # unrelated models are not compared by heads
    page.state.compare(entry)
    wait(lambda: page.state.is_settled)
    assert view._state.answer is None
    wait(view.bar.run.isEnabled)
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: view._state.answer is not None and not view._state.work.is_running)
    assert "do not correspond" in view.note.text() and not view.grid.isEnabled()
    assert len(view.layers.rows.rows) == 4 and make_figure(view._state).name == "cka"
    assert view.no_predictions.isVisible() and not view.texts.isVisible()
    assert make_texts_figure(view._state) is None
    page.state.compare(None)
    assert view._state.answer is None and not view.layers.rows.rows
