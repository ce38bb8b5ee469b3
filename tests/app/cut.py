"""Texts of widgets that are cut off: shown in less space than they need."""

from collections.abc import Iterator

from PySide6.QtWidgets import QAbstractButton, QLabel, QSizePolicy, QWidget

from app.pages.train.task_step import ChoiceCard


def cut_texts(root: QWidget) -> Iterator[str]:
    """The visible buttons and labels below `root` that are cut off.

    Labels that elide their text, and cards, whose texts are labels, are not.
    """
    for button in root.findChildren(QAbstractButton):
        if button.isVisible() and button.text() and not isinstance(button, ChoiceCard):
            need = button.sizeHint()
            if button.width() < need.width() - 1 or button.height() < need.height() - 1:
                yield f"button “{button.text()}” in {button.size()} of {need}"
    for label in root.findChildren(QLabel):
        if not label.isVisible() or not label.text():
            continue
        if label.wordWrap():
            if label.height() < label.heightForWidth(label.width()) - 1:
                yield f"lines of “{label.text()}” in {label.size()}"
            continue
        elides = label.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Ignored
        if not elides and label.width() < label.sizeHint().width() - 1:
            yield f"label “{label.text()}” in {label.size()}"
