"""Main window: pages by keyboard, banners, drops, status bar, closing."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QRect, Qt, QTimer, QUrl
from PySide6.QtGui import QCursor, QDragEnterEvent, QDropEvent, QScreen, QShortcut
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from app import window as window_module
from app.notices import Notices
from app.pages.runs.actions import run_actions
from app.running import RunningRun
from app.studio import Studio
from app.widgets.dialogs import Question
from app.widgets.help import HelpButton, HelpWindow, set_help
from app.widgets.screen import available_area
from app.window import MainWindow, PageEntry
from tests.app.accessible import assert_accessible


class FakePage(QWidget):
    """A page that records its arguments."""

    def __init__(self, title: str, suffix: str = "") -> None:
        super().__init__()
        label = QLabel(title, textFormat=Qt.TextFormat.PlainText)
        QVBoxLayout(self).addWidget(label)
        self.arguments: list[object] = []
        self.dropped: list[Path] = []
        self._suffix = suffix
        self.has_rest = False

    def create_rest(self) -> None:
        self.has_rest = True

    def arrive(self, argument: object) -> None:
        self.arguments.append(argument)

    def accept_drop(self, paths: list[Path]) -> bool:
        if self._suffix and all(path.suffix == self._suffix for path in paths):
            self.dropped += paths
            return True
        return False


def entry(key: str, keys: str, suffix: str = "", is_large: bool = False) -> PageEntry:
    return PageEntry(
        key, key.title(), "house", keys, lambda _: FakePage(key, suffix), is_large=is_large
    )


@pytest.fixture
def pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the pages, so that only the main window is tested."""
    entries = [
        entry("home", "Ctrl+1"),
        entry("data", "Ctrl+2", ".csv"),
        entry("models", "Ctrl+3"),
        entry("train", "Ctrl+4", is_large=True),
        entry("runs", "Ctrl+5"),
    ]
    monkeypatch.setattr(window_module, "PAGES", entries)
    monkeypatch.setattr(window_module, "LOWER_PAGES", [entry("settings", "Ctrl+,")])


@pytest.fixture
def window(qtbot, pages: None, studio: Studio) -> Iterator[MainWindow]:
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.show()
    qtbot.waitActive(window)
    yield window
    window.studio.settings.set("ask_on_close", False)
    window.close()


def page(window: MainWindow, key: str) -> FakePage:
    page = window.pages[key]
    assert isinstance(page, FakePage)
    return page


def test_pages_open_by_shortcut_and_by_arrows_and_space(qtbot, window):
    for number, key in enumerate(("home", "data", "models", "train", "runs")):
        qtbot.keyClick(window, Qt.Key(Qt.Key.Key_1 + number), Qt.KeyboardModifier.ControlModifier)
        assert window.current == key
        assert window.navigation.buttons[key].isChecked()
    qtbot.keyClick(window, Qt.Key.Key_Comma, Qt.KeyboardModifier.ControlModifier)
    assert window.current == "settings"
    window.navigation.buttons["home"].setFocus()
    qtbot.keyClick(window.navigation.buttons["home"], Qt.Key.Key_Down)
    assert window.navigation.buttons["data"].hasFocus()
    qtbot.keyClick(window.navigation.buttons["data"], Qt.Key.Key_Space)
    assert window.current == "data"


def test_keys_of_the_window_are_not_those_of_a_page(window):
    keys = {shortcut.key().toString() for shortcut in window.findChildren(QShortcut)}
    assert {"Ctrl+O", "Ctrl+K", "F1"} <= keys, "with two owners, a key does nothing"
    assert not keys & {action.keys for action in run_actions() if action}


def test_a_page_is_created_when_first_shown_and_restored_at_the_next_start(window, qtbot):
    assert set(window.pages) == {"home"}
    window.go("runs", {"run": "x"})
    assert page(window, "runs").arguments == [{"run": "x"}]
    window.studio.navigate.emit("runs", None)
    assert page(window, "runs").arguments == [{"run": "x"}, {"list": True}], "once more: its list"
    window.go("models")
    restarted = MainWindow(window.studio)
    qtbot.addWidget(restarted)
    assert restarted.current == "models"


@pytest.mark.parametrize("sets_focus", [True, False])
def test_the_focus_set_by_the_first_page_is_kept(qtbot, window, monkeypatch, sets_focus):
    class PageWithField(FakePage):
        def arrive(self, argument: object) -> None:
            self.text = QLineEdit(self)
            if sets_focus:
                self.text.setFocus()

    page = PageWithField("typing")

    def make(window: MainWindow, key: str) -> FakePage:
        window.pages[key] = page
        window.stack.addWidget(page)
        return page

    monkeypatch.setattr(MainWindow, "_make", make)
    restarted = MainWindow(window.studio)
    qtbot.addWidget(restarted)
    restarted.begin()
    assert restarted.focusWidget() is (page.text if sets_focus else restarted.stack)


