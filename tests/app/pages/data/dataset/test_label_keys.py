"""The buttons that label rows."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from app.pages.data.dataset.editing.keys import LabelKeys


def test_ten_labels_are_whole_on_their_buttons(qtbot) -> None:
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


def test_a_label_that_is_a_digit_is_its_own_key(qtbot) -> None:
    for labels, keys in (
        (("bad", "good"), {"1": "bad", "2": "good", "0": ""}),
        (("0", "1"), {"0": "0", "1": "1", "-": ""}),
        (("1", "4", "5"), {"1": "1", "4": "4", "5": "5", "0": ""}),
        (("0", "10"), {"1": "0", "2": "10", "0": ""}),
    ):
        outer = QWidget()
        qtbot.addWidget(outer)
        shown = LabelKeys(outer)
        shown.show_labels(labels, "no label")
        for key in "-0123456789":
            assert shown.label_of(ord(key)) == keys.get(key)
        buttons = [(one.text(), one.icon().isNull()) for one in shown.findChildren(QPushButton)]
        assert buttons == [(label or "no label", key == label) for key, label in keys.items()]
        assert shown.label_of(Qt.Key.Key_Return) is None
