"""From a row of results to its data set and back, in the real window."""

import shutil

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.results.view import ResultsView
from app.widgets.context_menu import context_menu
from app.window import MainWindow
from engine.config.dataset import Mapping
from tests.app.results.test_corrections import predictions_of, store

PATIENCE = 30_000  # ms
ROWS = 40


@pytest.fixture
def window(qtbot, studio, tuned) -> MainWindow:
    """Two models; the first has results over the rows of a stored data set."""
    for name in ("films", "other"):
        shutil.copytree(tuned("text_classification").checkpoint, studio.home.models / name)
    rows = "".join(f"film {n},{'good' if n % 2 else 'bad'}\n" for n in range(ROWS))
    mapping = Mapping(text="text", label="label")
    dataset = store(studio, f"text,label\n{rows}", mapping)
    gold = dataset.cells("validation")["label"]
    made = predictions_of(dataset, gold, gold)
    made.write(studio.home.results / "films" / "validation.parquet")
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.resize(1100, 700)
    window.show()
    return window


def press(qtbot, window: MainWindow, key: Qt.Key) -> None:
    """Press Alt and a key."""
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    QTest.keyClick(window, key, Qt.KeyboardModifier.AltModifier)


def open_model(qtbot, window: MainWindow, name: str) -> None:
    window.go("models", window.studio.home.models / name)
    wait_for_model(qtbot, window, name)


def wait_for_model(qtbot, window: MainWindow, name: str) -> None:
    page = window.pages["models"]
    is_shown = lambda: page.model is not None and page.model.state.model.name == name  # noqa: E731
    qtbot.waitUntil(is_shown, timeout=PATIENCE)


def results(window: MainWindow) -> ResultsView:
    return window.pages["models"].model.results.widget


def place(view: ResultsView) -> tuple[str, int, int, int]:
    """The search, the number of rows, the current one and the scroll position."""
    table = view.rows.table
    position = table.verticalScrollBar().value()
    return view.rows.search.text(), table.model().rowCount(), table.currentIndex().row(), position


def test_back_returns_to_the_row_even_after_the_page_showed_something_else(qtbot, window):
    open_model(qtbot, window, "films")
    model = window.pages["models"].model
    model.tabs.setCurrentWidget(model.results)
    view = results(window)
    qtbot.waitUntil(lambda: view.corrections.stored is not None, timeout=PATIENCE)
    view.rows.search.setText("film 1")
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 11)
    view.rows.table.setCurrentIndex(view.rows.model.index(9, 0))
    left = place(view)
    text = view.rows.model.index(9, 4).data()
    menu = context_menu(view.rows.table).build()
    next(a for a in menu.actions() if a.text() == "Show in &data set").trigger()
    assert window.current == "data"
    data = window.pages["data"]
    qtbot.waitUntil(lambda: data.dataset is not None and data.dataset.table.model() is not None)
    table = data.dataset.table
    qtbot.waitUntil(lambda: table.currentIndex().row() >= 0)
    qtbot.waitUntil(lambda: table.currentIndex().data() == text)
    press(qtbot, window, Qt.Key.Key_Left)
    assert window.current == "models" and place(results(window)) == left
    press(qtbot, window, Qt.Key.Key_Right)
    open_model(qtbot, window, "other")
    for page in ("data", "models"):
        press(qtbot, window, Qt.Key.Key_Left)
        assert window.current == page
    wait_for_model(qtbot, window, "films")
    page = window.pages["models"]
    qtbot.waitUntil(lambda: page.model.tabs.currentWidget() is page.model.results)
    qtbot.waitUntil(lambda: place(results(window)) == left, timeout=PATIENCE)
    assert results(window).rows.model.index(9, 4).data() == text
    qtbot.keyClick(window, Qt.Key.Key_Escape)  # Alt is no longer pressed