def test_the_palette_opens_pages_and_help(qtbot, window):
    qtbot.keyClick(window, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
    palette = window._palette
    assert palette is not None and palette.isVisible()
    qtbot.keyClicks(palette.line, "model")
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    assert window.current == "models"
    assert window._palette is None
    window.open_palette()
    palette = window._palette
    assert palette is not None
    qtbot.keyClicks(palette.line, "help rollout")
    qtbot.keyClick(palette.line, Qt.Key.Key_Return)
    help_window = window.findChild(HelpWindow)
    assert help_window is not None and help_window.isVisible()
    assert help_window.view.shown() == "attention-rollout"
    help_window.close()


def test_f1_opens_the_help_of_the_focused_widget(qtbot, window):
    for key, entry in window.entries.items():
        window.go(key)
        window.stack.setFocus()
        qtbot.keyClick(window, Qt.Key.Key_F1)
        help_window = window.findChild(HelpWindow)
        assert help_window is not None and help_window.view.shown() == entry.help
        help_window.close()
        window.activateWindow()
    field = QLineEdit(window)
    set_help(field, "charts")
    field.show()
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_F1)
    help_window = window.findChild(HelpWindow)
    assert help_window is not None and help_window.view.shown() == "charts"
    help_window.close()


def test_a_dead_drive_does_not_block_the_window(qtbot, window, tmp_path, monkeypatch):
    drive_answers, is_dir = threading.Event(), Path.is_dir

    def slow(path: Path) -> bool:
        if path.name == "dead":
            assert drive_answers.wait(20)
        return is_dir(path)

    monkeypatch.setattr(Path, "is_dir", slow)
    QTimer.singleShot(0, lambda: window.open_paths([tmp_path / "dead"]))
    ticks: list[int] = []
    QTimer.singleShot(50, lambda: ticks.append(1))
    qtbot.waitUntil(lambda: bool(ticks))  # the watchdog measures the loop meanwhile
    assert not window.studio.notices.shown
    drive_answers.set()
    qtbot.waitUntil(lambda: bool(window.studio.notices.shown))


def test_a_file_is_opened_by_the_page_that_accepts_it_or_reported(qtbot, window, tmp_path):
    picture = tmp_path / "<b>picture.png"
    picture.write_bytes(b"\x89PNG")
    window.open_paths([picture])
    qtbot.waitUntil(lambda: bool(window.studio.notices.shown))
    (notice,) = window.studio.notices.shown
    assert "<b>picture.png" in notice.problem and notice.advice
    assert window.current == "home"
    table = tmp_path / "reviews.csv"
    table.write_text("a,b\n1,2\n")
    window.open_paths([table])
    qtbot.waitUntil(lambda: window.current == "data")
    assert page(window, "data").dropped == [table]
    window.go("home")
    drop(window, [table])
    qtbot.waitUntil(lambda: page(window, "data").dropped == [table, table])


def test_a_worker_starts_while_files_are_dragged(window, tmp_path, monkeypatch):
    started: list[bool] = []
    monkeypatch.setattr(window.studio.standby, "start", lambda: started.append(True))
    data = mime_data([tmp_path])  # Qt does not keep it
    mouse = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    window.dragEnterEvent(QDragEnterEvent(QPoint(300, 300), Qt.DropAction.CopyAction, data, *mouse))
    assert started == [True] and window._overlay.isVisible()


def mime_data(paths: list[Path]) -> QMimeData:
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return data


def drop(window: MainWindow, paths: list[Path]) -> None:
    data = mime_data(paths)
    event = QDropEvent(
        QPointF(300, 300),
        Qt.DropAction.CopyAction,
        data,
        Qt.MouseButton.LeftButton,
        Qt.KeyboardModifier.NoModifier,
    )
    window.dropEvent(event)


def run_entry(state: str = "running", **changes: object) -> RunningRun:
    values = {"step": 120, "steps": 600, "seconds_left": 125.0, **changes}
    return RunningRun(id="run-1", name="My <b>run</b> & more", state=state, **values)  # type: ignore[arg-type]


