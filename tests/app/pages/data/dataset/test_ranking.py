"""Rows still to come are ranked again while rows are labelled; sets and tags are suggested."""

from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.pages.data.dataset.editing.ranking import RANK_EVERY, LabelList
from app.pages.data.dataset.view import DatasetView
from app.widgets.text import numbers
from engine.config.codebook import Drawn
from engine.config.dataset import Mapping, Split
from engine.data.datasets.importing import import_dataset
from engine.data.formats.reading import recognise
from engine.messages.labelling import (
    EstimateGain,
    GainEstimated,
    LabelsSuggested,
    Suggestion,
    SuggestLabels,
)
from engine.messages.question import Refused
from tests.app.accessible import assert_accessible
from tests.app.conftest import StubWorker
from tests.app.pages.data.dataset.test_coding import BOOK, answers, on_disk, open_coded  # noqa: F401


def suggested(
    rows: range | list[int], label: str = "staff", learns: bool = True
) -> LabelsSuggested:
    found = tuple(Suggestion(row=row, label=label, probability=0.7) for row in rows)
    return LabelsSuggested(suggestions=found, rows=len(found), learns=True)


def begin(qtbot, view: DatasetView, workers: list[StubWorker], order: Drawn = "uncertain") -> None:
    """List rows in the order of a model that answers with the last row first."""
    card = view.editing.card
    card.orders.setCurrentIndex(card.orders.findData(order))
    if order not in ("uncertain", "diverse", "likely"):
        card.suggests.setChecked(True)
    qtbot.mouseClick(card.suggest, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: bool(workers))
    workers[-1].done(suggested(range(59, -1, -1)))
    qtbot.waitUntil(lambda: view.model.index(0, 2).data() not in (None, "…"))
    qtbot.waitUntil(view.table.hasFocus)


def test_rows_after_the_one_in_hand_get_a_new_order(
    qtbot,
    page,
    answers,  # noqa: F811
    one_time_workers: list[StubWorker],
):
    view = open_coded(qtbot, page, answers)
    view.editing.card.control.setChecked(True)
    begin(qtbot, view, one_time_workers)
    assert len(one_time_workers) == 1
    QTest.keyClicks(view.table, "1" * RANK_EVERY)
    assert len(one_time_workers) == 2, "asked again after so many labels"
    again = one_time_workers[-1].question
    assert isinstance(again, SuggestLabels) and again.order == "uncertain"
    draws = view.editing.state.draws
    listed = [int(row) for row in view.state.indices]
    met = {row for shown in listed[:RANK_EVERY] for row in draws[shown].also}
    outside = {row for row in listed[:RANK_EVERY] if not draws[row].control} - met
    assert {*again.labels} == outside, "the control sample is no training data"
    first = int(view.state.indices[RANK_EVERY])
    view.editing.review.from_codebook = True
    one_time_workers[-1].done(suggested(range(60), "price"))
    QTest.keyClicks(view.table, "1")  # the next row is in hand before the order is there
    place = RANK_EVERY + 1
    assert view.table.currentIndex().row() == place
    qtbot.waitUntil(lambda: view.editing.review.ranking.label_count == RANK_EVERY)
    now = [int(row) for row in view.state.indices]
    assert now[: place + 1] == listed[: place + 1] and now[RANK_EVERY] == first
    assert sorted(now) == list(range(60)), "each row is still to come, once"
    rest = [row for row in now[place + 1 :] if not view.editing.state.draws[row].control]
    assert rest == sorted(rest) and now != listed
    controls = [n for n, row in enumerate(now) if view.editing.state.draws[row].control]
    assert controls[:11] == list(range(4, 59, 5)), "every fifth row is still a random one"
    assert view.table.currentIndex().row() == place and view.table.hasFocus()
    for row in range(place - 2, place + 5):
        assert view.model.index(row, 2).data() == f"the answer of person {now[row]}"
    assert "after 10 label" in view.editing.card.result.text()
    assert "definitions" not in view.editing.card.result.text(), "from labels now"
    assert view.editing.review.suggestions[rest[0]].label == "price"
    labelled = [row for row in listed[:place] if row in view.editing.review.suggestions]
    assert {view.editing.review.suggestions[row].label for row in labelled} == {"staff"}
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert len(on_disk(view).rows) >= place + 1

    view.editing.review.end()
    QTest.keyClicks(view.table, "1" * (2 * RANK_EVERY))
    assert len(one_time_workers) == 2, "the list has ended"


