"""Tabs, searches, current rows and scroll positions of a page, to return to them later."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

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
MAX_CELLS = 8  # that identify a row
MAX_MOVE = 200  # rows by which a row is looked for before and after its former position
UNREAD = "…"  # a cell that is being read

Marks = dict[str, object]


class RowMark(NamedTuple):
    """The current row of a list, -1 for none, its first texts, and what is scrolled to in px."""

    row: int
    column: int
    cells: tuple[str, ...]
    rows: int  # number of them
    x: int
    y: int


def read_marks(page: QWidget) -> Marks:
    """The marks of the visible parts of a page."""
    return {name: _read(widget) for name, widget in _parts(page)}


class Restorer(QObject):
    """Restores marks as the parts of a page and their rows appear, for at most five seconds.

    `is_there` is True once the page shows what the marks are of.
    """

    def __init__(self, page: QWidget, marks: Marks, is_there: Callable[[], bool]) -> None:
        super().__init__(page)
        self._page, self._left, self._is_there = page, dict(marks), is_there
        self._tries = 0
        self._searches = False  # a restored search will change the rows of lists
        self._timer = repeated(self, RETRY_MS, self._restore)
        self._timer.start()
        self._restore()

    def _restore(self) -> None:
        self._tries += 1
        for name, widget in list(_parts(self._page)) if self._is_there() else ():
            if name in self._left and self._restore_part(widget, self._left[name]):
                del self._left[name]
        if not self._left or self._tries > MAX_TRIES or not self._page.isVisible():
            self._timer.stop()
            self.deleteLater()

    def _restore_part(self, widget: QWidget, mark: object) -> bool:
        """Restore a mark; False if the content is not there yet."""
        match widget, mark:
            case QTabWidget(), int(index):
                widget.setCurrentIndex(index)
                return widget.currentIndex() == index
            case QLineEdit(), str(text) if widget.text() != text:
                self._searches = True
                widget.setText(text)
            case QAbstractItemView(), RowMark():
                return self._restore_row(widget, mark)
            case QAbstractScrollArea(), (int(x), int(y)):
                _scroll(widget, x, y)
                return widget.verticalScrollBar().value() == y
        return True

    def _restore_row(self, view: QAbstractItemView, mark: RowMark) -> bool:
        model = view.model()
        if model is None or (self._searches and model.rowCount() != mark.rows):
            return False
        row = _find_row(view, mark)
        if row < 0 <= mark.row:
            return False
        if row >= 0:
            cell = model.index(row, mark.column)
            if view.currentIndex() != cell:
                view.setCurrentIndex(cell)
            view.scrollTo(cell)  # which lays out the rows
        _scroll(view, mark.x, mark.y)
        return True


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
    cell, model = widget.currentIndex(), widget.model()
    count = 0 if model is None else model.rowCount()
    return RowMark(cell.row(), cell.column(), _cells(widget, cell.row()), count, *scrolled)


def _cells(view: QAbstractItemView, row: int) -> tuple[str, ...]:
    """The first texts of a row, which identify it after others were added or removed."""
    if row < 0 or view.model() is None:
        return ()
    indices = (view.model().index(row, column) for column in range(MAX_CELLS))
    return tuple(str(index.data() or "") for index in indices if index.isValid())


def _find_row(view: QAbstractItemView, mark: RowMark) -> int:
    """The row of a mark, the nearest with its cells; -1 while there is none."""
    rows, row = range(view.model().rowCount()), mark.row
    if row in rows and UNREAD in _cells(view, row):
        return row
    near = rows[max(0, row - MAX_MOVE) : row + MAX_MOVE] if row >= 0 else ()
    nearest = sorted(near, key=lambda n: abs(n - row))
    return next((n for n in nearest if _cells(view, n) == mark.cells), -1)


def _scroll(area: QAbstractScrollArea, x: int, y: int) -> None:
    area.horizontalScrollBar().setValue(x)
    area.verticalScrollBar().setValue(y)
