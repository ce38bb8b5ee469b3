"""Attention: the wall, and the picked head as lines, matrix and table."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QLabel

from app.pages.explore.panels.attention import figure
from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.view import AttentionView
from tests.app.accessible import assert_accessible


@pytest.fixture
def state(study, explorer) -> AttentionState:
    made = AttentionState(study, explorer)
    made.asking.set_seen(True)
    return made


@pytest.fixture
def view(qtbot, state, workshop) -> AttentionView:
    made = AttentionView(state, workshop.notices)
    qtbot.addWidget(made)
    made.resize(1100, 520)
    made.show()
    return made


@pytest.fixture
def weights(view, state, explorer, wait) -> np.ndarray:
    """The attention that is shown, float32 [3, 2, 5, 5]."""
    made = explorer.attend(explorer.asked[-1])
    wait(lambda: state.wall is not None and len(state.links.weights))
    return made


def test_the_first_head_is_shown_as_it_came(state, weights):
    assert state.size == (3, 2)
    assert np.array_equal(state.map, weights[0, 0].astype(np.float32))
    assert [token.text for token in state.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]


def test_a_click_on_the_wall_picks_a_head_and_asks_nothing(qtbot, view, state, weights, explorer):
    asked = len(explorer.asked)
    place = view.wall.cell(2, 1).center().toPoint()
    qtbot.mouseClick(view.wall, Qt.MouseButton.LeftButton, pos=place)
    assert (state.layer, state.head) == (2, 1)
    assert np.array_equal(state.map, weights[2, 1].astype(np.float32))
    assert (view.layer.value(), view.head.value()) == (3, 2)
    assert len(explorer.asked) == asked


def test_arrow_keys_and_boxes_pick_heads_too(qtbot, view, state, weights):
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right):
        qtbot.keyClick(view.wall, key)
    assert (state.layer, state.head) == (2, 1)
    view.layer.setValue(1)
    assert (state.layer, state.head) == (0, 1)
    assert view.wall.accessibleDescription() == "Layer 1 of 3, head 2 of 2"


def test_the_mouse_over_the_wall_names_the_head(qtbot, view, weights):
    qtbot.mouseMove(view.wall, view.wall.cell(1, 1).center().toPoint())
    view.wall.pointed.emit(1, 1)
    assert view.wall_said.whole() == "Layer 2, head 2"


def test_a_late_answer_is_not_drawn(state, study, explorer, wait, weights):
    study.set_texts("the dog")
    wait(lambda: study.is_settled)
    study.set_texts("a dog sat")
    wait(lambda: study.is_settled and explorer.asked[-1].text == "a dog sat")
    early, late = explorer.asked[-2:]
    explorer.attend(early)
    assert [token.text for token in state.tokens][1:3] == ["the", "cat"]
    explorer.attend(late)
    assert [token.text for token in state.tokens][1:3] == ["a", "dog"]


def test_a_cell_under_the_mouse_is_read_out(view, state, weights):
    state.point(2, 3)
    value = f"{float(weights[0, 0, 2, 3]):.4f}"
    assert view.readout.whole() == f"From “cat” to “sat”: {value}"
    state.point(2, -1)
    assert view.readout.whole().startswith("“cat” looks at “")
    state.point(-1, 2)
    assert view.readout.whole().startswith("“cat” is looked at by “")


def test_the_matrix_knows_its_cells(view, state, weights):
    matrix = view.matrix
    place = matrix.cell(1, 3).center().toPoint()
    assert matrix.at(place) == (1, 3)
    beside = QPoint(1, place.y())
    above = QPoint(place.x(), 1)
    assert matrix.at(beside) == (1, -1)
    assert matrix.at(above) == (-1, 3)
    assert matrix.at(QPoint(0, 0)) == (-1, -1)
    assert matrix.at(QPoint(matrix.width() + 50, matrix.height() + 50)) == (-1, -1)


def test_arrow_keys_move_the_crosshair_and_enter_picks_the_token(qtbot, view, state, weights):
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Right):
        qtbot.keyClick(view.matrix, key)
    assert state.pointed == (1, 2)
    qtbot.keyClick(view.matrix, Qt.Key.Key_Return)
    assert state.study.picked == 1
    assert state.picked == 1


def test_a_token_of_the_lines_can_be_pointed_at_and_picked(qtbot, view, state, weights):
    lines = view.lines
    middle = round(2.5 * lines.row_height())
    qtbot.mouseClick(lines, Qt.MouseButton.LeftButton, pos=QPoint(4, middle))
    assert state.study.picked == 2
    qtbot.keyClick(lines, Qt.Key.Key_Down)
    assert state.pointed == (0, -1)
    qtbot.keyClick(lines, Qt.Key.Key_Right)
    assert state.pointed == (-1, 0)


def test_the_strip_points_into_the_pictures(view, state, study, weights):
    study.point(3)
    assert state.pointed == (3, -1)
    study.point(-1)
    assert state.pointed == (-1, -1)


def test_hidden_special_tokens_are_said_and_nothing_is_rescaled(view, state, weights, wait):
    view.special.setChecked(True)
    wait(lambda: len(state.links.weights))
    assert [token.text for token in state.tokens] == ["the", "cat", "sat"]
    assert np.array_equal(state.map, weights[0, 0, 1:4, 1:4].astype(np.float32))
    whole = weights[0, 0].astype(np.float32)
    share = whole[:, [0, 4]].sum() / whole.sum()
    assert f"{share:.0%}".removesuffix("%") in view.left_out.text()
    assert "not rescaled" in view.left_out.text()
    assert int(state.links.rows.max()) < 3
    state.pick_token(0)
    assert state.study.picked == 1


def test_a_text_of_special_tokens_alone_stays_visible(view, state, study, explorer, wait):
    study.set_texts("")
    wait(lambda: study.is_settled and explorer.asked[-1].text == "")
    explorer.attend(explorer.asked[-1])
    view.special.setChecked(True)
    assert len(state.tokens) == 2


def test_the_slider_decides_the_share_of_the_mass(view, state, weights, wait):
    whole = weights[0, 0].astype(np.float32)
    view.share.setValue(view.share.minimum())
    wait(lambda: len(state.links.weights) == 1 or state.links.weights.sum() < 0.2 * whole.sum())
    view.share.setValue(view.share.maximum())
    wait(lambda: len(state.links.weights) == np.count_nonzero(whole))
    assert "100 %" in view.share_said.text()


def test_the_table_has_the_links_strongest_first(qtbot, view, state, weights, qtmodeltester):
    rows = view.table.rows
    qtmodeltester.check(rows)
    assert rows.rowCount() == len(state.links.weights)
    first = [rows.index(0, column).data() for column in range(3)]
    row, column = np.unravel_index(weights[0, 0].argmax(), weights[0, 0].shape)
    assert first[0].endswith(state.tokens[row].text)
    assert first[1].endswith(state.tokens[column].text)
    view.form.group.button(1).click()
    assert view.forms.currentWidget() is view.table
    view.table.selectRow(0)
    assert state.pointed == (row, column)


def test_masked_words_are_masked_here_too(view, state, study, explorer, weights):
    study.toggle_mask(2)
    assert explorer.asked[-1].masked == (2,)
    assert state.is_masked(2)


def test_every_picture_is_told_in_words(view, state, weights):
    said = view.lines.accessibleDescription()
    assert said == view.matrix.accessibleDescription() == state.sentence()
    assert said.startswith("Layer 1, head 1. Strongest links: “")


def test_what_the_explorer_refuses_is_shown(view, state, explorer):
    explorer.refuse(explorer.asked[-1], "There is not enough memory for this.")
    assert view.stack.currentWidget() is view.problem
    assert view.problem.title.text() == "There is not enough memory for this."


def test_a_file_that_went_is_asked_for_again(view, state, explorer):
    path = explorer.scratch / "attention-1.npy"
    from app.pages.explore.panels.attention import state as module

    load = module.np.load
    module.np.load = lambda *given, **more: (path.unlink(), load(*given, **more))[1]
    try:
        explorer.attend(explorer.asked[-1])
    finally:
        module.np.load = load
    assert len(explorer.asked) == 2
    assert state.weights is None


def test_everything_can_be_used_by_ear_and_keyboard(view, weights):
    assert_accessible(view)
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in view.findChildren(QLabel))


def test_pictures_follow_the_theme(view, weights, looks, wait):
    def corner():
        image = view.matrix.grab().toImage()
        middle = view.matrix.field().center()
        return image.pixelColor(middle).name()

    light = corner()
    looks("dark")
    wait(lambda: corner() != light)


@pytest.mark.parametrize(
    "suffix, begins", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("npy", b"\x93NUMPY")]
)
def test_a_figure_and_its_numbers_are_saved(
    view, state, weights, workshop, tmp_path, wait, suffix, begins
):
    path = tmp_path / f"saved.{suffix}"
    make = {"png": view._png, "svg": view._svg, "npy": view._npy}[suffix]
    view.write(path, make())
    wait(lambda: workshop.notices.shown)
    assert path.read_bytes().startswith(begins)
    assert str(path) in workshop.notices.shown[0].problem
    if suffix == "npy":
        assert np.array_equal(np.load(path), weights)
    if suffix == "svg":
        drawn = path.read_text("utf-8")
        assert "layer 1 of 3, head 1 of 2" in drawn
        assert "square-root" in drawn


def test_a_figure_that_cannot_be_written_says_so(view, weights, workshop, tmp_path, wait):
    view.write(tmp_path / "no folder" / "x.png", view._png())
    wait(lambda: workshop.notices.shown)
    assert workshop.notices.shown[0].is_error


def test_a_figure_of_five_hundred_tokens_is_not_a_wall_of_paper():
    count = 512
    weights = np.full((count, count), 1 / count, dtype=np.float32)
    from app.pages.explore.panels.attention.links import strongest

    drawn = figure.Figure("t", "c", ("word",) * count, weights, strongest(weights, 0.5))
    assert drawn.size.width() < 3000
    assert drawn.size.height() < 2000
