"""A combo box elides a long text and has the full text in its tooltip."""

import pytest
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QHelpEvent, QIcon, QPixmap
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from app import theme
from app.widgets import layouts
from app.widgets.forms.controls import ComboBox

LONG = "a data set of a user who likes names that say everything"


@pytest.fixture
def box(qtbot: QtBot) -> ComboBox:
    box = ComboBox()
    box.addItems([LONG, "short"])
    qtbot.addWidget(box)
    box.resize(160, 28)
    box.show()
    return box


def test_a_text_that_does_not_fit_ends_in_an_ellipsis(box):
    shown = box.shown_text()
    assert shown.endswith("…") and LONG.startswith(shown[:-1])
    narrow = box.grab().toImage()
    box.setItemText(0, shown)
    assert box.grab().toImage() == narrow  # what is painted
    box.resize(600, 28)
    box.setItemText(0, LONG)
    assert box.shown_text() == LONG


def test_icons_reduce_the_text_width_and_placeholders_are_elided(box):
    before = box.shown_text()
    pixmap = QPixmap(16, 16)
    pixmap.fill("red")
    box.setItemIcon(0, QIcon(pixmap))
    assert len(box.shown_text()) < len(before)
    box.setCurrentIndex(-1)
    assert box.shown_text() == ""
    box.setPlaceholderText(LONG)
    assert box.shown_text() == before


def test_only_an_elided_text_has_a_tooltip(box, qtbot):
    def request_tooltip() -> str:
        QToolTip.hideText()
        point = QPoint(5, 5)
        event = QHelpEvent(QEvent.Type.ToolTip, point, box.mapToGlobal(point))
        QApplication.sendEvent(box, event)
        return QToolTip.text()

    assert request_tooltip() == LONG
    box.setCurrentIndex(1)
    qtbot.waitUntil(lambda: request_tooltip() == "")
    box.setToolTip("Which data set")
    box.setCurrentIndex(0)
    assert request_tooltip() == "Which data set"


@pytest.mark.parametrize("theme_name", ["light", "dark"])
def test_a_popup_shows_all_its_items(qtbot, qapp, theme_name):
    theme.apply(qapp, theme_name)
    try:
        window = QWidget()
        theme.set_style(window)
        boxes = [ComboBox(items=[(str(n), n) for n in range(count)]) for count in (1, 2, 3, 8)]
        boxes[-1].setEditable(True)
        layouts.column(*boxes, parent=window)
        qtbot.addWidget(window)
        window.show()
        window.activateWindow()
        for box in boxes:
            box.view()  # created without the focus, which has another border
            box.setFocus()
            qtbot.waitUntil(box.hasFocus)
            box.showPopup()
            view = box.view()
            qtbot.waitUntil(view.isVisible)
            last = view.visualRect(view.model().index(box.count() - 1, 0))
            assert view.viewport().rect().bottom() >= last.bottom()
            frame = view.height() - view.viewport().height()
            assert frame <= 2, "Qt may compute the height before it knows a padding"
            box.hidePopup()
    finally:
        theme.apply(qapp, "light")


def test_a_box_of_its_preferred_size_shows_its_full_text(qtbot):
    for length in range(1, len(LONG) + 1):
        box = ComboBox()
        qtbot.addWidget(box)
        text = LONG[:length].rstrip()  # Qt ignores a trailing blank
        box.addItem(text)
        box.resize(box.sizeHint())
        assert box.shown_text() == text
