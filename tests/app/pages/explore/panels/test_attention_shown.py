"""The attention shown is the same on screen, in the table and in saved figures."""

import csv
import io

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.pages.explore.panels.attention.links import default_threshold
from app.pages.explore.panels.attention.maps import MAX_LEVEL, levels
from app.pages.explore.panels.attention.state import AttentionState
from app.theme import print_color, shade
from app.widgets.charts import figure as figures


def table_rows(view):
    """Cells of the table on screen."""
    model = view.table.rows
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def headings(view):
    model = view.table.rows
    horizontal = Qt.Orientation.Horizontal
    return [model.headerData(column, horizontal) for column in range(model.columnCount())]


def csv_rows(view):
    """Rows of the CSV file of the figure."""
    return list(csv.DictReader(io.StringIO(figures.csv_text(view.figure().table()))))


def test_the_csv_numbers_tokens_as_the_table_and_the_array_do(view, state, weights, wait):
    for excludes in (False, True):
        state.exclude_special(excludes)
        wait(lambda: len(state.drawn) and len(state.links.weights))
        array = view.figure().array
        for line, row in zip(csv_rows(view), table_rows(view), strict=True):
            a, b = int(line["query number"]), int(line["key number"])
            assert float(line["attention weight"]) == pytest.approx(array[0, 0, a - 1, b - 1])
            assert row[0].split() == [str(a), line["query token"]]
            assert row[1].split() == [str(b), line["key token"]]


def test_a_masked_word_is_shown_as_the_mask(view, state, explore, explorer, weights, wait):
    explore.toggle_mask(2)
    assert explorer.questions[-1].masked == (2,)
    assert state.names[2] == "cat", "until the answer, the text without the mask is shown"
    explorer.attend(explorer.questions[-1])
    assert state.masked == (2,)
    assert state.names == ("[CLS]", "the", "[MASK]", "sat", "[SEP]")
    wait(lambda: len(state.links.weights))
    state.strongest_links.set_threshold(1.0)
    state.hover(2, -1)
    figure = view.figure()
    svg = figures.svg(figure).decode().replace("“cat”", "").replace("the cat sat", "")
    for text in (view.readout.full_text(), str(table_rows(view)), str(csv_rows(view)), svg):
        assert "[MASK]" in text
        assert "cat" not in text


def test_selected_heads_are_restored_with_their_maps(view, state, explorer, weights, wait):
    state.selection.pick(1, 1)
    state.selection.toggle(2, 1)
    heads = state.heads
    for number in (2, 0):
        view.overview.measure.setCurrentIndex(number)
        question = explorer.questions[-1]
        explorer.compute(question)
        assert state.maps.has_heads == (number == 0)
    assert state.heads == heads
    state.selection.fit((3, 1))
    state.selection.pick(0, 0)
    state.selection.fit((3, 2))
    assert state.heads == ((0, 0),), "another layer stays, with its first head"


def test_each_form_is_saved_as_shown(view, state, explore, explorer, weights, wait):
    view.show_form(1)
    svg = figures.svg(view.figure()).decode()
    first = table_rows(view)[0]
    assert all(cell.split()[-1] in svg for cell in first)
    assert "Table" not in view.figure().caption
    explore.pick(2)
    explore.pick_target(3)
    view.show_form(2)
    assert view.figure() is None, "the pair is not computed yet"
    answer = explorer.compute(explorer.of_kind("show_query_key")[-1])
    figure = view.figure()
    assert np.allclose(figure.array, [answer.query, answer.key, answer.products])
    assert "“cat” (token 3) and the key of “sat” (token 4)" in figure.caption
    assert [row[1] for row in figure.table().rows] == pytest.approx(answer.query)
    assert figures.pdf(figure).startswith(b"%PDF")
    view.show_form(0)
    assert "Lines:" in view.figure().caption


def test_a_saved_matrix_has_no_bitmap_and_the_grid_every_head(view, state, weights):
    svg = figures.svg(view.figure()).decode()
    assert "<image" not in svg
    assert "Attention weight" in svg and ">0.10<" in svg
    darkest = shade(levels(weights[0, 0]).max() / MAX_LEVEL, print_color)
    assert darkest.name() in svg
    figure = view.grid_button.figure()
    assert np.array_equal(figure.array, weights)
    table = figure.table()
    assert [row[:2] for row in table.rows] == [(a, b) for a in (1, 2, 3) for b in (1, 2)]
    assert [row[-1] for row in table.rows] == pytest.approx(weights.max((2, 3)).ravel())
    image = figures.image(figure)
    assert image.width() > 2 * 64 and image.height() > 3 * 64
    assert view.grid_button.accessibleName() != view.figure_button.accessibleName()


def test_several_heads_are_distinct_in_figure_table_and_readout(view, state, weights, wait):
    state.selection.toggle(2, 1)
    wait(lambda: len(state.drawn) == 2)
    svg = figures.svg(view.figure()).decode()
    assert "stroke-dasharray" in svg
    assert "layer 1, head 1" in svg and "layer 3, head 2" in svg
    rows = table_rows(view)
    assert headings(view)[0] == "Head"
    assert {row[0] for row in rows} == {"layer 1, head 1", "layer 3, head 2"}
    assert len(rows) == sum(len(links.weights) for links in state.drawn)
    assert [line["head"] for line in csv_rows(view)] == [row[0] for row in rows]
    values = [float(line["attention weight"]) for line in csv_rows(view)]
    assert values == sorted(values, reverse=True)
    state.hover(1, 2)
    assert view.readout.full_text().startswith("layer 3, head 2: From “the” to “cat”")
    state.selection.pick(0, 0)
    state.hover(1, 2)
    assert view.readout.full_text().startswith("From “the” to “cat”")


def test_special_tokens_are_excluded_and_long_texts_have_fewer_links(explore, explorer):
    state = AttentionState(explore, explorer)
    assert state.excludes_special
    fractions = [default_threshold(tokens) for tokens in (5, 37, 38, 64, 128, 512)]
    assert fractions == [0.7, 0.7, 0.6, 0.5, 0.25, 0.05]
    state.strongest_links.fit(100)
    assert state.strongest_links.threshold == default_threshold(100)
    state.strongest_links.set_threshold(0.4)
    state.strongest_links.fit(10)
    assert state.strongest_links.threshold == 0.4, "the user's choice is kept"


@pytest.mark.usefixtures("weights")
def test_both_sides_of_the_lines_are_visible_in_a_narrow_panel(qapp, view):
    view.resize(660, 440)
    qapp.processEvents()
    visible_width = view.lines_area.viewport().width()
    assert view.lines.width() <= visible_width
    assert view.lines.line_ends()[1] < visible_width
    assert view.width() == 660
