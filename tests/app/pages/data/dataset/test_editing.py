"""Rows are corrected in place: by keys, by typing, several at once, with undo; then saved."""

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QApplication,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QTableView,
    QWidget,
)

from app.pages.data.dataset.editing.cells import LabelDelegate
from app.pages.data.dataset.table import LEAD_COLUMNS
from app.pages.data.dataset.view import DatasetView
from app.pages.data.view import DataPage
from app.widgets.forms.label_keys import LabelKeys, assign_keys
from engine.config.codebook import Code
from engine.data.columns.words import split_words
from engine.data.datasets.differences import differences
from engine.data.datasets.store import open_dataset
from tests.app.accessible import assert_accessible
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view

FLAGS = QItemSelectionModel.SelectionFlag


@pytest.fixture
def view(qtbot, page: DataPage, reviews: Path) -> DatasetView:
    """120 reviews: label “0” for every third, “1” for the others; the table has the focus."""
    view = open_view(qtbot, page, reviews)
    qtbot.waitUntil(lambda: view.table.selectionModel() is not None, timeout=PATIENCE)
    qtbot.waitUntil(view.editing.keys.isVisible, timeout=PATIENCE)
    view.table.setFocus()
    return view


def choose(view: DatasetView, *rows: int, column: int = 3) -> None:
    """Select rows; the last one is current."""
    model = view.table.selectionModel()
    model.clearSelection()
    for row in rows:
        model.setCurrentIndex(view.model.index(row, column), FLAGS.Select | FLAGS.Rows)


def label(view: DatasetView, row: int) -> str:
    return view.model.index(row, 3).data()


def test_labels_and_texts_are_edited_undone_kept_and_become_the_next_version(qtbot, page, view):
    choose(view, 0)
    qtbot.keyClick(view.table, Qt.Key.Key_1)
    assert label(view, 0) == "1"
    assert view.table.currentIndex().row() == 1
    assert view.editing.bar.isVisible()
    assert view.editing.bar.count.text()[:2] == "1 "
    qtbot.keyClick(view.table, Qt.Key.Key_1)  # it has this label already
    assert view.editing.bar.count.text()[:2] == "1 "
    qtbot.keyClick(view.table, Qt.Key.Key_Minus)
    assert label(view, 2) == "" and view.table.currentIndex().row() == 3
    view.editing.state.stack.undo()
    assert view.table.currentIndex().row() == 2, "the cursor returns with the edit"
    qtbot.keyClick(view.table, Qt.Key.Key_Minus)
    assert view.editing.bar.save.text() == "Sa&ve as version 2"
    assert_accessible(view)
    QApplication.processEvents()
    assert view.editing.keys.mapTo(view, QPoint(0, 0)).y() > 0
    qtbot.mouseClick(view.editing.bar.discard, Qt.MouseButton.LeftButton)
    choose(view, 0, 3, 6)
    qtbot.keyClick(view.table, Qt.Key.Key_1)
    assert [label(view, row) for row in (0, 3, 6)] == ["1"] * 3
    qtbot.mouseClick(view.editing.bar.undo, Qt.MouseButton.LeftButton)
    assert [label(view, row) for row in (0, 3, 6)] == ["0"] * 3
    assert view.editing.bar.count.text() == "No changes"
    assert view.table.currentIndex().row() == 0 and view.editing.selected() == [0]
    qtbot.mouseClick(view.editing.bar.redo, Qt.MouseButton.LeftButton)
    assert view.editing.bar.count.text()[:2] == "3 "
    qtbot.mouseClick(view.editing.bar.discard, Qt.MouseButton.LeftButton)
    assert [label(view, row) for row in (0, 3, 6)] == ["0"] * 3

    # a text is edited in place
    choose(view, 1, column=2)
    qtbot.keyClick(view.table, Qt.Key.Key_F2)
    editor = view.table.viewport().findChild(QPlainTextEdit)
    assert editor is not None and editor.toPlainText() == "the film was very good 1"
    qtbot.keyClicks(editor, "9 lives")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    assert view.model.index(1, 2).data() == "9 lives"
    assert "9 lives" in view.row_text.toPlainText()
    qtbot.keyClick(view.table, Qt.Key.Key_F2)
    editor = view.table.viewport().findChildren(QPlainTextEdit)[-1]
    qtbot.keyClicks(editor, "nothing")
    qtbot.keyClick(editor, Qt.Key.Key_Escape)
    assert view.model.index(1, 2).data() == "9 lives"
    qtbot.mouseClick(view.editing.bar.discard, Qt.MouseButton.LeftButton)

    # edits survive and become the next version
    choose(view, 0)
    qtbot.keyClick(view.table, Qt.Key.Key_1)
    choose(view, 4, 5)
    qtbot.keyClick(view.table, Qt.Key.Key_Delete)
    view.model.setData(view.model.index(7, 1), "test")
    folder = view.state.folder
    page.show_list()  # closes the page of the data set
    page.open_dataset(folder)
    reopened = page.dataset
    qtbot.waitUntil(lambda: len(reopened.editing.state.rows) == 4, timeout=PATIENCE)
    qtbot.waitUntil(lambda: reopened.model.index(7, 1).data() == "Test", timeout=PATIENCE)
    assert reopened.model.index(4, 2).data(Qt.ItemDataRole.FontRole).strikeOut()
    qtbot.mouseClick(reopened.editing.bar.save, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.dataset.state.folder.name == "2", timeout=PATIENCE)
    old, new = open_dataset(folder), open_dataset(folder.parent / "2")
    assert new.spec.made_from == 1 and len(new.spec.changes) == 3
    changes = differences(old, new)
    assert [change.line for change in changes] == [2, 9, 6, 7]
    assert changes[0].cells == {"label": ("0", "1")} and changes[1].split is not None
    assert not list(page._studio.home.edits.glob("*")), "no unsaved edits remain"


