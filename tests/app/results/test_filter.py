"""The filter as a sentence whose parts are changed, added and removed by keyboard."""

from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from app.notices import Notices
from app.results.condition_forms import Form, as_form, subjects
from app.results.filter_bar import FilterBar
from app.results.state import ResultsState
from engine.results.conditions import (
    Between,
    CellBetween,
    CellContains,
    CellHasWord,
    CellIs,
    CellMatches,
    Condition,
    HasSpan,
    LabelIs,
    Outcome,
    Rows,
    ScoreBetween,
)
from engine.results.predictions import Predictions
from tests.app.accessible import assert_accessible
from tests.engine.results.rows import class_rows, tag_rows

Open = Callable[[Predictions], FilterBar]
CLASSIFIED = class_rows(
    ["good", "good", "bad"], ["good", "bad", "bad"], text=["fine", "so so", "dull"]
)
TAGGED = tag_rows([("Ann met Bob", "B-PER O B-PER", "B-PER O O")])


@pytest.fixture
def open_filter(qtbot, tmp_path) -> Open:
    """The filter of predictions, in a separate window that has the focus."""

    def open_bar(predictions: Predictions) -> FilterBar:
        notices = Notices()
        state = ResultsState(notices)
        bar = FilterBar(state, notices)
        state.setParent(bar)
        notices.setParent(bar)
        qtbot.addWidget(bar)
        bar.resize(500, 300)
        with qtbot.waitActive(bar):
            bar.show()
            bar.activateWindow()
        predictions.write(tmp_path / "validation.parquet")
        with qtbot.waitSignal(state.listed):
            state.open(tmp_path / "validation.parquet")
        return bar

    return open_bar


def chip_texts(bar: FilterBar) -> list[str]:
    return [chip.text() for chip in bar.chips]


def test_a_condition_is_edited_by_keyboard(open_filter, qtbot):
    bar = open_filter(CLASSIFIED)
    state = bar._state
    conditions = (LabelIs(side="gold", label="good"), LabelIs(side="predicted", label="bad"))
    state.choose("confusion", conditions)
    bar.chips[0].setFocus()
    QTest.keyClick(bar.chips[0], Qt.Key.Key_Space)
    editor = bar.editor
    qtbot.waitUntil(editor.isVisible)
    label = QApplication.focusWidget()
    assert label is editor.values[0]
    assert label.currentText() == "good"
    QTest.keyClick(label, Qt.Key.Key_Up)  # to “bad”
    QTest.keyClick(label, Qt.Key.Key_Tab, Qt.KeyboardModifier.ShiftModifier)
    assert QApplication.focusWidget() is editor.operator
    QTest.keyClick(editor.operator, Qt.Key.Key_Down)  # to “is not”
    assert editor.values[0].currentText() == "bad"
    with qtbot.waitSignal(state.listed):
        QTest.keyClick(editor.values[0], Qt.Key.Key_Return)
    assert chip_texts(bar) == ["true label is not “bad”", "predicted is “bad”"]
    assert state.rows.tolist() == [1]
    assert bar.chips[0].hasFocus()
    assert state.chosen_by("confusion") == ()  # its cell no longer matches the filter
    assert not editor.isVisible()


def test_escape_cancels_an_edit_and_the_cross_removes_a_condition(open_filter, qtbot):
    bar = open_filter(CLASSIFIED)
    bar._state.choose("a", (Outcome(right=False), CellContains(column="text", text="so")))
    bar.chips[1].click()
    qtbot.waitUntil(bar.editor.isVisible)
    QTest.keyClicks(bar.editor.values[0], "nothing")
    QTest.keyClick(bar.editor.values[0], Qt.Key.Key_Escape)
    assert chip_texts(bar) == ["the prediction is wrong", "“text” contains “so”"]
    assert bar.chips[1].hasFocus()
    bar.remove_buttons[0].setFocus()
    QTest.keyClick(bar.remove_buttons[0], Qt.Key.Key_Space)
    assert chip_texts(bar) == ["“text” contains “so”"]
    assert bar.remove_buttons[0].hasFocus()
    assert_accessible(bar)
    assert bar.chips[0].accessibleName() == "Change: “text” contains “so”"
    assert bar.remove_buttons[0].accessibleName() == "Remove: “text” contains “so”"


