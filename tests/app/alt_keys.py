"""Alt keys of controls: each letter belongs to one visible control."""

from collections.abc import Iterator

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QPushButton, QTabBar, QWidget


def assert_distinct_keys(window: QWidget, *exempt: type[QWidget]) -> None:
    """Fail if two visible controls have the same letter, or a button has none.

    Buttons inside one of `exempt`, parts of a choice, those with a shortcut and Cancel, which
    is visible only while work goes on, need none.
    """
    by_letter: dict[str, list[str]] = {}
    for letter, text in mnemonics(window):
        by_letter.setdefault(letter, []).append(text)
    clashes = {letter: texts for letter, texts in by_letter.items() if len(texts) > 1}
    assert not clashes, clashes
    assert not (missing := list(_without_mnemonic(window, exempt))), missing


def mnemonics(window: QWidget) -> Iterator[tuple[str, str]]:
    for button in _visible(window, QAbstractButton):
        yield from _mnemonic(button.text())
    for label in _visible(window, QLabel):
        if label.buddy() is not None:
            yield from _mnemonic(label.text())
    for bar in _visible(window, QTabBar):
        for tab in range(bar.count()):
            if bar.isTabVisible(tab):
                yield from _mnemonic(bar.tabText(tab))


def _mnemonic(text: str) -> Iterator[tuple[str, str]]:
    letter = QKeySequence.mnemonic(text).toString()
    if letter:
        yield letter, text


def _without_mnemonic(window: QWidget, exempt: tuple[type[QWidget], ...]) -> Iterator[str]:
    for kind in (QPushButton, QCheckBox):
        for button in _visible(window, kind):
            needs_none = button.property("segment") or not button.shortcut().isEmpty()
            if not needs_none and button.text() != "Cancel" and not _is_inside(button, exempt):
                yield button.text()


def _visible(window: QWidget, kind: type[QWidget]) -> Iterator[QWidget]:
    return (w for w in window.findChildren(kind) if w.isVisible())


def _is_inside(widget: QWidget | None, kinds: tuple[type[QWidget], ...]) -> bool:
    while widget is not None:
        if isinstance(widget, kinds):
            return True
        widget = widget.parentWidget()
    return False
