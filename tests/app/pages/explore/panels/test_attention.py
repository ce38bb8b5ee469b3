"""Attention: the grid of heads, and the picked head as lines, matrix and table."""

import threading

import numpy as np
from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtGui import QColor, QImage
from PySide6.QtWidgets import QLabel

from app.library import describe_model
from app.pages.explore.panels.attention import lines
from app.pages.explore.panels.attention.lines import draw
from app.pages.explore.panels.attention.links import (
    MAX_LINES,
    MAX_LINES_OF_TOKEN,
    rank_links,
    token_links,
)
from app.pages.explore.panels.attention.maps import BLANK, MAX_LEVEL, levels, picture
from app.pages.explore.panels.attention.state import MAX_HEADS, MEASURES, describe_head
from app.pages.explore.panels.attention.view import Drawing
from app.widgets.charts import figure as figures
from app.widgets.text import numbers
from app.widgets.text.numbers import decimal
from engine.messages.explore.attention import ArrayFile, Attended
from engine.models.heads import Heads
from tests.app.accessible import assert_accessible
from tests.app.pages.explore.conftest import make_model


def test_the_first_head_is_described_saved_and_listed(view, state, weights, qtbot, qtmodeltester):
    assert state.maps.size == (3, 2)
    assert np.array_equal(state.map, weights[0, 0])
    assert [token.text for token in state.tokens] == ["[CLS]", "the", "cat", "sat", "[SEP]"]
    description = view.lines.accessibleDescription()
    assert description == view.matrix.accessibleDescription() == describe_head(state)
    assert description.startswith("Layer 1, head 1. Strongest links: “")
    assert_accessible(view)
    assert all(label.textFormat() == Qt.TextFormat.PlainText for label in view.findChildren(QLabel))
    view.matrix.clearFocus()
    image = view.matrix.grab().toImage()
    ramp = {colour_at(level): level for level in range(MAX_LEVEL + 1)}
    expected = levels(weights[0, 0])
    for row in range(5):
        for column in range(5):
            middle = view.matrix.cell(row, column).center().toPoint() * image.devicePixelRatio()
            actual = ramp[image.pixelColor(middle).rgb()]
            assert abs(actual - int(expected[row, column])) <= 1  # neighbours may share a colour
    figure = view.figure()
    svg = figures.svg(figure).decode("utf-8")
    assert "layer 1, head 1" in svg and "square-root" in svg and "the cat sat" in svg
    assert figures.png(figure).startswith(b"\x89PNG")
    assert np.array_equal(figure.array, weights)
    rows = figure.table().rows
    assert len(rows) == len(state.links.weights)
    links = state.links
    assert rows[0][3:] == (links.rows[0] + 1, links.columns[0] + 1, links.weights[0])
    large = np.full((512, 512), 1 / 512, dtype=np.float32)
    size = Drawing(("word",) * 512, large, [rank_links(large).select(0.5)]).size
    assert size.width() < 3000 and size.height() < 2000
    rows = view.table.rows
    qtmodeltester.check(rows)
    assert rows.rowCount() == len(state.links.weights)
    cells = [rows.index(0, column).data() for column in range(3)]
    row, column = np.unravel_index(weights[0, 0].argmax(), weights[0, 0].shape)
    assert cells[0].endswith(state.tokens[row].text)
    assert cells[1].endswith(state.tokens[column].text)
    view.form.group.button(1).click()
    assert view.forms.currentWidget() is view.table
    view.table.selectRow(0)
    assert state.hovered == (row, column)


def test_a_drawing_stops_once_it_is_cancelled():
    links = token_links(np.full((300, 300), 0.5, np.float32), 7, -1)
    answers = iter((False, False, True))  # not called again
    images = [
        draw([links], QSize(40, 300), 0, 1.0, 1.0, [QColor("red")], cancelled=cancelled)
        for cancelled in (lambda: True, lambda: next(answers), lambda: False)
    ]
    empty, partial, complete = (bytes(picture.constBits()) for picture in images)
    assert not any(empty)
    assert 0 < np.count_nonzero(list(partial)) < np.count_nonzero(list(complete))


