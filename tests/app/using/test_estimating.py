"""Corrected estimates in a dialog: columns are guessed, choices estimate again, errors are said."""

import math

import numpy as np
import pytest
from PySide6.QtCore import QRect

from app.using import estimating_view
from app.using.estimating_state import EstimatingState, guess_codes
from app.using.estimating_view import figure_text, row_title
from app.widgets.charts.figure import svg
from app.widgets.charts.intervals import AXIS, Mark, scale_ticks
from engine.config.dataset import Mapping, Reading, Split
from engine.data.datasets.coding import RowCoding, write_coding
from engine.data.datasets.importing import import_dataset
from engine.data.table_columns import TableColumns
from engine.results.intervals import Interval
from tests.app.accessible import assert_accessible

PATIENCE = 30_000  # ms
ROWS = 400


@pytest.fixture
def table(tmp_path):
    random = np.random.default_rng(2)
    truth = np.where(random.random(ROWS) < 0.3, "anger", "joy")
    machine = np.where(random.random(ROWS) < 0.85, truth, "anger")
    lines = ["text,label,predicted_label,day,party,score,Truth"]
    for n in range(ROWS):
        hand = truth[n] if n % 4 == 0 else ""
        lines.append(f"row {n},{hand},{machine[n]},2025-0{1 + n % 2}-03,{'AB'[n % 3 == 0]},{n / 7}")
        lines[-1] += f",{truth[n]}"
    path = tmp_path / "predicted.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def dialog(qtbot, tab, studio, table):
    state = EstimatingState(table)
    dialog = estimating_view.open_dialog(state, studio.notices, tab)
    qtbot.waitUntil(lambda: state.table is not None, timeout=PATIENCE)
    return dialog


def choose(dialog, role, text):
    box = dialog.what if role == "what" else dialog.boxes[role]
    box.setCurrentIndex(next(n for n in range(box.count()) if box.itemText(n) == text))
    box.activated.emit(box.currentIndex())


def test_codes_are_guessed_and_each_choice_estimates_again(qtbot, dialog):
    state, request = dialog.state, dialog.state.request
    codes = request.predicted, request.hand, request.truth
    assert codes == ("predicted_label", "label", "Truth")
    assert [row_title(row) for row in state.table.rows] == ["All rows · anger", "All rows · joy"]
    assert "drawn at random" in dialog.notes.text() and dialog.picture.isVisible()
    choose(dialog, "what", "Proportion of “anger”")
    choose(dialog, "by", "day")
    choose(dialog, "compare", "party")
    qtbot.waitUntil(lambda: state.table is not None, timeout=PATIENCE)
    titles = [dialog.model.index(n, 0).data() for n in range(dialog.model.rowCount())]
    assert {"2025-01 · A · anger", "2025-02 · B − A · anger"} <= {*titles}
    assert len(dialog.picture.marks) == len(titles) == 12
    mark = dialog.picture.marks[0]
    assert mark.other > mark.interval.value and mark.interval.has(mark.truth)
    assert dialog.model.index(0, 2).data() == figure_text(mark.truth, is_share=True)
    assert "◇ true value" in dialog.legend.text()
    picture = dialog.picture.grab(QRect(0, 0, 40, AXIS)).toImage()
    top = {picture.pixel(x, y) for x in range(40) for y in range(AXIS)}
    assert len(top) == 1, "the scale is above the rows"
    assert f"{mark.truth:.3%}"[:4] in dialog.picture.accessibleDescription()
    difference = dialog.model.index(titles.index("B − A · anger"), 1).data()
    assert difference[0] in "+−" and " to " in difference
    figure = dialog.figure()
    assert len(figure.table().rows) == 12 and "anger" in figure.title
    assert b"2025-02" in svg(figure)
    assert_accessible(dialog)
    choose(dialog, "truth", "none")
    qtbot.waitUntil(lambda: state.table is not None, timeout=PATIENCE)
    assert "true" not in dialog.legend.text() and math.isnan(dialog.picture.marks[0].truth)
    choose(dialog, "hand", "none")
    assert "Choose the columns" in dialog.status.text() and not dialog.picture.isVisible()
    choose(dialog, "hand", "predicted_label")
    qtbot.waitUntil(lambda: bool(state.problem), timeout=PATIENCE)
    assert "in the same column" in dialog.status.text()


def test_the_label_of_probabilities_is_chosen(qtbot, tab, studio, tmp_path):
    lines = [f"row {n},{('', 'yes', 'no')[n % 3]},{n / 90:.3f}" for n in range(90)]
    path = tmp_path / "chances.csv"
    path.write_text("\n".join(["text,hand,predicted_chance", *lines, ""]), encoding="utf-8")
    state = EstimatingState(path)
    dialog = estimating_view.open_dialog(state, studio.notices, tab)
    qtbot.waitUntil(lambda: bool(state.problem), timeout=PATIENCE)
    assert "no label in common" in dialog.status.text() and state.table is None
    choose(dialog, "what", "Proportion of “yes”")
    qtbot.waitUntil(lambda: state.table is not None, timeout=PATIENCE)
    assert [row_title(row) for row in state.table.rows] == ["All rows · yes"]
    assert not state.problem and state.labels == ("no", "yes")


def test_a_version_knows_which_rows_were_coded_at_random(qtbot, tab, studio, table):
    folder = studio.home.datasets / "coded" / "1"
    mapping = Mapping(text="text", label="label")
    import_dataset("coded", {"train": table}, Reading(format="csv"), mapping, Split(), folder)
    drawn = {n: {"label": RowCoding(drawn="random")} for n in range(0, ROWS, 8)}
    write_coding(folder, drawn)
    guessed = guess_codes(TableColumns.open(folder), None)
    assert guessed == ("predicted_label", "label", "Truth")
    state = EstimatingState(folder)
    dialog = estimating_view.open_dialog(state, studio.notices, tab)
    qtbot.waitUntil(lambda: state.table is not None, timeout=PATIENCE)
    assert state.table.rows[0].estimate.coded == 50
    assert "50 hand-coded row(s) were not drawn at random" in dialog.notes.text()


def test_the_scale_of_a_picture_has_round_numbers_around_all_figures():
    marks = [Mark("a", Interval(0.31, 0.28, 0.36), 0.2), Mark("b", Interval(0.1, -0.04, 0.2))]
    assert scale_ticks(marks) == [-0.1, 0.0, 0.1, 0.2, 0.3, 0.4]
    nothing = Interval(*[float("nan")] * 3)
    assert scale_ticks([Mark("a", nothing)]) == []
    assert scale_ticks([Mark("a", Interval(5, 5, 5))])[0] <= 5
