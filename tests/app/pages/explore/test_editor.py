"""Typing and pasting, including texts that are too long."""

import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.pages.explore.model_input import MAX_CHARACTERS
from app.pages.explore.page_parts import Editor


@pytest.fixture
def editor(qtbot) -> Editor:
    editor = Editor("Text", "Type")
    qtbot.addWidget(editor)
    editor.resize(600, 100)
    editor.show()
    editor.lengths = []
    editor.shortened.connect(editor.lengths.append)
    return editor


def mime_data(text: str) -> QMimeData:
    data = QMimeData()
    data.setText(text)
    return data


def test_long_texts_are_truncated_and_reported(qtbot, editor):
    for text in ("word " * 20_000, "x" * 100_000, "\n" * 100_000):
        editor.insertFromMimeData(mime_data(text))
        assert len(editor.toPlainText()) == MAX_CHARACTERS
        assert editor.lengths[-1] == 100_000
        with qtbot.waitSignal(editor.edited):
            editor.clear()
        assert editor.lengths[-1] == 0
    editor.set_text("x" * 100_000)
    assert len(editor.toPlainText()) == MAX_CHARACTERS
    assert editor.lengths[-1] == 100_000
    editor.moveCursor(editor.textCursor().MoveOperation.End)
    qtbot.keyClicks(editor, "yz")
    assert editor.toPlainText() == "x" * MAX_CHARACTERS
    assert editor.lengths[-1] == MAX_CHARACTERS + 1
    editor.selectAll()
    data = mime_data("<b>x</b>")
    data.setHtml("<b>bold</b>")
    editor.insertFromMimeData(data)
    assert editor.toPlainText() == "<b>x</b>", "it replaces the selection, without markup"
    assert editor.lengths[-1] == 0


def test_tab_leaves_the_editor(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    column = QVBoxLayout(parent)
    first, second = Editor("Text", "Type"), Editor("Second text", "Type")
    column.addWidget(first)
    column.addWidget(second)
    with qtbot.waitExposed(parent):
        parent.show()
    parent.activateWindow()
    first.setFocus()
    qtbot.keyClick(first, Qt.Key.Key_Tab)
    assert first.toPlainText() == ""
    assert parent.focusWidget() is second


def test_the_editor_grows_with_its_lines_and_then_scrolls(qtbot, editor):
    one_line = editor.sizeHint().height()
    editor.set_text("a\nb")
    qtbot.waitUntil(lambda: editor.sizeHint().height() > one_line)
    two_lines = editor.sizeHint().height()
    editor.set_text("a\n" * 3)
    qtbot.waitUntil(lambda: editor.sizeHint().height() > two_lines)
    three_lines = editor.sizeHint().height()
    editor.set_text("a\n" * 300)
    assert editor.sizeHint().height() == three_lines


def test_the_editor_height_follows_its_wrapped_lines(qapp, editor):
    editor.set_text("the cat sat on the mat and saw the dog")
    heights = []
    for width in (600, 180, 600):
        editor.resize(width, editor.height())
        qapp.processEvents()
        heights.append(editor.sizeHint().height())
    assert heights[0] == heights[2] < heights[1]