def test_links_are_redrawn_for_another_height(view, weights, wait, monkeypatch):
    calls, redrawn = [], threading.Event()

    def fake_draw(*_args, cancelled):
        calls.append(cancelled)
        if len(calls) == 1:
            redrawn.wait(10)
        else:
            redrawn.set()
        return QImage()

    monkeypatch.setattr(lines, "draw", fake_draw)
    view.lines.resize(view.lines.width(), view.lines.height() + 20)
    wait(lambda: calls)
    view.lines.resize(view.lines.width(), view.lines.height() + 20)
    wait(lambda: len(calls) > 1 and calls[0]() and not calls[-1]())


def test_a_lost_file_is_requested_again_and_a_refusal_shown(view, state, explorer, monkeypatch):
    path = explorer.scratch / "attention-1.npy"
    monkeypatch.setattr(np, "save", lambda file, array: None)
    explorer.attend(explorer.questions[-1])
    assert not path.exists() and len(explorer.questions) == 2
    assert state.maps.weights is None
    explorer.refuse(explorer.questions[-1], "There is not enough memory for this.")
    assert view.stack.currentWidget() is view.problem
    assert view.problem.title.text() == "There is not enough memory for this."


def test_pictures_follow_the_theme(view, weights, set_theme, wait):
    def corner():
        image = view.matrix.grab().toImage()
        middle = view.matrix.field().center()
        return image.pixelColor(middle).name()

    light = corner()
    set_theme("dark")
    wait(lambda: corner() != light)


# ── several heads, blocks, other measures, a pair ────────────────────────────────────────────


def click(qtbot, grid, layer, head):
    point = grid.cell(layer, head).center().toPoint()
    qtbot.mouseClick(grid, Qt.MouseButton.LeftButton, pos=point)


def test_the_grid_shows_layers_while_more_are_computed(view, state, explore, explorer, wait):
    question = explorer.questions[-1]
    count = len(explore.first.tokens)
    weights = np.random.default_rng(1).dirichlet(np.ones(count), (3, 2, count)).astype(np.float32)
    path = explorer.scratch / "parts.npy"
    np.save(path, weights)
    file = ArrayFile(path=path, shape=weights.shape, dtype="float32")
    answer = Attended(to=question.number, tokens=explore.first.tokens, weights=file)
    for layers in (1, 2):
        explorer.answered.emit(answer.model_copy(update={"layers": layers}))
        wait(
            lambda n=layers: (
                state.maps.thumbnails is not None and (state.maps.thumbnails[n - 1] != BLANK).all()
            )
        )
        assert np.array_equal(state.maps.thumbnails[:layers], levels(weights[:layers]))
        assert (state.maps.thumbnails[layers:] == BLANK).all()
        assert f"{layers} of 3 layers" in view.overview.status.full_text()
        assert np.array_equal(state.map, weights[0, 0])
        if layers == 1:
            state.selection.pick(2, 1)
            assert "Computing layer 3" in view.readout.full_text()
            state.selection.pick(0, 0)
    state.selection.pick(2, 1)
    explorer.answered.emit(answer)
    wait(lambda: not (state.maps.thumbnails == BLANK).any())
    assert np.array_equal(state.map, weights[2, 1])
    assert "layers" not in view.overview.status.full_text()


def colour_at(level):
    image = picture(np.array([[level]], np.uint8))
    return image.pixelColor(0, 0).rgb()


