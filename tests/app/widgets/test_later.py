"""A widget that is made when it is needed: once, and not before."""

from PySide6.QtWidgets import QLineEdit, QTabWidget
from pytestqt.qtbot import QtBot

from app.widgets.page import Later


def test_the_widget_is_made_when_first_shown(qtbot: QtBot) -> None:
    made = list[QLineEdit]()

    def make() -> QLineEdit:
        made.append(QLineEdit("typed"))
        return made[-1]

    tabs, later = QTabWidget(), Later(make)
    qtbot.addWidget(tabs)
    tabs.addTab(QLineEdit(), "One")
    tabs.addTab(later, "Two")
    tabs.resize(300, 200)
    tabs.show()
    assert not later.is_built and not made
    tabs.setCurrentIndex(1)
    assert made[0].isVisible() and later.widget is made[0]
    assert made[0].width() == later.width() > 0, "laid out at once"
    tabs.setCurrentIndex(0)
    tabs.setCurrentIndex(1)
    assert len(made) == 1


def test_a_widget_is_made_when_asked_for_or_after_its_page(qtbot: QtBot) -> None:
    later = Later(lambda: QLineEdit("typed"))
    qtbot.addWidget(later)
    assert later.widget.text() == "typed" and later.widget.parent() is later
    assert later.is_built and not later.widget.isVisible()
    later = Later(lambda: QLineEdit("typed"), after_its_page=True)
    qtbot.addWidget(later)
    later.resize(300, 200)
    later.show()
    assert not later.is_built
    qtbot.waitUntil(lambda: later.is_built)
    assert later.widget.isVisible() and later.widget.width() == later.width()
    gone = Later(lambda: QLineEdit("typed"), after_its_page=True)
    gone.show()
    gone.deleteLater()
    qtbot.wait(1)  # never made
