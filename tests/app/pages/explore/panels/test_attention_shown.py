"""What is shown of the attention is one thing: on the screen, in the table, in what is saved."""

import csv
import io

import numpy as np
import pytest
from PySide6.QtCore import Qt

from app.pages.explore.panels.attention.description import MEASURES
from app.widgets import figure as figures


def rows_of(view):
    """The table as it is on the screen."""
    model = view.table.rows
    return [
        [model.index(row, column).data() for column in range(model.columnCount())]
        for row in range(model.rowCount())
    ]


def headings(view):
    model = view.table.rows
    across = Qt.Orientation.Horizontal
    return [model.headerData(column, across) for column in range(model.columnCount())]


def saved(view):
    """The CSV file of the figure."""
    shown = view.figure()
    return list(csv.DictReader(io.StringIO(figures.csv_text(shown.table()))))


@pytest.mark.parametrize("excludes", [False, True])
def test_the_csv_counts_tokens_as_the_table_and_the_array_do(view, state, weights, wait, excludes):
    state.exclude_special(excludes)
    wait(lambda: len(state.drawn) and len(state.links.weights))
    array = view.figure().array
    on_screen = rows_of(view)
    for line, row in zip(saved(view), on_screen, strict=True):
        a, b = int(line["query number"]), int(line["key number"])
        assert float(line["attention weight"]) == pytest.approx(array[0, 0, a - 1, b - 1])
        assert row[0].split() == [str(a), line["query token"]]
        assert row[1].split() == [str(b), line["key token"]]


def test_a_masked_word_is_the_mask_wherever_it_is_shown(
    view, state, study, explorer, weights, wait
):
    study.toggle_mask(2)
    explorer.attend(explorer.asked[-1])
    wait(lambda: len(state.links.weights))
    state.strongest.set_threshold(1.0)
    state.point(2, -1)
    shown = view.figure()
    drawn = figures.svg(shown).decode().replace("Masked: “cat”", "").replace("the cat sat", "")
    for text in (view.readout.whole(), str(rows_of(view)), str(saved(view)), drawn):
        assert "[MASK]" in text
        assert "cat" not in text


@pytest.mark.parametrize("measure", [one.measure for one in MEASURES])
def test_the_table_says_what_its_numbers_are(view, state, explorer, weights, wait, measure):
    number = [one.measure for one in MEASURES].index(measure)
    view.overview.measure.setCurrentIndex(number)
    if measure != "weights":
        explorer.truly(explorer.asked[-1])
    wait(lambda: state.maps.shown_measure == measure and len(state.links.weights))
    assert headings(view)[-1] == MEASURES[number].value
    assert view.figure().table().header[-1] == MEASURES[number].value.lower()
    assert len({one.value for one in MEASURES}) == len(MEASURES)


def test_of_several_heads_the_table_has_all_and_the_readout_says_which(view, state, weights, wait):
    state.selection.toggle(2, 1)
    wait(lambda: len(state.drawn) == 2)
    shown = rows_of(view)
    assert headings(view)[0] == "Head"
    assert {row[0] for row in shown} == {"layer 1, head 1", "layer 3, head 2"}
    assert len(shown) == sum(len(links.weights) for links in state.drawn)
    assert [line["head"] for line in saved(view)] == [row[0] for row in shown]
    values = [float(line["attention weight"]) for line in saved(view)]
    assert values == sorted(values, reverse=True)
    state.point(1, 2)
    assert view.readout.whole().startswith("layer 3, head 2: From “the” to “cat”")
    state.selection.pick(0, 0)
    state.point(1, 2)
    assert view.readout.whole().startswith("From “the” to “cat”")


def test_the_heads_come_back_with_the_maps_of_heads(view, state, explorer, weights, wait):
    state.selection.pick(1, 1)
    state.selection.toggle(2, 1)
    heads = state.heads
    for number in (2, 0):
        view.overview.measure.setCurrentIndex(number)
        question = explorer.asked[-1]
        explorer.truly(question)
        assert state.maps.has_heads == (number == 0)
    assert state.heads == heads


def test_another_layer_of_the_mean_is_kept_too(state, weights):
    state.selection.pick(1, 1)
    state.selection.fit((3, 1))
    state.selection.pick(2, 0)
    state.selection.fit((3, 2))
    assert state.heads == ((2, 0),)


def test_a_figure_has_the_numbers_of_its_rows(view, state, weights, wait):
    found = view.figure()
    table = found.table()
    assert len(table.rows) == len(state.links.weights)
    assert np.allclose([row[-1] for row in table.rows], state.links.weights)