def test_the_status_bar_shows_runs_and_opens_them(qtbot, window):
    assert window.status.idle.isVisible()
    window.studio.running.changed.emit([run_entry()])
    button, bar = window.status.runs[0]
    assert not window.status.idle.isVisible()
    assert button.text() == "My <b>run</b> && more · step 120 of 600, 2 min 5 s left"
    assert bar.value() == 200 and bar.isVisible()
    assert_accessible(window.status)
    button.click()
    assert window.current == "runs" and page(window, "runs").arguments == [{"run": "run-1"}]
    evaluating = run_entry(stage="Evaluating", stage_done=13, stage_total=14)
    window.studio.running.changed.emit([evaluating, run_entry("paused", seconds_left=None)])
    assert "Evaluating: 13 of 14" in button.text() and "paused" in window.status.runs[1][0].text()
    window.studio.running.changed.emit([run_entry(), run_entry("queued"), run_entry("queued")])
    assert window.status.more.isVisible() and "1" in window.status.more.text()
    window.studio.running.changed.emit([])
    assert window.status.idle.isVisible() and not button.isVisible()


def test_closing_names_running_and_queued_runs(qtbot, window):
    window.studio.running.runs = [run_entry(), run_entry("queued")]
    window.close()
    assert window.isVisible()
    question = window.findChild(Question)
    assert question is not None
    text = " ".join(label.text() for label in question.findChildren(QLabel))
    assert "1 run" in text and "queued" in text
    assert_accessible(question)
    question.buttons["cancel"].click()
    assert window.isVisible()
    window.close()
    window.findChildren(Question)[-1].buttons["close"].click()
    assert not window.isVisible()


def test_the_window_is_accessible_and_closes_silently_when_idle(window):
    window.studio.notices.error("A problem.", "An advice.", "details")
    assert_accessible(window)
    window.close()
    assert not window.isVisible()


def test_a_page_that_fails_to_load_leaves_the_window_open(qtbot, window, monkeypatch):
    def broken(_: Studio) -> QWidget:
        raise RuntimeError("no such thing")

    window.entries["train"] = PageEntry("train", "Train", "house", "Ctrl+4", broken)
    with qtbot.captureExceptions() as caught:
        window.navigation.buttons["train"].click()
    assert len(caught) == 1
    assert window.current == "home" and window.navigation.buttons["home"].isChecked()


def test_a_broken_last_page_leaves_the_window_open(qtbot, pages, studio, monkeypatch):
    def broken(_: Studio) -> QWidget:
        raise RuntimeError("no such thing")

    page_entry = PageEntry("x", "X", "house", "", broken)
    monkeypatch.setattr(window_module, "PAGES", [*window_module.PAGES, page_entry])
    studio.settings.set_state("page", "x")
    window = MainWindow(studio)
    qtbot.addWidget(window)
    assert window.current == "home" and "no such thing" in studio.notices.shown[0].problem


def test_a_slow_question_is_shown_in_the_status_bar(qtbot, window):
    window.studio.explorer.busy_changed.emit(True)
    assert not window.status.explorer.isVisible()
    qtbot.waitUntil(window.status.explorer.isVisible)
    window.studio.explorer.busy_changed.emit(False)
    assert not window.status.explorer.isVisible()


def test_notices_are_shown_from_the_start(qtbot, pages, studio):
    assert isinstance(studio.notices, Notices)
    studio.notices.error("Reported before the window existed.")
    window = MainWindow(studio)
    qtbot.addWidget(window)
    window.show()
    assert window.banners.banner(studio.notices.shown[0]).isVisible()


@pytest.mark.parametrize("screen", [(1280, 800), (960, 600)])
def test_the_window_is_placed_on_the_screen(qtbot, pages, studio, monkeypatch, screen):
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: QRect(0, 0, 4000, 3000))
    large = MainWindow(studio)
    qtbot.addWidget(large)
    large.setGeometry(900, 700, 2000, 1500)
    studio.settings.save_geometry(large, "window")
    screen_rect = QRect(0, 0, *screen)
    monkeypatch.setattr(QScreen, "availableGeometry", lambda _: screen_rect)
    restored = MainWindow(studio)
    qtbot.addWidget(restored)
    assert available_area(restored).contains(restored.geometry())
    assert screen_rect.contains(QRect(restored.pos(), restored.minimumSize()))
    studio.settings.set_state("window", None)
    first = MainWindow(studio)
    qtbot.addWidget(first)
    assert first.width() <= screen_rect.width() and first.height() <= available_area(first).height()


def rect_in(part: QWidget, window: MainWindow) -> QRect:
    """Geometry in window coordinates."""
    return QRect(part.mapTo(window, QPoint()), part.size())