def test_the_gain_of_more_labels_is_shown_and_estimated_again(
    qtbot,
    page,
    answers,  # noqa: F811
    one_time_workers: list[StubWorker],
):
    view = open_coded(qtbot, page, answers)
    curve = view.editing.curve
    assert curve.isHidden()
    view.editing.state.set_label(list(range(49)), "price")
    assert curve.isHidden(), "a curve needs 50 rows"
    view.editing.state.set_label([49], "staff")
    assert curve.isVisible() and curve.chart.isHidden()
    qtbot.mouseClick(curve.gain.button, Qt.MouseButton.LeftButton)
    asked = one_time_workers[-1].question
    assert isinstance(asked, EstimateGain) and asked.more == 200 and len(asked.labels) == 50
    assert not curve.gain.button.isVisible() and curve.gain.progress.isVisible()
    found = GainEstimated(
        rows=50,
        more=200,
        accuracy=0.8,
        gain=0.021,
        low=0.009,
        high=0.034,
        hardly_pays=False,
        label="staff",
    )
    one_time_workers[-1].done(found)
    assert curve.gain.text.text() == "200 more row(s): +2.1 points (0.9 to 3.4), mostly “staff”."
    assert "light model" in curve.gain.note.text() and curve.gain.button.isVisible()
    view.editing.gain.result = found.model_copy(update={"label": "", "hardly_pays": True})
    view.editing.gain.changed.emit()
    assert curve.gain.text.text().endswith("(0.9 to 3.4). More labels hardly pay.")
    view.editing.gain.refresh(Path())
    assert len(one_time_workers) == 1, "as many labels as before"
    view.editing.state.set_label(list(range(50, 56)), "price")
    view.editing.gain.refresh(Path())
    assert len(one_time_workers) == 2, "a tenth more"
    assert_accessible(curve)


def test_a_given_order_stays_and_gets_new_suggestions_until_the_model_fails(
    qtbot,
    page,
    answers,  # noqa: F811
    one_time_workers: list[StubWorker],
):
    view = open_coded(qtbot, page, answers)
    begin(qtbot, view, one_time_workers, "file")
    QTest.keyClicks(view.table, "1" * RANK_EVERY)
    again = one_time_workers[-1].question
    assert isinstance(again, SuggestLabels) and again.rows == tuple(range(RANK_EVERY, 60))
    one_time_workers[-1].done(suggested(range(RANK_EVERY, 60), "price"))
    assert view.state.indices.tolist() == list(range(60))
    assert view.editing.review.suggestions[RANK_EVERY].label == "price"
    QTest.keyClicks(view.table, "1" * RANK_EVERY)
    one_time_workers[-1].refused(Refused(problem="There is not enough memory.", advice="Wait."))
    asked = len(one_time_workers)
    QTest.keyClicks(view.table, "1" * (2 * RANK_EVERY))
    assert len(one_time_workers) == asked == 3, "it is not asked again"


