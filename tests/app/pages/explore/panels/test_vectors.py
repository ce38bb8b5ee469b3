"""One word in several texts, typed and read in the window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.pages.explore.panels.vectors.figure import figure_of
from app.pages.explore.view import ExplorePage
from tests.app.accessible import assert_accessible


@pytest.fixture
def page(qtbot, workshop, model, wait) -> ExplorePage:
    made = ExplorePage(workshop)
    qtbot.addWidget(made)
    made.resize(1000, 640)
    made.show()
    made.arrive({"model": model, "text": "the cat sat on the mat"})
    wait(lambda: made.study.is_settled and made.study.text == "the cat sat on the mat")
    return made


def test_how_does_a_word_differ_between_texts(page, explorer, wait, qtbot):
    """Four actions: the panel, the word, the other texts, the height."""
    view = page.panels["vectors"]
    page.bench.show_panel("vectors")  # 1
    assert "Select a word" in view.note.text()
    page.study.pick(2)  # 2
    view.texts.setFocus()
    qtbot.keyClicks(view.texts, "a cat sat")  # 3
    QTest.keyClick(view.texts, Qt.Key.Key_Return)
    qtbot.keyClicks(view.texts, "a dog . Cat")
    QTest.keyClick(view.texts, Qt.Key.Key_Return)
    qtbot.keyClicks(view.texts, "a dog")
    wait(lambda: any(len(q.texts) == 4 for q in explorer.of_kind("compare_word")))
    asked = explorer.of_kind("compare_word")[-1]
    assert (asked.word, asked.texts[0]) == ("cat", "the cat sat on the mat")
    answer = explorer.truly(asked)
    assert [row[0][3:] for row in view.matrix.rows.rows] == [
        "the [cat] sat on the mat", "a [cat] sat", "a dog . [Cat]",
    ]  # fmt: skip
    assert "Without the word: 1 text(s)." in view.note.text()
    assert "at layer 3" in view.title.whole()
    view.heights.setFocus()
    view.heights.selectRow(1)  # 4
    assert "at layer 1" in view.title.whole()
    shown = answer.heights[1]
    assert view.matrix.rows.rows[1][1] == f"{shown.cosines[1][0]:.3f}"
    assert view.heights.rows.rows[1][1:4] == tuple(
        f"{value:.3f}" for value in (shown.mean, shown.random, shown.mean - shown.random)
    )
    assert_accessible(view)
    made = figure_of(view._state)
    assert made.array.shape == (4, 3, 3) and len(made.table().rows) == 4 * 3
    qtbot.keyClicks(view.word, "bird")
    wait(lambda: explorer.of_kind("compare_word")[-1].word == "bird")
    explorer.refuse(explorer.of_kind("compare_word")[-1], "No text contains the word “bird”.")
    assert "No text contains the word “bird”." in view.note.text()