def test_heads_and_tokens_are_picked_by_mouse_keys_and_panels(
    qtbot, view, state, explore, weights, explorer, home, wait
):
    count, grid = len(explorer.questions), view.overview.grid
    point = grid.cell(2, 1).center().toPoint()
    for press in (qtbot.mouseClick, qtbot.mouseDClick):
        press(grid, Qt.MouseButton.LeftButton, pos=point)
    assert state.heads == ((2, 1),) and (explore.layer, explore.head) == (2, 1)
    assert np.array_equal(state.map, weights[2, 1])
    assert (view.layer.value(), view.head.value()) == (3, 2)
    view.layer.setValue(1)
    view.head.setValue(1)
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Right):
        qtbot.keyClick(grid, key)
    assert state.heads == ((2, 1),)
    view.layer.setValue(1)
    assert state.heads == ((0, 1),)
    assert grid.accessibleDescription() == "Layer 1 of 3, head 2 of 2"
    explore.pick_head(1, 1)
    assert state.heads == ((1, 1),)
    explore.pick_head(11, 11)
    assert state.heads == ((2, 1),), "the last head"
    assert len(explorer.questions) == count, "another head is another slice of the file"
    qtbot.mouseMove(grid, grid.cell(1, 1).center().toPoint())
    grid.hovered.emit(1, 1)
    assert view.overview.status.full_text() == "Layer 2, head 2"
    # tokens and cells are hovered and picked
    state.selection.pick(0, 0)
    matrix, lines = view.matrix, view.lines
    state.hover(2, 3)
    value = f"{float(weights[0, 0, 2, 3]):.4f}"
    assert view.readout.full_text() == f"From “cat” to “sat”: {value}"
    state.hover(2, -1)
    assert view.readout.full_text().startswith("“cat” attends to “")
    state.hover(-1, 2)
    assert view.readout.full_text().startswith("“cat” is attended to by “")
    explore.hover(3)
    assert state.hovered == (3, -1)
    explore.hover(-1)
    assert state.hovered == (-1, -1)
    point = matrix.cell(1, 3).center().toPoint()
    outside = QPoint(matrix.width() + 50, matrix.height() + 50)
    points = (point, QPoint(1, point.y()), QPoint(point.x(), 1), QPoint(0, 0), outside)
    assert [matrix.cell_at(pos) for pos in points] == [(1, 3), (1, -1), (-1, 3), (-1, -1), (-1, -1)]
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Right, Qt.Key.Key_Right):
        qtbot.keyClick(matrix, key)
    assert state.hovered == (1, 2)
    qtbot.keyClick(matrix, Qt.Key.Key_Return)
    assert (explore.picked, explore.target) == (state.picked, state.target) == (1, 2)
    middle = round(2.5 * lines.row_height())
    qtbot.mouseClick(lines, Qt.MouseButton.LeftButton, pos=QPoint(4, middle))
    assert explore.picked == 2
    state.hover(-1, -1)
    qtbot.keyClick(lines, Qt.Key.Key_Down)
    assert state.hovered == (0, -1)
    qtbot.keyClick(lines, Qt.Key.Key_Right)
    assert state.hovered == (-1, 0)
    # a click toggles a head and the last one stays
    state.selection.pick(0, 0)
    click(qtbot, view.overview.grid, 1, 1)
    click(qtbot, view.overview.grid, 2, 0)
    assert state.heads == ((0, 0), (1, 1), (2, 0))
    assert np.array_equal(state.map, weights[2, 0])
    wait(lambda: len(state.drawn) == 3)
    for links, (layer, head) in zip(state.drawn, state.heads, strict=True):
        assert links.weights[0] == weights[layer, head].max()
    click(qtbot, view.overview.grid, 2, 0)
    click(qtbot, view.overview.grid, 0, 0)
    assert state.heads == ((1, 1),)
    click(qtbot, view.overview.grid, 1, 1)
    assert state.heads == ((1, 1),)
    assert "1 head(s) selected" in view.overview.status.full_text()
    state.selection.pick(0, 0)
    # the second model can be shown
    path = make_model(home.models / "second", Heads(mlm=True))
    assert view.overview.models.isHidden()
    explore.compare(describe_model("second", path, "imported"))
    wait(lambda: explore.is_settled)
    count = len(explorer.questions)
    view.overview.models.group.button(1).click()
    assert [question.side for question in explorer.questions[count:]] == [1]
    second = explorer.attend(explorer.questions[-1])
    assert np.array_equal(state.map, second[0, 0])
    assert "second" in view.figure().caption if view.figure() else True
    explore.compare(None)
    assert np.array_equal(state.map, weights[0, 0])
    # heads have frames and the grid zooms around the mouse
    grid = view.overview.grid
    area = grid._area()
    side = grid.cell(0, 0).width()
    for _ in range(6):
        qtbot.keyClicks(grid, "+")
    assert grid.cell(0, 0).width() > 2 * side
    bar = area.verticalScrollBar()
    assert bar.maximum() > 0
    bar.setValue(0)
    start = QPoint(30, 60)
    qtbot.mousePress(grid, Qt.MouseButton.LeftButton, pos=start)
    for step in range(1, 6):
        qtbot.mouseMove(grid, start - QPoint(0, 10 * step))
    qtbot.mouseRelease(grid, Qt.MouseButton.LeftButton, pos=start)
    assert state.heads == ((0, 0),), "a drag is not a click"
    qtbot.keyClicks(grid, "0")
    assert grid.cell(0, 0).width() == side
    view._state.maps.thumbnails = np.full((3, 2, 5, 5), MAX_LEVEL // 2, np.uint8)
    view._state.maps.thumbnails_changed.emit()
    image, box = grid.grab().toImage(), grid.cell(2, 1).toRect()
    frame, inside = (image.pixelColor(box.left() + dx, box.center().y()) for dx in (0, 4))
    assert frame != inside
    view.resize(1600, 1000)
    view.halves.setSizes([800, 800])
    assert grid.cell(0, 0).width() > 200
    assert grid.cell(2, 1).bottom() > 0.8 * view.overview.area.height()


def test_tokens_blocks_heads_and_lines_are_limited(view, state, explore, explorer, weights, wait):
    assert view.filters.note.isHidden(), "the readout takes its space"
    view.filters.special.setChecked(True)
    wait(lambda: len(state.links.weights))
    assert [token.text for token in state.tokens] == ["the", "cat", "sat"]
    assert np.array_equal(state.map, weights[0, 0, 1:4, 1:4].astype(np.float32))
    all_weights = weights[0, 0].astype(np.float32)
    fraction = 1 - all_weights[1:4, 1:4].sum() / all_weights.sum()
    assert f"{fraction:.0%}".removesuffix("%") in view.filters.note.full_text()
    assert "not rescaled" in view.filters.note.full_text()
    assert not view.filters.note.isHidden()
    assert int(state.links.rows.max()) < 3
    state.pick(0, -1)
    assert state.explore.picked == 1
    assert view.filters.special.text() == "Exclude [CLS], [SEP]"
    names = {"[CLS]": "<s>", "[SEP]": "</s>"}
    state.maps.tokens = tuple(
        token.model_copy(update={"text": names.get(token.text)}) for token in state.maps.tokens
    )
    view.filters.show_state()
    assert view.filters.special.text() == "Exclude <s>, </s>"
    explore.set_texts("")
    wait(lambda: explore.is_settled and explorer.questions[-1].text == "")
    explorer.attend(explorer.questions[-1])
    assert len(state.tokens) == 2, "without other tokens they are shown"
    # only the links between chosen texts
    view.filters.special.setChecked(False)
    explore.set_texts("the cat", "sat on")
    wait(lambda: explore.is_settled and explorer.questions[-1].pair == "sat on")
    weights = explorer.attend(explorer.questions[-1])
    segment = np.array([token.segment for token in state.tokens])
    for number, (row, column) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)], start=1):
        view.filters.block.setCurrentIndex(number)
        mask = (segment == row)[:, None] & (segment == column)[None, :]
        assert np.array_equal(state.map, np.where(mask, weights[0, 0], 0))
        wait(lambda: len(state.drawn))
        assert all(mask[a, b] for a, b in zip(*state.links[:2], strict=True))
        fraction = 1 - weights[0, 0][mask].sum() / weights[0, 0].sum()
        assert numbers.percent(float(fraction), 0) in view.filters.note.full_text()
    state.hover(0, 0)
    assert "not in the selected texts" in view.readout.full_text()
    explore.set_texts("the cat")
    wait(lambda: explore.is_settled and explorer.questions[-1].pair is None)
    explorer.attend(explorer.questions[-1])
    assert state.block is None and view.filters.block.isHidden()
    # the number of heads and lines
    explore.set_texts("the cat " * 15)
    wait(lambda: explore.is_settled and explorer.questions[-1].text == explore.first.text)
    tokens = len(explore.first.tokens)
    explorer.attend(explorer.questions[-1], np.full((4, 4, tokens, tokens), 1 / tokens))
    for layer in range(4):
        for head in range(4):
            state.selection.toggle(layer, head)
    assert len(state.heads) == MAX_HEADS
    state.strongest_links.set_threshold(1.0)
    wait(lambda: len(state.drawn) == MAX_HEADS)
    line_count = sum(len(links.weights) for links in state.drawn)
    assert MAX_HEADS * 700 < line_count <= MAX_LINES
    assert MAX_LINES + MAX_LINES_OF_TOKEN <= 20_000
    links = token_links(np.full((512, 512), 1 / 100, np.float32), 3, -1)
    assert len(links.weights) == MAX_LINES_OF_TOKEN
    assert not view.lines.grab().isNull()


