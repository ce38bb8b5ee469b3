"""Buttons and menus as commands of the palette."""

from PySide6.QtWidgets import QMenu, QPushButton, QWidget

from app.deeds import page_commands
from app.palette import score
from app.widgets import buttons


def test_buttons_of_the_page_and_entries_of_their_menus_are_deeds(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    done: list[str] = []
    plain = buttons.plain("Do && &this…", lambda: done.append("this"))
    hidden, closed = buttons.plain("Hidden"), buttons.plain("Closed")
    closed.setEnabled(False)
    more = QPushButton("More")
    more.setAccessibleName("More")
    menu = QMenu(more)
    menu.addAction("Save as &PNG…").triggered.connect(lambda: done.append("png"))
    menu.addAction("Not now").setEnabled(False)
    more.setMenu(menu)
    for button in (plain, hidden, closed, more):
        button.setParent(page)
    hidden.hide()
    page.show()
    found = {c.title: c for c in page_commands(page, "Page", "house")}
    assert list(found) == ["Do & this…", "Save as PNG…"]
    assert score("more png", found["Save as PNG…"]) is not None
    for command in found.values():
        command.act()
    assert done == ["this", "png"]
