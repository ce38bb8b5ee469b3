"""A menu whose entries are ticked, several one after another."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QMenu, QWidget


class CheckableMenu(QMenu):
    """Stays open while entries with a tick are clicked, or toggled by the space bar."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._pressed: QAction | None = None

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._pressed = self._ticked(self.actionAt(event.position().toPoint()))
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        action, self._pressed = self._pressed, None
        if action is None or action is not self.actionAt(event.position().toPoint()):
            super().mouseReleaseEvent(event)
            return
        action.setEnabled(False)  # on one that is off, a click does not close the menu
        super().mouseReleaseEvent(event)
        action.setEnabled(True)
        action.trigger()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        action = self._ticked(self.activeAction())
        if event.key() == Qt.Key.Key_Space and action is not None:
            action.trigger()
        else:
            super().keyPressEvent(event)

    def _ticked(self, action: QAction | None) -> QAction | None:
        """The entry where it has a tick and is not off."""
        usable = action is not None and action.isCheckable() and action.isEnabled()
        return action if usable else None
