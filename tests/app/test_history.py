"""Back and Forward between pages, with rows and scroll positions."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QTableView, QTabWidget, QVBoxLayout, QWidget

from app import window as window_module
from app.widgets.tables import Column, ColumnsModel, make_table
from app.window import MainWindow, PageEntry


class Rows(QWidget):
    """A page with a list, and a table of 500 rows for each item that is opened."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name, self.item = name, ""
        self.tabs = QTabWidget()
        self.tabs.addTab(QWidget(), "Empty")
        QVBoxLayout(self).addWidget(self.tabs)
        self.table: QTableView | None = None
        self.arrive({"list": True})

    def arrive(self, argument: object) -> None:
        match argument:
            case {"list": True}:
                self._open("")
            case {"item": str(item)} if item != self.item:
                self._open(item)

    def place(self) -> object:
        return {"item": self.item} if self.item else {"list": True}

    def _open(self, item: str) -> None:
        """Make the table again and fill it a moment later, as rows are read."""
        if self.tabs.count() > 1:
            self.tabs.removeTab(1)
        self.item = item
        model = ColumnsModel([Column("Row", lambda n: f"{item} {n}")], self)
        self.table = make_table("Rows", model)
        self.tabs.addTab(self.table, "Rows")
        QTest.qWait(0)
        self.startTimer(30)

    def timerEvent(self, event) -> None:
        self.killTimer(event.timerId())
        self.table.model().show_rows(range(500))


@pytest.fixture
def window(qtbot, studio, monkeypatch) -> MainWindow:
    pages = [
        PageEntry(key, key, "house", f"Ctrl+{n}", lambda _, key=key: Rows(key))
        for n, key in enumerate(("one", "two"), 1)
    ]
    monkeypatch.setattr(window_module, "PAGES", pages)
    monkeypatch.setattr(window_module, "LOWER_PAGES", [])
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.show()
    return window


def select(qtbot, page: Rows, row: int) -> int:
    """Show the tab of rows, select one, scroll a little further; returns the scroll position."""
    page.tabs.setCurrentIndex(1)
    qtbot.waitUntil(lambda: page.table.model().rowCount() == 500)
    page.table.setCurrentIndex(page.table.model().index(row, 0))
    bar = page.table.verticalScrollBar()
    bar.setValue(bar.value() + 2)
    return bar.value()


def test_back_returns_to_the_row_and_the_scroll_position_of_each_page(qtbot, window):
    one, studio = window.pages["one"], window.studio
    studio.navigate.emit("one", {"item": "a"})
    scrolled = select(qtbot, one, 300)
    studio.navigate.emit("two", {"item": "b"})
    two = window.pages["two"]
    select(qtbot, two, 40)
    studio.navigate.emit("one", {"item": "c"})  # replaces what Back leads to
    qtbot.waitUntil(lambda: one.table.model().rowCount() == 500)
    QTest.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert window.current == "two" and two.table.currentIndex().row() == 40
    QTest.keyClick(window, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert window.current == "one" and one.item == "a"
    qtbot.waitUntil(lambda: one.table.currentIndex().row() == 300)
    qtbot.waitUntil(lambda: one.table.verticalScrollBar().value() == scrolled)
    assert one.tabs.currentIndex() == 1
    QTest.keyClick(window, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert window.current == "two"
    QTest.keyClick(window, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert window.current == "one" and one.item == "c"


def test_a_page_key_returns_to_its_last_place_and_once_more_to_its_list(qtbot, window):
    window.go("one", {"item": "a"})
    window.go("two")
    for page in ("one", "two"):
        QTest.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
        assert window.pages["one"].item == "a", page
        QTest.keyClick(window, Qt.Key.Key_2, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(window, Qt.Key.Key_1, Qt.KeyboardModifier.ControlModifier)
    assert not window.pages["one"].item
    assert window.studio.history.back() and window.pages["one"].item == "a"


def test_without_a_place_before_back_leads_to_the_list_of_the_page(window):
    window.pages["one"].arrive({"item": "a"})
    window.go_back()
    assert window.current == "one" and not window.pages["one"].item
    window.go_back()
    assert not window.pages["one"].item