@pytest.mark.parametrize("size", [(1100, 700), (1280, 800)])
def test_notices_do_not_cover_the_page(qtbot, window, size):
    window.resize(*size)
    before = rect_in(window.stack, window)
    window.studio.notices.error("Something is wrong.", "Do this.", "Details of it.")
    window.studio.notices.info("A run finished.", "Show", lambda: None)

    def is_uncovered() -> bool:
        banners, stack = (rect_in(part, window) for part in (window.banners, window.stack))
        return banners.height() > 0 and not banners.intersects(stack)

    qtbot.waitUntil(is_uncovered)
    stack, area = rect_in(window.stack, window), rect_in(window.banners, window)
    assert stack.topLeft() == before.topLeft() and stack.width() == before.width(), "bottom moves"
    assert before.contains(area), "not over the navigation or the status"
    assert rect_in(page(window, window.current), window) == stack
    for banner in window.banners._banners.values():
        assert area.contains(rect_in(banner, window))
    next(iter(window.banners._banners.values())).more.click()
    qtbot.waitUntil(lambda: rect_in(window.banners, window).top() < area.top())
    assert window.stack.height() >= before.height() // 2, "half of the page stays"
    assert before.contains(rect_in(window.banners, window))
    window.resize(window.width() + 60, window.height() + 40)
    qtbot.waitUntil(lambda: rect_in(window.banners, window).bottom() > area.bottom())
    for notice in list(window.studio.notices.shown):
        window.studio.notices.close(notice)
    qtbot.waitUntil(lambda: window.stack.height() == before.height() + 40)
    assert not window.banners.isVisible()


def test_the_page_keeps_the_focus_when_its_button_is_removed(qtbot, window):
    buttons = [QPushButton(name) for name in "abc"]
    for button in buttons:
        page(window, window.current).layout().addWidget(button)
    qtbot.waitUntil(lambda: all(button.isVisible() for button in buttons))
    for button, next_button in zip(buttons, (*buttons[1:], None), strict=True):
        button.setFocus()
        assert window.focusWidget() is button
        if button is buttons[0]:
            button.setEnabled(False)
        else:
            button.hide()
        assert next_button is None or window.focusWidget() is next_button
    assert not window.navigation.isAncestorOf(window.focusWidget() or window)


def test_a_button_has_the_focus_again_after_its_work_unless_it_was_moved(qtbot, window):
    """No help button has it meanwhile."""
    start, help_button, other = QPushButton("start"), HelpButton("charts"), QLineEdit()
    for widget in (start, help_button, other):
        page(window, window.current).layout().addWidget(widget)
    qtbot.waitUntil(other.isVisible)
    start.setFocus()
    start.setEnabled(False)
    assert window.focusWidget() is other
    start.setEnabled(True)
    assert window.focusWidget() is start
    start.setEnabled(False)
    help_button.setFocus()
    start.setEnabled(True)
    assert window.focusWidget() is help_button, "the user's choice"


def test_a_page_that_needs_more_than_the_window_scrolls(qtbot, window):
    shown = page(window, window.current)
    bars = window.page_area.horizontalScrollBar(), window.page_area.verticalScrollBar()
    assert [bar.maximum() for bar in bars] == [0, 0]
    shown.setMinimumSize(window.stack.width() + 100, window.stack.height() + 200)
    qtbot.waitUntil(lambda: bars[0].maximum() >= 100 and bars[1].maximum() >= 200)
    window.go("data")
    qtbot.waitUntil(lambda: [bar.maximum() for bar in bars] == [0, 0])


def test_pages_are_created_while_idle(qtbot, window, monkeypatch):
    monkeypatch.setattr(QCursor, "pos", lambda: QPoint(1, 1))
    monkeypatch.setattr(QApplication, "activeModalWidget", lambda: None)  # open in other tests
    monkeypatch.setattr(QApplication, "activePopupWidget", lambda: None)
    monkeypatch.setattr(QApplication, "focusWidget", lambda: None)
    monkeypatch.setattr(QApplication, "mouseButtons", lambda: Qt.MouseButton.NoButton)
    for _ in range(1000):  # tasks, most of which load a module
        window.preloader._on_tick()
    assert window.preloader.is_done and set(window.pages) == set(window.entries)
    assert list(window.pages)[:3] == ["home", "train", "data"], "home existed, train is large"
    assert all(page(window, key).has_rest for key in window.pages)
    assert not page(window, "train").isVisible()
    assert page(window, "train").arguments == [] and window.current == "home"
    window.go("train", {"data": "x"})
    assert page(window, "train").arguments == [{"data": "x"}]


def test_no_page_is_created_during_keyboard_or_mouse_input(qtbot, window, monkeypatch):
    positions = iter(range(100))
    monkeypatch.setattr(QCursor, "pos", lambda: QPoint(next(positions), 1))
    for _ in range(3):
        window.preloader._create_when_idle()
    monkeypatch.setattr(QCursor, "pos", lambda: QPoint(1, 1))
    line = QLineEdit()
    page(window, "home").layout().addWidget(line)
    qtbot.waitUntil(line.isVisible)
    line.setFocus()
    for _ in range(3):
        window.preloader._create_when_idle()
    assert set(window.pages) == {"home"}
