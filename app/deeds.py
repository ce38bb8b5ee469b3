"""Actions of pages as commands of the palette: their buttons, and the menus of these."""

from collections.abc import Iterable, Iterator

from PySide6.QtWidgets import QAbstractButton, QMenu, QPushButton, QToolButton, QWidget

from app.palette import Command
from app.studio import Studio
from app.widgets.help import HelpButton
from app.widgets.text.labels import without_key


def page_commands(page: QWidget, kind: str, icon: str) -> Iterator[Command]:
    """The enabled buttons that a page shows, and the entries of their menus."""
    for button in page.findChildren(QAbstractButton):
        is_action = isinstance(button, QPushButton | QToolButton) and not button.isCheckable()
        if not is_action or isinstance(button, HelpButton):  # help is found by its topics
            continue
        assert isinstance(button, QPushButton | QToolButton)
        if not button.isEnabled() or not button.isVisibleTo(page):
            continue
        menu = button.menu()
        if menu is not None:
            yield from _menu_commands(menu, button.accessibleName(), kind, icon)
        elif name := button.accessibleName():
            yield Command(name, kind, icon, button.click)


def list_commands(
    buttons: Iterable[QPushButton], studio: Studio, key: str, kind: str, icon: str
) -> Iterator[Command]:
    """Buttons above the list of a page, which is shown first."""
    for button in buttons:
        if button.isEnabled() and not button.isHidden():

            def act(button: QPushButton = button) -> None:
                studio.navigate.emit(key, {"list": True})
                button.click()

            yield Command(button.accessibleName(), kind, icon, act)


def _menu_commands(menu: QMenu, hint: str, kind: str, icon: str) -> Iterator[Command]:
    menu.aboutToShow.emit()  # which enables its entries
    for action in menu.actions():
        if action.isEnabled() and action.isVisible() and action.text():
            yield Command(without_key(action.text()), kind, icon, action.trigger, hint)
