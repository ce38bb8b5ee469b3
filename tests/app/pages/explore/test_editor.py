"""Typing and pasting, also far too much."""

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.pages.explore.model_input import MAX_CHARACTERS
from app.pages.explore.page_parts import Editor


@pytest.fixture
def editor(qtbot) -> Editor:
    made = Editor("Text", "Type")
    qtbot.addWidget(made)
    made.resize(600, 100)
    made.show()
    made.told = []
    made.shortened.connect(made.told.append)
    return made


def pasted(text: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    return data


@pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "\n" * 100_000])
def test_a_hundred_thousand_pasted_characters_are_cut_and_told(qtbot, editor, text):
    editor.insertFromMimeData(pasted(text))
    assert len(editor.toPlainText()) == MAX_CHARACTERS
    assert editor.told[-1] == 100_000
    with qtbot.waitSignal(editor.edited):
        editor.clear()
    assert editor.told[-1] == 0


def test_a_text_set_by_the_program_is_cut_too(editor):
    editor.set_text("x" * 100_000)
    assert len(editor.toPlainText()) == MAX_CHARACTERS
    assert editor.told[-1] == 100_000


def test_what_is_pasted_over_a_selection_has_its_room(editor):
    editor.set_text("x" * MAX_CHARACTERS)
    editor.selectAll()
    editor.insertFromMimeData(pasted("short"))
    assert editor.toPlainText() == "short"
    assert editor.told[-1] == 0


def test_typing_beyond_the_end_of_the_room_changes_nothing(qtbot, editor):
    editor.set_text("x" * MAX_CHARACTERS)
    cursor = editor.textCursor()
    cursor.movePosition(cursor.MoveOperation.End)
    editor.setTextCursor(cursor)
    qtbot.keyClicks(editor, "yz")
    assert editor.toPlainText() == "x" * MAX_CHARACTERS
    assert editor.told[-1] == MAX_CHARACTERS + 1


def test_pasted_markup_stays_text(editor):
    data = pasted("<b>x</b>")
    data.setHtml("<b>bold</b>")
    editor.insertFromMimeData(data)
    assert editor.toPlainText() == "<b>x</b>"


def test_tab_leaves_the_editor(qtbot):
    both = QWidget()
    qtbot.addWidget(both)
    column = QVBoxLayout(both)
    first, second = Editor("Text", "Type"), Editor("Second text", "Type")
    column.addWidget(first)
    column.addWidget(second)
    with qtbot.waitExposed(both):
        both.show()
    both.activateWindow()
    first.setFocus()
    qtbot.keyClick(first, Qt.Key.Key_Tab)
    assert first.toPlainText() == ""
    assert both.focusWidget() is second


def test_the_editor_grows_with_its_lines_and_then_scrolls(qtbot, editor):
    one = editor.sizeHint().height()
    editor.set_text("a\nb")
    qtbot.waitUntil(lambda: editor.sizeHint().height() > one)
    two = editor.sizeHint().height()
    editor.set_text("a\n" * 3)
    qtbot.waitUntil(lambda: editor.sizeHint().height() > two)
    three = editor.sizeHint().height()
    editor.set_text("a\n" * 300)
    assert editor.sizeHint().height() == three


def test_the_editor_has_the_lines_that_its_text_needs_at_any_width(qapp, editor):
    editor.set_text("the cat sat on the mat and saw the dog")
    heights = []
    for width in (600, 180, 600):
        editor.resize(width, editor.height())
        qapp.processEvents()
        heights.append(editor.sizeHint().height())
    assert heights[0] == heights[2] < heights[1]
