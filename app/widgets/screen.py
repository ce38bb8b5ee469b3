"""Windows and dialogs that fit the screen, however small it is or its pixels are."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.theme import SPACE
from app.widgets import layouts

FRAME_HEIGHT = 40  # px that the title bar of a desktop may take; it is known once a window is shown
LEAST_HEIGHT = 72  # px of what scrolls
EDGE = 6 * SPACE  # px around what a dialog shows


def room(widget: QWidget) -> QRect:
    """Where a window of this screen may lie, without its title bar: inside of panels and docks."""
    screen = widget.screen() or QGuiApplication.primaryScreen()
    return screen.availableGeometry().adjusted(0, FRAME_HEIGHT, 0, 0)


def fitted(wanted: QRect, available: QRect) -> QRect:
    """`wanted`, made smaller and moved as little as need be to lie within `available`."""
    size = wanted.size().boundedTo(available.size())
    left = max(available.left(), min(wanted.left(), available.right() + 1 - size.width()))
    top = max(available.top(), min(wanted.top(), available.bottom() + 1 - size.height()))
    return QRect(left, top, size.width(), size.height())


def resize_within(window: QWidget, wanted: QSize) -> None:
    """Give a window this size, or what its screen has room for."""
    window.resize(wanted.boundedTo(room(window).size()))


def keep_within(window: QWidget) -> None:
    """Move and shrink a window that was left on a screen that is gone or was larger."""
    large = Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen
    if not window.windowState() & large:
        window.setGeometry(fitted(window.geometry(), room(window)))


def set_shown(widget: QWidget, shown: bool) -> None:
    """Show or hide a part of a layout, and do nothing where it is shown anyway with the layout.

    `setVisible` lays out at once what is shown, though the window may not be open yet; and what
    was laid out is given its style anew whenever what holds it goes into something larger.
    """
    is_hidden = widget.isHidden() and widget.testAttribute(
        Qt.WidgetAttribute.WA_WState_ExplicitShowHide
    )
    if shown == is_hidden:
        widget.setVisible(shown)


class Flow(QWidget):
    """As high as its lines need at the width that it has, not at the smallest it could have."""

    def __init__(self, inner: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column = layouts.column(inner, parent=self)
        self.setMaximumWidth(inner.maximumWidth())
        for widget in (inner, self):
            widget.setAutoFillBackground(False)
            widget.setProperty("bare", True)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(hint.width(), 0) if self.hasHeightForWidth() else hint


class Fitting(QScrollArea):
    """As high as its content where there is room, and scrolling where there is not.

    The width is that of the content and of the scroll bar, so that nothing stands under the bar; on
    a screen without that room it scrolls sideways, too.
    """

    def __init__(self, inner: QWidget) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self._flow = Flow(inner)
        self.setWidget(self._flow)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        has = self._flow.hasHeightForWidth()
        return self._flow.heightForWidth(width) if has else self._flow.sizeHint().height()

    def sizeHint(self) -> QSize:
        return self._within(self._flow.sizeHint())

    def minimumSizeHint(self) -> QSize:
        smallest = self._flow.column.minimumSize()
        return self._within(QSize(smallest.width(), min(smallest.height(), LEAST_HEIGHT)))

    def _within(self, size: QSize) -> QSize:
        width = size.width() + self.verticalScrollBar().sizeHint().width()
        return QSize(min(width, room(self).width() - 2 * EDGE), size.height())
