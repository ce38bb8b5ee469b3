"""Alt keys of controls: each letter belongs to one visible control."""

from collections.abc import Iterator

from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QAbstractButton, QCheckBox, QLabel, QPushButton, QTabBar, QWidget


def assert_distinct_keys(window: QWidget, *without: type[QWidget]) -> None:
    """Fail if two visible controls have the same letter, or a button has none.

    Buttons inside one of `without`, parts of a choice, and those with a shortcut need none.
    """
    by_key: dict[str, list[str]] = {}
    for key, text in _keys(window):
        by_key.setdefault(key, []).append(text)
    clashes = {key: texts for key, texts in by_key.items() if len(texts) > 1}
    assert not clashes, clashes
    assert not (bare := list(_bare(window, without))), bare


def _keys(window: QWidget) -> Iterator[tuple[str, str]]:
    for button in _in_sight(window, QAbstractButton):
        yield from _key(button.text())
    for label in _in_sight(window, QLabel):
        if label.buddy() is not None:
            yield from _key(label.text())
    for bar in _in_sight(window, QTabBar):
        for tab in range(bar.count()):
            if bar.isTabVisible(tab):
                yield from _key(bar.tabText(tab))


def _key(text: str) -> Iterator[tuple[str, str]]:
    key = QKeySequence.mnemonic(text).toString()
    if key:
        yield key, text


def _bare(window: QWidget, without: tuple[type[QWidget], ...]) -> Iterator[str]:
    for kind in (QPushButton, QCheckBox):
        for button in _in_sight(window, kind):
            needs_none = button.property("segment") or not button.shortcut().isEmpty()
            if not needs_none and not _stands_in(button, without):
                yield button.text()


def _in_sight(window: QWidget, kind: type[QWidget]) -> Iterator[QWidget]:
    return (w for w in window.findChildren(kind) if w.isVisible())


def _stands_in(widget: QWidget | None, kinds: tuple[type[QWidget], ...]) -> bool:
    while widget is not None:
        if isinstance(widget, kinds):
            return True
        widget = widget.parentWidget()
    return False
