"""Statistics of heads over many texts, in the window."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from app.pages.explore.captions import source
from app.pages.explore.panels.heads.view import make_figure
from app.widgets.charts import figure as figures
from tests.app.accessible import assert_accessible


@pytest.fixture
def page(make_page, model):
    return make_page(model)


def test_heads_are_ranked_by_attention_to_the_previous_token(page, wait, qtbot):
    """Five actions: two panels, the texts, Count, and a header."""
    page.bench.show_panel("texts")  # 1
    texts = page.bench.docks["texts"].panel.typed
    texts.setFocus()
    qtbot.keyClicks(texts, "the cat sat")  # 2
    QTest.keyClick(texts, Qt.Key.Key_Return)
    qtbot.keyClicks(texts, "a dog . the mat")
    wait(lambda: page.state.chosen is not None and page.state.chosen.count == 2)
    page.bench.show_panel("heads")  # 3
    view = page.bench.docks["heads"].panel
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)  # 4
    wait(lambda: view.rows.rowCount() == 6 and not view._state.work.is_running)
    header, section = view.table.horizontalHeader(), view.rows.column_index("previous")
    assert view.rows.headerData(section, Qt.Orientation.Horizontal) == "To previous"
    view.table.scrollTo(view.rows.index(0, section))
    x = header.sectionViewportPosition(section) + 10
    point = QPoint(x, header.height() // 2)
    qtbot.mouseClick(header.viewport(), Qt.MouseButton.LeftButton, pos=point)  # 5
    column = [float(view.rows.data(view.rows.index(n, section))) for n in range(6)]
    assert column == sorted(column, reverse=True) and view.title.full_text() == "To previous"
    assert np.array_equal(view.grid.values, view._state.interval("previous")[0])
    view.table.setFocus()
    view.table.selectRow(0)
    assert (page.state.layer, page.state.head) == view.rows.row(0) == view.grid.chosen
    assert "(95 %:" in view.note.text() and "of 2 text(s)" in view.note.text()
    assert_accessible(view)
    figure = make_figure(view._state)
    assert figure.caption.endswith(source(page.state)) and figure.array.shape == (3, 3, 2)
    assert len(figure.table().rows) == 6
    assert b"Layer" in figures.svg(figure) and b"Head" in figures.svg(figure)
    # the grid follows keys and clicks
    page.state.pick_head(0, 0)
    view.grid.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Right):
        QTest.keyClick(view.grid, key)
    assert (page.state.layer, page.state.head) == (1, 1) == view.grid.chosen
    point = view.grid.cell(2, 0).center().toPoint()
    qtbot.mouseClick(view.grid, Qt.MouseButton.LeftButton, pos=point)
    assert (page.state.layer, page.state.head) == (2, 0)
    assert view.rows.row(view.table.currentIndex().row()) == (2, 0)
    page.bench.docks["texts"].panel.typed.setPlainText("a dog")
    wait(lambda: page.state.chosen is not None and page.state.chosen != view._state.source)
    page.state.pick_head(0, 0)
    assert "Other texts are selected now" in view.note.text()
    page.state.switch_head(0, 1)
    assert view.rows.rowCount() == 0 and make_figure(view._state) is None


@pytest.fixture
def labelled_view(make_page, choose_texts, classifier):
    """The Heads panel with four labelled texts."""
    page = make_page(classifier)
    lines = ("the cat\tlabel 1", "a dog sat\tlabel 0", "the mat\tlabel 2", "a cat\tlabel 1")
    choose_texts(page, *lines)
    page.bench.show_panel("heads")
    view = page.bench.docks["heads"].panel
    view.page = page
    return view


def test_labelled_texts_rank_heads_by_loss_and_by_pruning(
    labelled_view, choose_texts, classifier, wait, qtbot, home
):
    """Four actions each: the texts, the panel, a method, and Count; or a method, the allowed loss,
    Count, and Save."""
    view, state, page = labelled_view, labelled_view._state, labelled_view.page
    assert not view.fall.isVisible() and not view.save.isVisible()
    view._state.count()
    wait(lambda: view.rows.rowCount() == 6 and not view._state.work.is_running)
    before = view._state.keys
    view.method.setFocus()
    for _ in range(2):
        QTest.keyClick(view.method, Qt.Key.Key_Down)  # 3
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)  # 4
    wait(lambda: "loss off" in view._state.keys and not view._state.work.is_running)
    assert view._state.keys == ("loss off", "importance", *before), "both are kept"
    assert view.grid.is_signed and view.rows.column_index("loss off") == 2, "visible at first"
    assert view.title.full_text() == "Loss when ablated"
    section = view.rows.column_index("loss off")
    column = [float(view.rows.data(view.rows.index(n, section))) for n in range(6)]
    assert column == sorted(column, reverse=True)
    assert "mean loss" in view.note.text() and "(95 %:" in view.note.text()
    figure = make_figure(view._state)
    assert "ablated (zero)" in figure.caption and len(figure.table().header) == 3 + 3 * len(
        view._state.keys
    )
    # each head is replaced by its mean
    assert state.method == "each" and view.replacement.isVisible()
    zero = state.interval("loss off").copy()
    view.replacement.setFocus()
    QTest.keyClick(view.replacement, Qt.Key.Key_Down)
    assert state.replacement == "mean"
    assert "ablated (zero)" in make_figure(state).caption
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: not np.array_equal(state.interval("loss off"), zero))
    assert "ablated (mean)" in make_figure(state).caption
    # heads are pruned and the model is saved without them
    view.method.setFocus()
    QTest.keyClick(view.method, Qt.Key.Key_End)  # 1
    assert view.fall.isVisible() and not view.save.isVisible()
    view.fall.setValue(100)  # 2
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)  # 3
    wait(lambda: state.pruned is not None and not state.work.is_running)
    assert state.pruned.pruned and state.keys[0] == "pruned round" == state.column
    cells = {view.rows.data(view.rows.index(n, 2)) for n in range(6)}
    assert "kept" in cells and cells - {"kept"} <= {str(n) for n in range(1, 6)}
    assert f"{len(state.pruned.pruned)} of 6 heads can be pruned." in view.note.text()
    assert view.note.text().count("Round ") == min(3, len(state.pruned.rounds) - 1)
    assert "accuracy with all heads: " in view.note.text().lower()
    figure = make_figure(state)
    assert "can be pruned" in figure.caption and figure.table().header[3] == "pruned round"
    assert_accessible(view)
    qtbot.mouseClick(view.save, Qt.MouseButton.LeftButton)  # 4
    wait(lambda: not state.is_saving)
    saved = home.models / "zz-classes-with-5-heads-pruned"
    wait((saved / "model.safetensors").is_file)
    wait(lambda: saved in [model.path for model in view.page.comparison._models])
    view.fall.setValue(0)
    assert not state.work.is_interrupted and state.max_fall == 0
    # a failed save is reported
    state.allow_fall(1)
    state.count()
    wait(lambda: state.can_save and not state.work.is_running)
    hidden = (classifier / "model.safetensors").rename(classifier / "hidden")
    with qtbot.waitSignal(state.not_saved) as signal:
        state.save()
    assert signal.args[0].problem and not state.is_saving
    hidden.rename(classifier / "model.safetensors")
    choose_texts(page, "the cat")
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: "no labels" in view.bar.problem.text())