def test_a_condition_is_added_and_its_problem_is_shown(open_filter, qtbot):
    bar = open_filter(CLASSIFIED)
    bar.add.click()
    editor = bar.editor
    qtbot.waitUntil(editor.isVisible)
    QTest.keyClick(editor.values[0], Qt.Key.Key_Return)
    assert editor.problem.text() == "Type a text."
    editor.operator.setCurrentText("matches the regular expression")
    QTest.keyClicks(editor.values[0], "s[o")
    QTest.keyClick(editor.values[0], Qt.Key.Key_Return)
    assert "“s[o” is not a valid regular expression." in editor.problem.text()
    assert bar.chips == []
    editor.operator.setCurrentText("is between")
    assert [field.text() for field in editor.values] == ["", ""]
    editor.operator.setCurrentText("matches the regular expression")
    QTest.keyClicks(editor.values[0], "]$")
    with qtbot.waitSignal(bar._state.listed):
        QTest.keyClick(editor.values[0], Qt.Key.Key_Return)
    assert chip_texts(bar) == ["“text” matches s[o]$"]
    assert bar._state.rows.tolist() == [1]
    assert bar.chips[0].hasFocus()


def test_the_bounds_of_a_range_are_checked(open_filter, qtbot):
    bar = open_filter(CLASSIFIED)
    bar._state.choose("length", (Between(figure="words", least=2, most=9),))
    bar.chips[0].click()
    editor = bar.editor
    qtbot.waitUntil(editor.isVisible)
    low, high = editor.values
    low.set_number(None)
    editor.apply()
    assert editor.problem.text() == "Type a number."
    low.set_number(10)
    editor.apply()
    assert editor.problem.text() == "The lower end must be below the upper one."
    low.set_number(1)
    high.set_number(1.5)
    with qtbot.waitSignal(bar._state.listed):
        QTest.keyClick(high, Qt.Key.Key_Return)
    assert bar._state.conditions == (Between(figure="words", least=1, most=1.5),)
    assert sorted(bar._state.rows.tolist()) == [0, 2]


CONDITIONS: tuple[Condition, ...] = (
    LabelIs(side="gold", label="bad"),
    LabelIs(side="predicted", label="good", holds=False),
    Outcome(right=True),
    Outcome(right=False),
    Between(figure="loss", least=0.5),
    Between(figure="score"),
    ScoreBetween(label="bad", most=0.5),
    CellIs(column="text", value="a"),
    CellContains(column="text", text="a"),
    CellHasWord(column="text", word="a"),
    CellHasWord(column="text", word="a", first=True),
    CellMatches(column="text", pattern="a"),
    CellBetween(column="text", least=1, most=2),
)
SPANS: tuple[Condition, ...] = (HasSpan(), HasSpan(error="type", gold="PER", predicted=None))


def test_every_condition_can_be_edited():
    for condition in (*CONDITIONS, *SPANS):
        typed = as_form(condition)
        predictions = TAGGED if isinstance(condition, HasSpan) else CLASSIFIED
        by_key = {subject.key: subject for subject in subjects(predictions, typed)}
        operator = by_key[typed.key].operators[typed.operator]
        assert operator.make(*typed.values) == condition
        assert len(operator.values) == len(typed.values)


def test_individually_selected_rows_can_only_be_removed(open_filter):
    bar = open_filter(CLASSIFIED)
    bar._state.choose("comparison", (Rows(rows=(1,)),))
    assert not bar.chips[0].isEnabled()
    assert as_form(Rows(rows=(1,))) is None
    bar.remove_buttons[0].click()
    assert bar.chips == []


def test_every_operator_makes_a_condition_with_a_mask():
    for predictions in (CLASSIFIED, TAGGED):
        for subject in subjects(predictions, Form(("cell", "text"), 1, ("",))):
            for operator in subject.operators:
                values = [
                    {"text": "a", "number": 1.0, "choice": value.choices[-1:]}[value.kind]
                    for value in operator.values
                ]
                values = [c[0][0] if isinstance(c, tuple) else c for c in values]
                assert len(operator.make(*values).mask(predictions)) == len(predictions)
