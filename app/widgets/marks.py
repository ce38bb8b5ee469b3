"""Tabs, searches, current rows and scroll positions of a page, to return to them later."""

from collections import Counter
from collections.abc import Iterator

from PySide6.QtCore import QObject
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractScrollArea,
    QHeaderView,
    QLineEdit,
    QScrollArea,
    QTabWidget,
    QWidget,
)

from app.timers import repeated
from app.widgets.forms.controls import SearchField

KINDS = (QTabWidget, SearchField, QAbstractItemView, QScrollArea)  # in the order of restoring
RETRY_MS, MAX_TRIES = 50, 100  # while rows are being read
MAX_CELLS = 4  # that identify a row
MAX_MOVE = 200  # rows by which a row is looked for before and after its former position
UNREAD = "…"  # a cell that is being read

Marks = dict[str, object]


def read_marks(page: QWidget) -> Marks:
    """The marks of the visible parts of a page."""
    return {name: _read(widget) for name, widget in _parts(page)}


class Restorer(QObject):
    """Restores marks as the parts of a page and their rows appear, for at most five seconds."""

    def __init__(self, page: QWidget, marks: Marks) -> None:
        super().__init__(page)
        self._page, self._left = page, dict(marks)
        self._tries = 0
        self._timer = repeated(self, RETRY_MS, self._restore)
        self._timer.start()
        self._restore()

    def _restore(self) -> None:
        self._tries += 1
        for name, widget in _parts(self._page):
            if name in self._left and _restore(widget, self._left[name]):
                del self._left[name]
        if not self._left or self._tries > MAX_TRIES or not self._page.isVisible():
            self._timer.stop()
            self.deleteLater()


def _parts(page: QWidget) -> Iterator[tuple[str, QWidget]]:
    """The visible parts with marks, each with a name that it keeps."""
    seen = Counter[str]()
    for kind in KINDS:
        for widget in page.findChildren(kind):
            if widget.isVisibleTo(page) and not isinstance(widget, QHeaderView):
                name = f"{type(widget).__name__} {widget.accessibleName()}"
                seen[name] += 1
                yield f"{name} {seen[name]}", widget


def _read(widget: QWidget) -> object:
    if isinstance(widget, QTabWidget):
        return widget.currentIndex()
    if isinstance(widget, QLineEdit):
        return widget.text()
    assert isinstance(widget, QAbstractScrollArea)  # the only other kind
    scrolled = widget.horizontalScrollBar().value(), widget.verticalScrollBar().value()
    if not isinstance(widget, QAbstractItemView):
        return scrolled
    current = widget.currentIndex()
    return current.row(), current.column(), _cells(widget, current.row()), *scrolled


def _cells(view: QAbstractItemView, row: int) -> tuple[str, ...]:
    """The first texts of a row, which identify it after others were added or removed."""
    indices = (view.model().index(row, column) for column in range(MAX_CELLS))
    return tuple(str(index.data() or "") for index in indices if index.isValid())


def _find_row(view: QAbstractItemView, row: int, cells: tuple[str, ...]) -> int:
    """The row with these cells, the nearest first; -1 while there is none."""
    rows = range(view.model().rowCount())
    nearest = sorted(rows[max(0, row - MAX_MOVE) : row + MAX_MOVE], key=lambda n: abs(n - row))
    if row in rows and UNREAD in _cells(view, row):
        return row
    return next((n for n in nearest if _cells(view, n) == cells), -1)


def _restore(widget: QWidget, mark: object) -> bool:
    """Restore a mark; False if the content is not there yet."""
    match widget, mark:
        case QTabWidget(), int(index):
            widget.setCurrentIndex(index)
            return widget.currentIndex() == index
        case QLineEdit(), str(text):
            if widget.text() != text:
                widget.setText(text)
            return True
        case QAbstractItemView(), (int(row), int(column), tuple(cells), int(x), int(y)):
            if row >= 0:
                found = -1 if widget.model() is None else _find_row(widget, row, cells)
                if found < 0:
                    return False
                cell = widget.model().index(found, column)
                if widget.currentIndex() != cell:
                    widget.setCurrentIndex(cell)
            return _scroll(widget, x, y)
        case QAbstractScrollArea(), (int(x), int(y)):
            return _scroll(widget, x, y)
    return True


def _scroll(area: QAbstractScrollArea, x: int, y: int) -> bool:
    for bar, value in ((area.horizontalScrollBar(), x), (area.verticalScrollBar(), y)):
        bar.setValue(value)
    return area.verticalScrollBar().value() == y
