"""Texts, typed or of a data set, scored and selected in the window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QHeaderView

from app.pages.explore.captions import source
from app.pages.explore.panels.texts.view import LABEL, LOSS, PREDICTION, TEXT, make_figure
from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.importing import import_dataset
from tests.app.accessible import assert_accessible
from tests.app.alt_keys import mnemonics

ROWS = (
    *(("the cat sat", "label 0"), ("a dog", "label 1"), ("on the mat .", "label 2")),
    *(("the dog sat on a mat", "label 1"), ("<b>cat</b> %s", "label 0")),
)


@pytest.fixture
def stored(home, tmp_path):
    """A data set with one training row; the others are test rows."""
    file = tmp_path / "reviews.csv"
    lines = [f'"{text}","{label}",{"test" if n else "train"}' for n, (text, label) in
             enumerate(ROWS)]  # fmt: skip
    file.write_text("\n".join(["text,label,split", *lines]), encoding="utf-8")
    split = Split(column="split", validation=0, test=0)
    mapping = Mapping(text="text", label="label")
    import_dataset("reviews", {"all": file}, Reading(), mapping, split, home.datasets / "r" / "1")


@pytest.fixture
def page(make_page, classifier):
    return make_page(classifier)


@pytest.fixture
def view(page):
    page.bench.show_panel("texts")
    return page.bench.docks["texts"].panel


def column(view, number):
    rows = view.rows
    return [rows.data(rows.index(n, number)) for n in range(rows.rowCount())]


def test_texts_of_a_data_set_are_sorted_by_their_loss(stored, page, view, wait, qtbot):
    """Five actions: the panel, the data set, its test rows, Score, and the first row."""
    wait(lambda: view.source.count() == 2)
    view.source.setFocus()  # 1 is the panel
    QTest.keyClick(view.source, Qt.Key.Key_Down)  # 2
    wait(lambda: len(view.rows.order) == 4)
    assert view.part.currentText() == "test (4)", "the last split, without validation rows"
    assert page.state.chosen.count == 4
    view.part.setFocus()  # 3
    QTest.keyClick(view.part, Qt.Key.Key_Up)
    wait(lambda: len(view.rows.order) == 1)
    QTest.keyClick(view.part, Qt.Key.Key_Down)
    wait(lambda: len(view.rows.order) == 4)
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)  # 4
    wait(lambda: len(view._state.scores) == 4 and not view._state.work.is_running)
    losses = [float(value) for value in column(view, LOSS)]
    assert losses == sorted(losses, reverse=True)
    labels = dict(ROWS)
    for text, label in zip(column(view, TEXT), column(view, LABEL), strict=True):
        assert labels[text] == label
    assert set(column(view, PREDICTION)) <= {"label 0", "label 1", "label 2"}
    header = view.table.horizontalHeader()
    for column_index in (LABEL, PREDICTION):
        assert header.sectionSize(column_index) >= header.sectionSizeHint(column_index)
        assert header.sectionResizeMode(column_index) == QHeaderView.ResizeMode.Interactive
    assert "Mean loss of 4 text(s)" in view.note.text() and "% correct" in view.note.text()
    hardest = column(view, TEXT)[0]
    view.table.setFocus()
    view.table.selectRow(0)
    QTest.keyClick(view.table, Qt.Key.Key_Return)  # 5
    wait(lambda: page.state.first.text == hardest)
    assert page.state.chosen.texts.rows == (view.rows.order[0],) and page.state.chosen.count == 1
    assert "the 1 selected text(s)" in view.note.text()
    assert_accessible(view)
    figure = make_figure(view._state)
    assert figure.caption.endswith(source(page.state)) and len(figure.table().rows) == 4
    assert sorted(figure.array.tolist(), reverse=True) == pytest.approx(losses, abs=5e-4)


def test_typed_texts_are_scored(page, view, workers, model, wait, qtbot):
    view.typed.setPlainText("the cat\na dog")
    wait(lambda: len(view.rows.order) == 2)
    workers.is_held = True
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    assert view.bar.progress.isVisible() and not view.bar.run.isVisible()
    qtbot.mouseClick(view.bar.progress.cancel, Qt.MouseButton.LeftButton)
    assert not view._state.work.is_running and view.bar.run.isVisible()
    workers.is_held = False
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: len(view._state.scores) == 2)
    assert workers.questions[0] == workers.questions[1]
    assert "Without labels there is no loss" in view.note.text()
    view.typed.setPlainText("the cat\tpurple")
    wait(lambda: len(view.rows.order) == 1)
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: "purple" in view.bar.problem.text())
    assert not view._state.work.is_running
    # labels after a tab; they stay selected
    view.typed.setPlainText("the cat\tlabel 1\n\na dog\non the mat\tlabel 2\n")
    wait(lambda: len(view.rows.order) == 3)
    assert column(view, TEXT) == ["the cat", "a dog", "on the mat"]
    QTest.keyClick(view.table, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert page.state.chosen.texts.rows == (0, 1, 2)
    view.table.clearSelection()
    view.table.selectRow(2)
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: len(view._state.scores) == 3)
    assert column(view, TEXT)[-1] == "a dog", "without a label there is no loss"
    chosen = [view.rows.order[i.row()] for i in view.table.selectionModel().selectedRows()]
    assert chosen == [2] and page.state.chosen.texts.rows == (2,)
    page.state.switch_head(0, 0)
    assert not view._state.scores, "switching a head off changes the scores"
    page.state.switch_head(0, 0)
    # a masked language model has a pseudo-loss
    page.choose(model)
    wait(lambda: page.state.first.checkpoint == model and page.state.is_settled)
    view.typed.setPlainText("the cat sat\na dog")
    wait(lambda: len(view.rows.order) == 2)
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: len(view._state.scores) == 2)
    assert "Mean pseudo-loss of 2 text(s)" in view.note.text()
    assert view.table.isColumnHidden(PREDICTION)
    assert view.rows.columns[LOSS].title == "Pseudo-loss"
    # all controls over texts have different keys
    wait(lambda: page.state.chosen is not None)
    for panel in ("texts", "heads", "difference", "map"):
        page.bench.show_panel(panel)
        wait(lambda panel=panel: page.bench.is_visible(panel))
        keys = [key for key, _ in mnemonics(page)]
        assert len(set(keys)) == len(keys), (panel, sorted(mnemonics(page)))
