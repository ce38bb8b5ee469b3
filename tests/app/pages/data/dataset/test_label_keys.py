"""The buttons that label rows."""

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from app.pages.data.dataset.editing.keys import LabelKeys


def test_ten_labels_are_whole_on_their_buttons(qtbot: QtBot) -> None:
    outer = QWidget()
    column = QVBoxLayout(outer)
    keys = LabelKeys()
    column.addWidget(keys)
    column.addStretch(1)
    qtbot.addWidget(outer)
    outer.resize(500, 400)
    outer.show()
    for labels in (("a", "b"), tuple(f"animals and plants {n}" for n in range(9))):
        keys.show_labels(labels, "no label")
        qtbot.waitUntil(lambda: len(keys.findChildren(QPushButton)) == len(keys.labels) + 1)
        buttons = keys.findChildren(QPushButton)
        qtbot.waitUntil(lambda found=buttons: all(b.width() >= b.sizeHint().width() for b in found))
        assert all(b.mapTo(keys, QPoint(b.width(), 0)).x() <= keys.width() for b in buttons)
