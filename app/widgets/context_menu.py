"""The context menu of a widget: sections that several parts add, by right click and menu key."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QAbstractScrollArea, QMenu, QWidget

from app import resources

Section = Callable[[QMenu], Iterable[QAction]]


class ContextMenu(QObject):
    """Opens a menu with the actions of all sections; the section added last comes first."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.widget = widget
        self.point = QPoint()  # that was clicked
        self._sections: list[Section] = []
        widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        widget.customContextMenuRequested.connect(self._open)

    def add(self, section: Section) -> None:
        """Add a section: a function that returns its actions, given the menu that opens."""
        self._sections.insert(0, section)

    def build(self) -> QMenu:
        """The menu with a separator between sections."""
        menu = QMenu(self.widget)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        for section in self._sections:
            if not menu.isEmpty():
                menu.addSeparator()
            menu.addActions(list(section(menu)))
        return menu

    def _open(self, point: QPoint) -> None:
        self.point = point
        menu = self.build()
        if not menu.isEmpty():
            widget = self.widget
            area = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
            menu.popup(area.mapToGlobal(point))


def context_menu(widget: QWidget) -> ContextMenu:
    """The context menu of a widget, made on first access."""
    direct = Qt.FindChildOption.FindDirectChildrenOnly
    found = widget.findChild(ContextMenu, options=direct)
    return found if isinstance(found, ContextMenu) else ContextMenu(widget)


def menu_action(
    owner: QObject, text: str, act: Callable[[], object], icon: str = "", why_not: str = ""
) -> QAction:
    """An action owned by `owner`, disabled if there is a reason, which is its tooltip.

    PySide may lose an action that a menu makes.
    """
    action = QAction(text, owner)
    if icon:
        action.setIcon(resources.icon(icon))
    action.setEnabled(not why_not)
    if why_not:
        action.setToolTip(why_not)
    action.triggered.connect(lambda _=False: act())
    return action


def separator(owner: QObject) -> QAction:
    """A line between two actions."""
    line = QAction(owner)
    line.setSeparator(True)
    return line
