"""Notices for the user, and uncaught exceptions."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QEvent,
    QObject,
    Qt,
    QTimer,
    Signal,
    qInstallMessageHandler,
    qWarning,
)
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QListView, QPushButton, QWidget

from app import background
from app.notices import Notices, catch_exceptions, log_qt_messages, logging_to
from app.widgets.banners import MAX_BANNERS, Banners
from engine.errors import StudioError
from tests.app.accessible import assert_accessible


@pytest.fixture
def notices(qtbot) -> Notices:
    return Notices()


@pytest.fixture
def banners(qtbot, notices: Notices) -> Banners:
    banners = Banners(notices)
    qtbot.addWidget(banners)
    banners.resize(900, 300)
    banners.show()
    return banners


@pytest.fixture
def hooks(notices: Notices) -> Iterator[None]:
    """Install the hooks of the window, then restore those of the tests."""
    before = sys.excepthook, threading.excepthook
    catch_exceptions(notices)
    yield
    sys.excepthook, threading.excepthook = before


class Bell(QObject):
    rung = Signal()


def test_a_notice_can_be_acted_on_and_an_error_stays_until_closed(qtbot, notices, banners):
    done: list[bool] = []
    notices.info("The model was removed.", "Undo", lambda: done.append(True))
    banner = banners.banner(notices.shown[0])
    button = next(b for b in banner.findChildren(QPushButton) if b.text() == "Undo")
    button.click()
    assert done == [True] and not notices.shown
    notices.error("The file is empty.", "Choose another one.", "all of it")
    (notice,) = notices.shown
    banner = banners.banner(notice)
    assert banner.isVisible() and banner.problem.text() == "The file is empty."
    assert not hasattr(banner, "_timer"), "errors do not time out"
    banner.more.click()
    assert banner.details is not None and banner.details.isVisible()
    banner.copy.click()
    copied = QGuiApplication.clipboard().text()
    assert copied == "The file is empty.\nChoose another one.\nall of it"
    assert_accessible(banners)
    banner.close_button.click()
    assert notices.shown == [] and not banners.isVisible()


def test_repeated_notices_are_counted_and_errors_keep_their_text(notices, banners):
    for _ in range(3):
        notices.error("The disk is full.")
    assert len(notices.shown) == 1
    assert "3" in banners.banner(notices.shown[0]).problem.text()
    notices.show(StudioError("The file has no rows.", "Choose another."))
    assert notices.shown[-1].problem == "The file has no rows."
    assert notices.shown[-1].advice == "Choose another."


def test_many_notices_leave_space_for_the_page(notices, banners):
    for number in range(MAX_BANNERS + 4):
        notices.error(f"Problem {number}.")
    shown = [n for n in notices.shown if banners.banner(n).isVisible()]
    assert len(shown) == MAX_BANNERS and shown[-1].problem == f"Problem {MAX_BANNERS + 3}."
    assert banners.older.isVisible() and "4" in banners.older.text()
    banners.older.click()
    assert all(banners.banner(n).isVisible() for n in notices.shown)


def test_long_messages_and_markup_are_shown_literally(notices, banners):
    notices.error("<b>bold</b><img src='file:///x.png'>")
    assert banners.banner(notices.shown[0]).problem.text().startswith("<b>bold</b>")
    assert_accessible(banners)
    notices.error("word " * 5000, "advice " * 5000)
    banner = banners.banner(notices.shown[-1])
    assert len(banner.problem.text()) <= 300 and banner.heightForWidth(900) < 200
    banner.copy.click()
    assert len(QGuiApplication.clipboard().text()) > 50_000, "the copy is complete"


@pytest.mark.usefixtures("hooks")
def test_an_exception_in_a_slot_is_reported(qtbot, notices):
    bell = Bell()

    def slot() -> None:
        raise ZeroDivisionError("one by nothing")

    bell.rung.connect(slot)
    QTimer.singleShot(0, bell.rung.emit)
    qtbot.waitUntil(lambda: bool(notices.shown))
    (notice,) = notices.shown
    assert notice.problem == (
        "Something went wrong in BERT Studio: ZeroDivisionError: one by nothing (unexpected error)"
    )
    assert "Traceback" in notice.details and notice.is_error


class Broken(QAbstractListModel):
    """A model and an event filter that raise in every call by Qt."""

    def rowCount(self, parent: object = None) -> int:
        return 1

    def data(self, index: object, role: int = 0) -> object:
        raise ZeroDivisionError("one by nothing")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.User:
            raise ZeroDivisionError("one by nothing")
        return False


class BrokenWidget(QWidget):
    def paintEvent(self, event: object) -> None:
        raise ZeroDivisionError("one by nothing")


def fail(*_: object) -> None:
    raise ZeroDivisionError("one by nothing")


def show_model(qtbot) -> QWidget:
    view = QListView()
    qtbot.addWidget(view)
    view.setModel(Broken(view))
    QTimer.singleShot(0, view.show)
    return view


def filter_event(qtbot) -> QWidget:
    target = QWidget()
    qtbot.addWidget(target)
    target.installEventFilter(Broken(target))
    QCoreApplication.postEvent(target, QEvent(QEvent.Type.User))
    return target


def paint_widget(qtbot) -> QWidget:
    widget = BrokenWidget()
    qtbot.addWidget(widget)
    QTimer.singleShot(0, widget.show)
    return widget


def click_button(qtbot) -> None:
    button = QPushButton()
    button.clicked.connect(fail)
    button.click()


def emit_queued(qtbot) -> None:
    bell = Bell()
    bell.rung.connect(fail, Qt.ConnectionType.QueuedConnection)
    bell.rung.emit()
    QCoreApplication.processEvents()


def fail_in_pool(qtbot) -> None:
    background.run(QCoreApplication.instance(), fail, fail)


def fail_after_pool(qtbot) -> None:
    background.run(QCoreApplication.instance(), lambda: 1, fail)


CALLBACKS: dict[str, Callable[[Any], object]] = {  # every kind of call from Qt
    "a click": click_button,
    "a queued signal": emit_queued,
    "a timer": lambda qtbot: QTimer.singleShot(0, fail),
    "a model": show_model,
    "an event filter": filter_event,
    "a paint event": paint_widget,
    "work in a thread": fail_in_pool,
    "the result of that work": fail_after_pool,
}


@pytest.mark.usefixtures("hooks")
@pytest.mark.parametrize("kind", CALLBACKS)
def test_exceptions_in_qt_callbacks_are_reported(qtbot, notices, kind):
    widget = CALLBACKS[kind](qtbot)
    qtbot.waitUntil(lambda: bool(notices.shown))
    problem = notices.shown[0].problem
    assert "ZeroDivisionError: " in problem and "one by nothing" in problem
    del widget


@pytest.mark.usefixtures("hooks")
def test_an_exception_in_a_thread_is_reported(qtbot, notices):
    def work() -> None:
        raise KeyError("lost")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: bool(notices.shown))
    assert "KeyError" in notices.shown[0].problem


def test_the_log_has_one_line_for_each_record(qtbot, tmp_path, notices):
    with logging_to(tmp_path / "studio.log"):
        notices.show(ValueError("first\nsecond\x1b[31m"))
        log_qt_messages()
        qWarning("from Qt")
    qInstallMessageHandler(None)
    logging.getLogger("studio").propagate = True
    text = (tmp_path / "studio.log").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) == 2 and "\x1b" not in text
    assert "ValueError: first\\nsecond" in lines[0] and "from Qt" in lines[1]
    assert (tmp_path / "studio.log").stat().st_mode & 0o077 == 0
