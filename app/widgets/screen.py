"""Windows and dialogs that fit small screens."""

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.theme import SPACE
from app.widgets import layouts

FRAME_HEIGHT = 40  # px assumed for the title bar; known only once a window is shown
MIN_HEIGHT = 72  # px of a scrolling area
EDGE = 6 * SPACE  # px around the content of a dialog


def available_area(widget: QWidget) -> QRect:
    """Area available for a window without its title bar, excluding panels and docks."""
    screen = widget.screen() or QGuiApplication.primaryScreen()
    return screen.availableGeometry().adjusted(0, FRAME_HEIGHT, 0, 0)


def fit_rect(rect: QRect, available: QRect) -> QRect:
    """`rect`, shrunk and moved as little as necessary to fit into `available`."""
    size = rect.size().boundedTo(available.size())
    left = max(available.left(), min(rect.left(), available.right() + 1 - size.width()))
    top = max(available.top(), min(rect.top(), available.bottom() + 1 - size.height()))
    return QRect(left, top, size.width(), size.height())


def resize_within(window: QWidget, size: QSize) -> None:
    """Resize a window, at most to the available size of its screen."""
    window.resize(size.boundedTo(available_area(window).size()))


def move_onto_screen(window: QWidget) -> None:
    """Move and shrink a window onto the current screen."""
    large = Qt.WindowState.WindowMaximized | Qt.WindowState.WindowFullScreen
    if not window.windowState() & large:
        window.setGeometry(fit_rect(window.geometry(), available_area(window)))


def set_shown(widget: QWidget, shown: bool) -> None:
    """Show or hide a part of a layout unless it is already shown with the layout.

    `setVisible` lays out immediately, even before the window is open; widgets that were laid out
    are restyled each time their parent gets a new parent.
    """
    is_hidden = widget.isHidden() and widget.testAttribute(
        Qt.WidgetAttribute.WA_WState_ExplicitShowHide
    )
    if shown == is_hidden:
        widget.setVisible(shown)


class Flow(QWidget):
    """A widget as high as its current width requires, not its smallest possible width."""

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


class FitArea(QScrollArea):
    """A scroll area as high as its content if there is space.

    It is as wide as the content and the scroll bar together, and scrolls horizontally on narrower
    screens.
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
        has_height = self._flow.hasHeightForWidth()
        return self._flow.heightForWidth(width) if has_height else self._flow.sizeHint().height()

    def sizeHint(self) -> QSize:
        return self._limit_width(self._flow.sizeHint())

    def minimumSizeHint(self) -> QSize:
        smallest = self._flow.column.minimumSize()
        return self._limit_width(QSize(smallest.width(), min(smallest.height(), MIN_HEIGHT)))

    def _limit_width(self, size: QSize) -> QSize:
        width = size.width() + self.verticalScrollBar().sizeHint().width()
        return QSize(min(width, available_area(self).width() - 2 * EDGE), size.height())