@pytest.mark.parametrize("has_control", [True, False])
def test_draws_of_the_same_first_rows_are_the_same(has_control):
    rng = np.random.default_rng(3)
    for count in (7, 60, 200):
        rows = np.arange(count)
        pool = frozenset(range(count + 20)) if has_control else frozenset()
        listed = LabelList(rows, "uncertain", pool, frozenset(range(count, count + 20)), 5)
        draws = listed.draw(rng.permutation(rows).tolist())
        for shown in (1, 4, 5, 6, count // 2):
            before = [row for row in [*draws][:shown] if not draws[row].control]
            rest = [row for row in rng.permutation(rows).tolist() if row not in [*draws][:shown]]
            again = listed.draw([*before, *rest])
            assert [*again.values()][:shown] == [*draws.values()][:shown]
            assert {*again} >= {*rows.tolist()}


def test_sets_are_accepted_as_suggested(
    qtbot,
    page,
    answers,  # noqa: F811
    one_time_workers: list[StubWorker],
):
    book = BOOK.model_copy(update={"kind": "labels"})
    view = open_coded(qtbot, page, answers, book)
    begin(qtbot, view, one_time_workers)
    first, second = view.state.indices[:2].tolist()
    view.editing.review.suggestions[first] = Suggestion(
        row=first, label='["price", "staff"]', probability=0.4
    )
    column = view.model.suggestion_column
    assert view.model.index(0, column).data() == "price, staff  " + numbers.percent(0.4, 0)
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert on_disk(view).rows[first].cells == {"topic": '["price", "staff"]'}
    assert view.editing.review.agreement == 1 and view.table.currentIndex().row() == 1
    QTest.keyClicks(view.table, "1")
    QTest.keyClick(view.table, Qt.Key.Key_Return)
    assert on_disk(view).rows[second].cells == {"topic": '["price"]'}, "own labels are kept"


def test_yes_no_columns_are_accepted_in_one_step(qtbot, page, write):
    file = write("flags.csv", "\n".join(["text,good,long", *["film,0,1"] * 9, "last,,"]) + "\n")
    folder = page._studio.home.datasets / "flags" / "1"
    mapping = Mapping(text="text", flags=("good", "long"))
    import_dataset("flags", {"all": file}, recognise(file).reading, mapping, Split(), folder)
    page.arrive(folder)
    qtbot.waitUntil(lambda: page.dataset is not None and page.dataset.editing.card.isVisible())
    view = page.dataset
    state = view.editing.state
    assert view.editing.card.orders.findData("uncertain") >= 0
    state.accept(9, '["long"]')
    assert on_disk(view).rows[9].cells == {"good": "0", "long": "1"}
    assert state.has_label(9, '["long"]') and state.training_labels() == {9: '["long"]'}
    state.stack.undo()
    assert not on_disk(view).rows, "in one step"


def test_keys_pressed_while_the_model_computes_decide_on_the_row_that_was_shown(
    qtbot,
    page,
    answers,  # noqa: F811
    one_time_workers: list[StubWorker],
):
    view = open_coded(qtbot, page, answers)
    editing, card = view.editing, view.editing.card
    editing.state.set_label([0, 1], "staff")
    card.orders.setCurrentIndex(card.orders.findData("uncertain"))
    card.suggest.setFocus()
    QTest.keyClick(card.suggest, Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: bool(one_time_workers))

    def labelled() -> dict[int, str]:
        rows = on_disk(view).rows.items()
        return {row: edit.cells["topic"] for row, edit in rows if edit.cells}

    def press(key: str) -> int:
        """Press a key in the widget with the focus; returns the row that was in hand."""
        row = int(view.state.indices[view.table.currentIndex().row()])
        QTest.keyClicks(QApplication.focusWidget(), key)
        return row

    assert press("1") == 2, "the first row without a label"
    assert press("s") == 3 and press(" ") == 4, "the next ones; space skips"
    assert editing.review.is_asking and {*labelled()} == {0, 1, 2, 3}
    one_time_workers[-1].done(suggested(range(59, -1, -1)))
    assert view.state.indices.tolist() == [5, *range(59, 5, -1)], "without those decided on"
    assert press("1") == 5, "the row shown before the list was there"
    assert press("1") == 59
    assert labelled() == {0: "staff", 1: "staff", 2: "price", 3: "staff", 5: "price", 59: "price"}
    assert editing.state.coding(4).skipped
    drawn = {row: editing.state.coding(row).drawn for row in (2, 5, 59)}
    assert drawn == {2: "file", 5: "file", 59: "uncertain"}

    view.search.setText("no such text")
    qtbot.waitUntil(lambda: view.model.rowCount() == 0)
    assert editing.review.ranking.in_hand is None, "no row is shown"
