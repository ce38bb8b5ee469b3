"""Templates with fillers and targets in the window."""

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.pages.explore.captions import source
from app.pages.explore.panels.templates.state import parse_words
from app.pages.explore.panels.templates.view import make_figure
from app.widgets.charts import figure as figures
from app.widgets.text.numbers import decimal
from tests.app.accessible import assert_accessible


@pytest.fixture
def page(make_page, model):
    return make_page(model)


@pytest.fixture
def answer_all(explorer, wait):
    """`answer_all(state)` answers until all rows are known; returns the questions."""

    def answer_all(state) -> list:
        questions = explorer.of_kind("score_templates")[-1:]
        explorer.compute(questions[-1])
        while not state.is_complete:
            questions.append(explorer.of_kind("score_templates")[-1])
            explorer.compute(questions[-1])
        return questions

    return answer_all


def type_text(qtbot, field, text: str) -> None:
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, text)


def test_templates_are_scored_and_averaged_or_a_reason_is_shown(
    page, explorer, wait, qtbot, answer_all
):
    """Four actions: the panel, templates, fillers, targets."""
    view, state = page.bench.docks["templates"].panel, page.bench.docks["templates"].panel._state
    page.bench.show_panel("templates")  # 1
    wait(lambda: bool(explorer.of_kind("score_templates")))
    answer_all(state)
    assert "The filler is not in the vocabulary. (“nurse”, “engineer”, “" in view.note.text()
    assert {cell for row in view.grid.rows.rows for cell in row[1:]} == {"–"}
    type_text(qtbot, view.templates, "[TARGET] sat on a [FILLER] .")  # 2
    QTest.keyClick(view.templates, Qt.Key.Key_Return)
    qtbot.keyClicks(view.templates, "the [FILLER] sat . [TARGET]")
    type_text(qtbot, view.fillers, "mat, unhappy, dog")  # 3
    type_text(qtbot, view.targets, "cat, dogs")  # 4
    QTest.keyClick(view.targets, Qt.Key.Key_Return)
    wait(lambda: explorer.of_kind("score_templates")[-1].targets == ("cat", "dogs"))
    questions = answer_all(state)
    assert [question.start for question in questions] == [0, 4] and len(state.rows) == 6
    assert tuple(column.title for column in view.grid.rows.columns) == ("Filler", "cat", "dogs")
    assert [row[0] for row in view.grid.rows.rows] == ["mat", "unhappy", "dog"]
    means = state.values("association").mean(0)
    assert view.grid.rows.rows[1][2] == decimal(means[1, 1], 3)
    assert np.allclose(state.values("association"), state.values("given") - state.values("prior"))
    view.template.setFocus()
    QTest.keyClick(view.template, Qt.Key.Key_Down)
    assert view.grid.rows.rows[0][1] == decimal(state.values("association")[0, 0, 0], 3)
    view.measure.setFocus()
    QTest.keyClick(view.measure, Qt.Key.Key_End)
    assert view.grid.rows.rows[0][1] == decimal(state.values("prior")[0, 0, 0], 3)
    assert_accessible(view)
    figure = make_figure(state)
    assert figure.array.shape == (3, 2, 3, 2) and len(figure.table().rows) == 12
    assert figure.caption.endswith(source(page.state)) and "In “[TARGET] sat" in figure.caption
    assert figure.table().rows[3][4] == "dog ##s"
    picture = figures.svg(figure)
    assert b"unhappy" in picture and b"dogs" in picture
    # an outdated answer is not shown
    view.targets.setText("cat, dog")
    view.targets.returnPressed.emit()
    wait(lambda: explorer.of_kind("score_templates")[-1].targets == ("cat", "dog"))
    first = explorer.of_kind("score_templates")[-1]
    view.targets.setText("cat")
    view.targets.returnPressed.emit()
    explorer.compute(first)
    assert not state.rows
    answer_all(state)
    assert len(state.rows[0].targets) == 1
    page.state.switch_head(0, 0)
    wait(lambda: explorer.of_kind("score_templates")[-1].heads_off == ((0, 0),))
    assert not state.rows
    # the reason for missing scores is shown
    view.templates.setPlainText("no slot")
    wait(lambda: explorer.of_kind("score_templates")[-1].templates == ("no slot",))
    assert not state.rows and make_figure(state) is None
    explorer.refuse(
        explorer.of_kind("score_templates")[-1], "Template 1 must contain [FILLER] exactly once."
    )
    assert "Template 1 must contain [FILLER] exactly once." in view.note.text()
    view.templates.setPlainText("")
    wait(lambda: "Type a template" in view.note.text())


def test_words_are_split_at_commas_without_repetition():
    assert parse_words(" a, b ,a,, big dog\nc") == ("a", "b", "big dog", "c")
