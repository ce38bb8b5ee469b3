"""The buttons that label rows."""

import pytest
from PySide6.QtCore import QPoint, Qt
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


@pytest.mark.parametrize(
    "labels, keys",
    [
        (("bad", "good"), {"1": "bad", "2": "good", "0": ""}),
        (("0", "1"), {"0": "0", "1": "1", "-": ""}),
        (("1", "4", "5"), {"1": "1", "4": "4", "5": "5", "0": ""}),
        (("0", "10"), {"1": "0", "2": "10", "0": ""}),
    ],
)
def test_a_label_that_is_a_digit_is_its_own_key(
    qtbot: QtBot, labels: tuple[str, ...], keys: dict[str, str]
) -> None:
    outer = QWidget()
    made = LabelKeys(outer)
    qtbot.addWidget(outer)
    made.show_labels(labels, "no label")
    for key in "-0123456789":
        assert made.label_of(ord(key)) == keys.get(key)
    shown = [(button.text(), button.icon().isNull()) for button in made.findChildren(QPushButton)]
    assert shown == [(label or "no label", key == label) for key, label in keys.items()]
    assert made.label_of(Qt.Key.Key_Return) is None
