"""The navigation bar on the left, and the stack of pages."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QFont, QKeyEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QScrollArea,
    QStackedWidget,
    QWidget,
)

from app import resources, theme
from app.theme import SPACE, Role, px
from app.widgets import layouts
from app.widgets.dialogs import focus_chain
from app.widgets.drawing import fill, write
from app.widgets.help import HelpButton
from app.widgets.keys import vertical_step
from app.widgets.text.labels import font, tooltip

WIDTH = 84
HEIGHT, MIN_HEIGHT = 60, 22  # px; lower if the window is not high enough
ICON, WORD = 20, 18  # px: heights of the parts; words alone if there is no space for both


class NavigationButton(QAbstractButton):
    """An icon above a word; for the shown page with a bar at its edge and bolder text."""

    def __init__(self, icon: str, title: str, keys: str) -> None:
        super().__init__()
        self._icon = icon
        self.setText(title)
        self.setCheckable(True)
        self.setFixedWidth(px(WIDTH))
        self.setMinimumHeight(px(MIN_HEIGHT))
        self.setMaximumHeight(px(HEIGHT))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAccessibleName(title)
        self.setToolTip(tooltip(f"{title} ({keys})"))
        self._by_keyboard = False

    def sizeHint(self) -> QSize:
        return QSize(px(WIDTH), px(HEIGHT))

    def event(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.HoverEnter, QEvent.Type.HoverLeave):
            self.update()
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self._by_keyboard = event.reason() != Qt.FocusReason.MouseFocusReason
        super().focusInEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        shown = self.isChecked()
        area = QRectF(self.rect()).adjusted(6, 2, -6, -2)
        has_ring = self.hasFocus() and self._by_keyboard
        painter.setPen(QPen(theme.colour(Role.ACCENT), 2) if has_ring else Qt.PenStyle.NoPen)
        if shown:
            painter.setBrush(theme.colour(Role.ACCENT_SOFT))
        elif self.underMouse():
            painter.setBrush(theme.colour(Role.HOVER))
        else:
            painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(area.adjusted(1, 1, -1, -1), 8, 8)
        if shown:
            inset = self.height() * 4 // 15
            bar = QRectF(0, inset, 3, self.height() - 2 * inset)
            fill(painter, bar, theme.colour(Role.ACCENT), 1.5)
        role = Role.ACCENT if shown else Role.MUTED
        side, word = px(ICON), px(WORD)
        gap = min(px(4), self.height() - side - word)
        has_icon = gap >= 0
        top = (self.height() - word - (side + gap) * has_icon) // 2
        if has_icon:
            square = QRect((self.width() - side) // 2, top, side, side)
            resources.icon(self._icon, role).paint(painter, square)
            top += side + gap
        small = font("small")
        small.setWeight(QFont.Weight.DemiBold if shown else QFont.Weight.Medium)
        label = QRectF(2, top, self.width() - 4, word)
        role = Role.TEXT if shown else Role.MUTED
        write(painter, label, self.text(), small, role, Qt.AlignmentFlag.AlignCenter)


class Navigation(QWidget):
    """The buttons of all pages; from index `lower` on, they are at the bottom.

    Signals:
        requested: key of the chosen page.
    """

    requested = Signal(str)

    def __init__(
        self,
        entries: Sequence[tuple[str, str, str, str]],  # key, title, icon, keyboard shortcut
        lower: int,
    ) -> None:
        super().__init__()
        self.setFixedWidth(px(WIDTH))
        self.setAccessibleName(self.tr("Pages"))
        self._group = QButtonGroup(self)
        self.buttons: dict[str, NavigationButton] = {}
        column = layouts.column(parent=self, spacing=SPACE, margins=(0, 3 * SPACE, 0, 3 * SPACE))
        for index, (key, title, icon, keys) in enumerate(entries):
            if index == lower:
                column.addStretch(1)
            button = NavigationButton(icon, title, keys)
            button.clicked.connect(lambda _=False, key=key: self.requested.emit(key))
            self._group.addButton(button, index)
            self.buttons[key] = button
            column.addWidget(button)
        if lower >= len(entries):
            column.addStretch(1)

    def show_page(self, key: str) -> None:
        self.buttons[key].setChecked(True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = vertical_step(event)
        buttons = list(self.buttons.values())
        focused = next((n for n, b in enumerate(buttons) if b.hasFocus()), -1)
        if not step or focused < 0:
            super().keyPressEvent(event)
            return
        buttons[(focused + step) % len(buttons)].setFocus(Qt.FocusReason.TabFocusReason)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme.colour(Role.SURFACE))
        painter.fillRect(QRect(self.width() - 1, 0, 1, self.height()), theme.colour(Role.BORDER))


class PageStack(QStackedWidget):
    """Keeps the focus in the page when the focused widget is hidden or disabled.

    Qt would give it to the next widget of the window, possibly a navigation button: Enter would
    then switch pages. A widget that is enabled again has the focus again, as a button after the
    work that it started, unless the user has moved it.
    """

    def __init__(self) -> None:
        super().__init__()
        self._disabled: QWidget | None = None  # had the focus
        self._substitute: QWidget | None = None  # has it meanwhile
        self.currentChanged.connect(lambda _: self.updateGeometry())

    def focusNextPrevChild(self, forward: bool) -> bool:
        focused, page = self.focusWidget(), self.currentWidget()
        is_lost = focused is None or not (focused.isVisible() and focused.isEnabled())
        if is_lost and page is not None:
            following = (
                widget
                for widget in focus_chain(focused or page)
                if page.isAncestorOf(widget) and not isinstance(widget, HelpButton)
            )
            substitute = next(following, self)
            substitute.setFocus()
            if focused is not None and focused is self._substitute:
                self._substitute = substitute  # as after a Cancel that is hidden
            elif focused is not None and not focused.isEnabled():
                focused.installEventFilter(self)
                self._disabled, self._substitute = focused, substitute
            return True
        return super().focusNextPrevChild(forward)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_change = event.type() == QEvent.Type.EnabledChange and watched is self._disabled
        if is_change and (widget := self._disabled) is not None and widget.isEnabled():
            widget.removeEventFilter(self)
            if self.focusWidget() is self._substitute:
                widget.setFocus()
            self._disabled = self._substitute = None
        return False

    def minimumSizeHint(self) -> QSize:
        page = self.currentWidget()
        return QSize() if page is None else page.minimumSizeHint().expandedTo(page.minimumSize())

    def heightForWidth(self, width: int) -> int:
        """The least height of the page, for the area that scrolls it; not the preferred one."""
        return self.minimumSizeHint().height()


class PageArea(QScrollArea):
    """Scrolls the page if the window is too small for it, as with large texts."""

    def __init__(self, stack: PageStack) -> None:
        super().__init__()
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self.setWidget(stack)
        stack.setAutoFillBackground(False)
