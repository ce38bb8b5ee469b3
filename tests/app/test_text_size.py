"""The text size of the window: chosen by keys, kept, and followed by all that holds text."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QPushButton, QStyle, QTableView, QWidget

from app import theme
from app.pages.train.choices import Step
from app.sample import sample_entry
from app.theme import TEXT_SIZES, px, set_text_size, text_scale
from app.widgets import buttons, layouts
from app.widgets.tables import ColumnsModel, make_table
from app.widgets.text.labels import Text
from app.window import MainWindow
from engine.files.shipped import sample_data, starter_model
from tests.app.cut import cut_texts

SIZES = (1100, 700), (1280, 800)
Resize = Callable[[int], None]
Parts = tuple[QPushButton, Text, Text, QTableView, QWidget]


@pytest.fixture
def resize_text(qapp: Any) -> Iterator[Resize]:
    yield lambda percent: set_text_size(qapp, percent)
    set_text_size(qapp, 100)


@pytest.fixture
def parts(qtbot: Any) -> Parts:
    """A button, two labels and a table, and the window around them."""
    button = buttons.plain("Start", icon="play")
    button.setFixedWidth(px(200))
    body, title = Text("a body"), Text("a title", "title")
    table = make_table("A table", ColumnsModel())
    window = layouts.page(button, body, title, table)
    theme.set_style(window)
    qtbot.addWidget(window)
    window.resize(600, 400)
    window.show()
    return button, body, title, table, window


def measures(parts: Parts) -> list[float]:
    button, _, _, table, _ = parts
    sizes = [part.font().pointSizeF() for part in parts]
    rows = table.verticalHeader().defaultSectionSize()
    icons = table.style().pixelMetric(QStyle.PixelMetric.PM_SmallIconSize, None, table)
    return [*sizes, button.width(), button.iconSize().width(), rows, icons]


@pytest.mark.parametrize("percent", [80, 150, 200])
def test_fonts_limits_icons_and_rows_follow_and_return(parts, resize_text, percent):
    before, height = measures(parts), parts[0].sizeHint().height()
    resize_text(percent)
    assert text_scale() == pytest.approx(percent / 100)
    assert measures(parts) == pytest.approx([n * percent / 100 for n in before], abs=0.6)
    assert parts[0].sizeHint().height() / height == pytest.approx(percent / 100, rel=0.1)
    title, table = Text("made later", "title"), make_table("Made later", ColumnsModel())
    assert title.font().pointSizeF() == pytest.approx(parts[2].font().pointSizeF())
    rows = table.verticalHeader().defaultSectionSize()
    assert rows == parts[3].verticalHeader().defaultSectionSize()
    resize_text(100)
    assert measures(parts) == pytest.approx(before, abs=0.6)


def assert_whole(root: QWidget, place: object) -> None:
    assert list(cut_texts(root)) == [], place


def assert_nothing_is_cut(qtbot: Any, window: MainWindow, name: object, percent: int) -> None:
    """Fail if a text is cut, or if a page scrolls at 100 %, or to the side at any size of text.

    Only two pages with controls on both sides may do so, at 200 % in the smallest window.
    """
    area = window.page_area
    for size in SIZES:
        window.resize(*size)
        for _ in range(5):
            qtbot.wait(1)
        assert window.size().toTuple() == size
        qtbot.waitUntil(partial(assert_whole, window.stack, (name, size)))  # cards are filled late
        scrolled = area.widget().size() - area.viewport().size()
        lengths = [max(0, length) for length in scrolled.toTuple()]
        assert percent > 100 or lengths == [0, 0], (name, size, lengths)
        is_narrow = percent > 150 and size == SIZES[0] and name in ("data set", "import")
        assert is_narrow or lengths[0] == 0, (name, size, lengths)


@pytest.mark.parametrize("percent", [100, 150, 200])
def test_views_with_content_cut_no_texts(qtbot, studio, one_time_workers, resize_text, percent):
    """Of a model, of the wizard, of a data set and of files to import."""
    resize_text(percent)
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.show()
    window.go("models", starter_model())
    page = window.pages["models"]
    qtbot.waitUntil(lambda: page.stack.currentWidget().isVisible())
    assert_nothing_is_cut(qtbot, window, "model", percent)
    window.go("train", {"preset": "first"})
    wizard = window.pages["train"]
    qtbot.waitUntil(lambda: wizard.state.choices.data is not None)
    for step in Step:
        wizard.bar.step_clicked.emit(step)
        assert_nothing_is_cut(qtbot, window, step, percent)
    window.go("data", sample_entry(studio.home).folder)
    page = window.pages["data"]
    qtbot.waitUntil(lambda: page.dataset is not None and page.dataset.table.isVisible())
    assert_nothing_is_cut(qtbot, window, "data set", percent)
    window.open_paths([sample_data()])
    qtbot.waitUntil(lambda: page.stack.currentWidget() is page.importing)
    findings = page.importing.state.findings
    qtbot.waitUntil(lambda: bool(page.importing.state.count.split_rows), timeout=20_000)
    qtbot.waitUntil(lambda: findings.findings is not None, timeout=20_000)
    assert_nothing_is_cut(qtbot, window, "import", percent)


def test_keys_choose_the_next_size_and_it_is_kept(qtbot, studio):
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.show()
    settings, control = studio.settings, Qt.KeyboardModifier.ControlModifier
    qtbot.waitUntil(window.isActiveWindow)
    sizes = []
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal, Qt.Key.Key_Minus, Qt.Key.Key_0):
        QTest.keyClick(window, key, control)
        sizes.append(settings.preferences.text_size)
    assert sizes == [110, 125, 110, 100]
    for _ in TEXT_SIZES:
        QTest.keyClick(window, Qt.Key.Key_Minus, control)
    assert settings.preferences.text_size == TEXT_SIZES[0] == 80
    window.go("settings")
    page = window.pages["settings"]
    assert page.text_size.currentData() == 80
    page.text_size.setCurrentIndex(page.text_size.count() - 1)
    assert settings.preferences.text_size == TEXT_SIZES[-1] == 200


@pytest.mark.parametrize("percent", [100, 150, 200])
@pytest.mark.parametrize("is_live", [False, True], ids=["before", "while open"])
def test_no_page_cuts_texts(qtbot, studio, resize_text, percent, is_live):
    if not is_live:
        resize_text(percent)
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.show()
    if is_live:
        for key in window.entries:
            window.go(key)
        resize_text(percent)
    for key in window.entries:
        window.go(key)
        qtbot.waitUntil(window.stack.currentWidget().isVisible)
        assert_nothing_is_cut(qtbot, window, key, percent)
        small = [label for label in window.findChildren(QLabel) if label.isVisible()]
        points = 10 * percent / 100 * 0.85
        assert all(label.font().pointSizeF() >= points for label in small)