def test_each_measure_and_a_picked_pair_have_values_of_the_worker(
    qtbot, view, state, explore, explorer, weights, wait
):
    view.show_form(2)
    assert view.pair.stack.currentIndex() == 1
    view.show_form(0)
    qtbot.mouseClick(
        view.matrix, Qt.MouseButton.LeftButton, pos=view.matrix.cell(2, 3).center().toPoint()
    )
    assert (explore.picked, explore.target) == (2, 3)
    assert explorer.of_kind("show_query_key") == [], "the form is hidden"
    view.show_form(2)
    question = explorer.of_kind("show_query_key")[-1]
    assert (question.layer, question.head, question.query_token, question.key_token) == (0, 0, 2, 3)
    answer = explorer.compute(question)
    assert f"score {decimal(answer.score)}" in view.pair.sum.text()
    assert decimal(answer.weight) in view.pair.sum.text()
    assert "“cat” attends to “sat”" in view.pair.title.text()
    elements = view.pair.elements
    qtbot.mouseMove(elements, elements.element(4).center().toPoint())
    qtbot.keyClick(elements, Qt.Key.Key_Right)
    index = elements._hovered
    assert f"product over √K {decimal(answer.products[index])}" in view.pair.readout.full_text()
    state.selection.pick(1, 1)
    assert explorer.of_kind("show_query_key")[-1].layer == 1
    # each measure
    view.show_form(0)
    state.selection.pick(0, 0)
    assert len({measure.value for measure in MEASURES}) == len(MEASURES)
    for number, measure in enumerate(MEASURES):
        view.overview.measure.setCurrentIndex(number)
        if number:
            question = explorer.questions[-1]
            assert question.measure == measure.measure
            answer = explorer.compute(question)
            exact = np.load(answer.weights.path)
            assert np.array_equal(state.map, exact[0, 0])
            expected = levels(exact, answer.largest)
            wait(lambda image=expected: np.array_equal(state.maps.thumbnails, image))
            assert state.maps.vmax == (exact.max() if measure.measure == "norms" else 1)
            assert (state.maps.thumbnails.max() == MAX_LEVEL) or measure.measure != "norms"
        assert state.maps.shown_measure == measure.measure
        assert view.head.isHidden() == (measure.measure not in ("weights", "norms"))
        wait(lambda: len(state.links.weights))
        assert view.table.rows.columns[-1].title == measure.value
        assert view.figure().table().header[-1] == measure.value.lower()


def test_the_slider_sets_the_fraction_drawn_smoothly_when_released(view, state, weights, wait):
    values = weights[0, 0].astype(np.float32)
    view.filters.threshold.setValue(view.filters.threshold.minimum())
    wait(lambda: len(state.links.weights) == 1 or state.links.weights.sum() < 0.2 * values.sum())
    wait(lambda: view.lines.is_idle and view.lines._base is not None)
    smooth = view.lines._base
    view.filters.threshold.setValue(view.filters.threshold.maximum())
    rough = view.lines._base
    assert rough is not smooth and not view.lines.is_idle
    wait(lambda: len(state.links.weights) == np.count_nonzero(values))
    assert "100 %" in view.filters.threshold_label.text()
    wait(lambda: view.lines.is_idle)
    assert view.lines._base is not rough