def test_several_labels_of_a_row_are_turned_on_and_off(qtbot, page, write):
    rows = [f"text {n},{('a;b', 'b;c', 'a', 'c;a')[n % 4]}" for n in range(24)]
    view = open_view(qtbot, page, write("many.csv", "text,labels\n" + "\n".join(rows) + "\n"))
    qtbot.waitUntil(view.editing.keys.isVisible, timeout=PATIENCE)
    view.table.setFocus()
    choose(view, 0, 1)
    qtbot.keyClick(view.table, Qt.Key.Key_3)
    assert [label(view, row) for row in (0, 1)] == ["a|b|c", "b|c"]
    qtbot.keyClick(view.table, Qt.Key.Key_3)
    assert [label(view, row) for row in (0, 1)] == ["a|b", "b"]


def test_the_words_follow_the_selected_row_and_are_tagged(qtbot, page, tagged):
    """They follow by mouse, by keys, and after a search, in which no row is highlighted."""
    view = open_view(qtbot, page, tagged)
    table, words = view.table, view.editing.words
    qtbot.waitUntil(words.isVisible, timeout=PATIENCE)
    text = view.state.columns.index(view.state.spec.mapping.text) + LEAD_COLUMNS

    def is_in_sync() -> bool:
        """True if the only highlighted row is the sentence whose words are shown."""
        (row,) = table.selectionModel().selectedRows()
        qtbot.waitUntil(lambda: view.model.index(row.row(), text).data() != "…", timeout=PATIENCE)
        cells = view.model.row_cells(row.row())
        sentence = dict(cells)[view.state.spec.mapping.text]
        return words.words == split_words(sentence) and len(words.tags) == len(words.words)

    for row in (0, 3, 17, 9):
        index = view.model.index(row, text)
        table.scrollTo(index)
        position = table.visualRect(index).center()
        qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=position)
        assert is_in_sync() and table.currentIndex().row() == row
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_PageDown, Qt.Key.Key_Up):
        qtbot.keyClick(table, key)
        assert is_in_sync()
    before = view.model.rowCount()
    view.search.setText(max(words.words, key=len))
    qtbot.waitUntil(lambda: 0 < view.model.rowCount() < before, timeout=PATIENCE)
    assert not table.selectionModel().hasSelection()
    assert words.words == [] and words.tags == [], "no row is highlighted"
    view.table.setFocus()
    qtbot.keyClick(words, Qt.Key.Key_1)
    assert not view.editing.state.rows, "no word is tagged"
    table.selectRow(0)
    assert is_in_sync()

    # words are tagged by selecting them
    view._show_all()
    qtbot.waitUntil(lambda: view.model.rowCount() == before, timeout=PATIENCE)
    view.table.selectRow(0)
    assert is_in_sync()
    assert words.words[0] == "Ada" and words.words[2:] == ["saw", "Paris"]
    assert words.tags == ["B-person", "I-person", "O", "B-place"]
    point = words.box(2).center().toPoint()
    qtbot.mouseClick(words, Qt.MouseButton.LeftButton, pos=point)
    words.setFocus()
    qtbot.keyClick(words, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert words.selection == (2, 3)
    qtbot.keyClick(words, Qt.Key.Key_1)  # person
    assert words.tags == ["B-person", "I-person", "B-person", "I-person"]
    qtbot.keyClick(words, Qt.Key.Key_Home)
    qtbot.keyClick(words, Qt.Key.Key_0)
    assert words.tags == ["O", "B-person", "B-person", "I-person"]
    view.editing.state.stack.undo()
    assert words.tags[:2] == ["B-person", "I-person"]


def test_the_passage_follows_the_selected_row_and_its_words_become_the_answer(qtbot, page, write):
    """Also with characters of two UTF-16 units, and line breaks of two characters."""
    passage = "\U0001f6a2 The ship sank\r\nin 1912."
    rows = [{"question": f"When {n}?", "context": passage, "answers": ["ship"]} for n in range(12)]
    file = write("asked.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    view = open_view(qtbot, page, file)
    answers = view.editing.answers
    qtbot.waitUntil(answers.isVisible, timeout=PATIENCE)
    view.table.selectRow(3)
    assert answers.question.text() == "When 3?" and answers.answers == (("ship", 6),)
    start = passage.index("sank")
    answers.select(start, start + 9)
    assert answers.selection() == ("sank\r\nin", start)
    answers.select(passage.index("1912"), passage.index("1912") + 4)
    answers.use.click()
    column = view.state.spec.mapping.answers
    written = f'[{{"text": "1912", "answer_start": {passage.index("1912")}}}]'
    assert view.editing.state.rows[3].cells == {column: written}
    assert answers.given.text() == "Answers: “1912”"
    answers.select(start, start + 4)
    qtbot.keyClick(answers.passage, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert [answer.text for answer in answers.answers] == ["1912", "sank"]
    assert len(answers.passage.extraSelections()) == 2
    view.table.selectRow(4)
    qtbot.keyClick(answers.passage, Qt.Key.Key_Delete)
    assert view.editing.state.rows[4].cells == {column: ""} and not answers.answers
    view.editing.state.stack.undo()
    assert [answer.text for answer in answers.answers] == ["ship"]
    assert_accessible(view)


@pytest.mark.parametrize("keys, label", [((), "pos"), ((Qt.Key.Key_Down,), "positive")])
def test_enter_keeps_a_typed_label_or_takes_the_chosen_completion(qtbot, keys, label):
    model = QStandardItemModel(1, 1)
    table = QTableView()
    qtbot.addWidget(table)
    table.setModel(model)
    table.setItemDelegate(LabelDelegate(("positive", "negative"), table))
    table.show()
    table.edit(model.index(0, 0))
    editor = table.findChildren(QLineEdit)[-1]
    QTest.keyClicks(editor, "pos")
    popup = editor.completer().popup()
    qtbot.waitUntil(popup.isVisible)
    for key in (*keys, Qt.Key.Key_Return):
        QTest.keyClick(popup, key)
    qtbot.waitUntil(lambda: model.index(0, 0).data() == label)


def test_more_than_nine_labels_have_keys(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    keys = LabelKeys(window)
    labels = [f"code {n}" for n in range(1, 25)]
    keys.show_labels(assign_keys([Code(label=x) for x in labels]), labels, "no label")
    for key, label in (
        (Qt.Key.Key_9, labels[8]),
        (Qt.Key.Key_Q, labels[9]),
        (Qt.Key.Key_E, labels[11]),
        (Qt.Key.Key_P, labels[18]),
        (Qt.Key.Key_0, ""),
        (Qt.Key.Key_A, None),
    ):
        assert keys.find_label(key) == label
    assert len(keys.findChildren(QPushButton)) == 20
