"""Parts of a page: title, actions, body, cards, empty states, widgets made on demand."""

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QEvent, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QHideEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QLayout,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedLayout,
    QStackedWidget,
    QTabWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app import resources, theme
from app.theme import SPACE, Role, px
from app.timers import repeated
from app.widgets import buttons, layouts
from app.widgets.drawing import fill
from app.widgets.keys import is_press
from app.widgets.screen import Flow, set_shown
from app.widgets.text.labels import Text

MARGIN = 7 * SPACE
TITLE_WIDTH = 240  # px of a title next to the buttons


class Page(QWidget):
    """A page with a title, a line below it, actions on the right, and a body.

    `body` is the layout to fill, `action_row` holds the buttons at the upper right. With `scrolls`
    the body scrolls if it is higher than the window, and is at most `max_width` px wide.
    """

    def __init__(
        self,
        title: str,
        subtitle: str = "",
        parent: QWidget | None = None,
        scrolls: bool = False,
        max_width: int = 1280,
    ) -> None:
        super().__init__(parent)
        self.title = Text(title, "title")
        self.subtitle = Text(subtitle, "muted")
        self.action_row = layouts.wrap()
        texts = layouts.column(self.title, self.subtitle, spacing=SPACE)
        set_shown(self.subtitle, bool(subtitle))
        self._title_row = layouts.row((texts, 1), spacing=4 * SPACE)
        self.head = layouts.row((self._title_row, 1), self.action_row, spacing=4 * SPACE)
        self.head.setAlignment(self.action_row, Qt.AlignmentFlag.AlignTop)
        self.body = _AtTop()
        self.body.setSpacing(4 * SPACE)
        column = layouts.column(parent=self)
        if not scrolls:
            column.setContentsMargins(MARGIN, MARGIN - SPACE, MARGIN, MARGIN - SPACE)
            column.setSpacing(5 * SPACE)
            column.addLayout(self.head)
            column.addLayout(self.body, 1)
            return
        inner = QWidget()
        inner.setMaximumWidth(px(max_width) + 2 * MARGIN)
        layouts.column(
            self.head,
            (self.body, 1),
            parent=inner,
            spacing=5 * SPACE,
            margins=(MARGIN, MARGIN - SPACE, MARGIN, MARGIN - SPACE),
        )
        column.addWidget(scrolling(inner))

    def add_back(self, text: str, act: Callable[[], object]) -> QToolButton:
        """Add a button before the title that goes back."""
        button = buttons.icon_button("arrow-left", text, act)
        self._title_row.insertWidget(0, button, 0, Qt.AlignmentFlag.AlignTop)
        return button

    def minimumSizeHint(self) -> QSize:
        """High enough for all lines of the title and the text below it."""
        hint = super().minimumSizeHint()
        for text in (self.title, self.subtitle):
            if not text.isHidden():
                lines = text.heightForWidth(text.width()) - text.minimumSizeHint().height()
                hint.setHeight(hint.height() + max(0, lines))
        return hint

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place_buttons()
        self.updateGeometry()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:  # a button was shown or has a longer text
            self._place_buttons()
        return super().event(event)

    def _place_buttons(self) -> None:
        """Place the buttons below the title if there is no space next to it."""
        needed = px(TITLE_WIDTH) + self.action_row.row_width() + 2 * MARGIN
        is_wide = needed <= self.width()
        way = QBoxLayout.Direction.LeftToRight if is_wide else QBoxLayout.Direction.TopToBottom
        if self.head.direction() != way:
            self.head.setDirection(way)
            side = Qt.AlignmentFlag(0) if is_wide else Qt.AlignmentFlag.AlignLeft
            self.head.setAlignment(self.action_row, Qt.AlignmentFlag.AlignTop | side)

    def set_title(self, title: str, subtitle: str = "") -> None:
        self.title.setText(title)
        self.subtitle.setText(subtitle)
        self.subtitle.setVisible(bool(subtitle))


class _AtTop(QVBoxLayout):
    """A column at the top of its space, unless something in it expands.

    With an alignment, Qt would give it its preferred height, which cuts texts off that need more
    lines in a narrow window.
    """

    def setGeometry(self, rect: QRect) -> None:
        if not self.expandingDirections() & Qt.Orientation.Vertical:
            has_height = self.hasHeightForWidth()
            needed = self.heightForWidth(rect.width()) if has_height else self.sizeHint().height()
            rect = QRect(rect.left(), rect.top(), rect.width(), min(rect.height(), needed))
        super().setGeometry(rect)


class LazyArea(QScrollArea):
    """A scroll area that measures its content when it is first shown.

    Measured earlier, widgets would be restyled each time their parent gets a new parent, which is
    half of the time that a page takes.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAutoFillBackground(False)
        self._content: QWidget | None = None

    def minimumSizeHint(self) -> QSize:
        """At least as wide as the content if that is not scrolled horizontally."""
        hint, content = super().minimumSizeHint(), self.widget()
        if self.horizontalScrollBarPolicy() == Qt.ScrollBarPolicy.ScrollBarAlwaysOff and content:
            bar = self.verticalScrollBar().sizeHint().width()
            hint.setWidth(content.minimumSizeHint().width() + bar)
        return hint

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().event(event)

    def set_content(self, widget: QWidget) -> None:
        """Set the content, once."""
        self._content = widget
        if widget.parent() is not self.viewport():
            widget.setParent(self.viewport())
        if self.isVisible():
            self._attach(widget)

    def set_flow(self, inner: QWidget) -> None:
        """Set a content whose height depends on its width, once."""
        self.set_content(Flow(inner, self.viewport()))

    def showEvent(self, event: QShowEvent) -> None:
        if self._content is not None and self.widget() is None:
            self._attach(self._content)
        super().showEvent(event)

    def _attach(self, widget: QWidget) -> None:
        self.setWidget(widget)
        widget.setAutoFillBackground(False)


def scrolling(inner: QWidget | None, parent: QWidget | None = None) -> LazyArea:
    """An area around `inner`, which can be set later, that scrolls vertically, and horizontally if
    necessary."""
    area = LazyArea(parent)
    area.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
    if inner is not None:
        area.set_flow(inner)
    return area


def rule() -> QFrame:
    """A thin line between two parts."""
    line = QFrame()
    line.setProperty("look", "rule")
    return line


class Card(QFrame):
    """A raised area with a `body` layout. A pressable card is a big button.

    Signals:
        pressed: clicked, or Enter or Space while focused.
    """

    pressed = Signal()

    def __init__(
        self,
        title: str = "",
        parent: QWidget | None = None,
        pressable: bool = False,
        padding: int = 5 * SPACE,
    ) -> None:
        super().__init__(parent)
        self.setProperty("look", "card")
        self.body = _AtTop(self)
        self.body.setSpacing(3 * SPACE)
        self.body.setContentsMargins(*(padding,) * 4)
        self.heading = Text(title, "heading") if title else None
        if self.heading is not None:
            self.body.addWidget(self.heading)
        self._pressable = pressable
        if pressable:
            self.setProperty("pressable", True)
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.setCursor(Qt.CursorShape.PointingHandCursor)
            self.setAccessibleName(title)

    def set_picked(self, picked: bool) -> None:
        """Show the card as chosen."""
        self.setProperty("picked", picked)
        self.style().unpolish(self)
        self.style().polish(self)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        is_inside = self.rect().contains(event.position().toPoint())
        if self._pressable and is_inside and event.button() == Qt.MouseButton.LeftButton:
            self.pressed.emit()
        super().mouseReleaseEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._pressable and is_press(event):
            self.pressed.emit()
        else:
            super().keyPressEvent(event)


class Picture(QWidget):
    """An icon in the colour of a role, optionally on a soft disc."""

    def __init__(
        self, name: str, side: int = 24, role: Role = Role.ACCENT, disc: bool = False
    ) -> None:
        super().__init__()
        self._name, self._role, self._disc = name, role, disc
        self._icon = resources.icon(name, role)
        total = px(side * 2 if disc else side)
        self.setFixedSize(total, total)

    def sizeHint(self) -> QSize:
        return self.maximumSize()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.height() < self.width():
            return  # there is no space for it
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self._disc:
            fill(painter, self.rect(), theme.colour(Role.ACCENT_SOFT), 10)
        offset = self.width() // 4 if self._disc else 0
        square = self.rect().adjusted(offset, offset, -offset, -offset)
        self._icon.paint(painter, square)


class EmptyState(QWidget):
    """Placeholder of an empty list: the reason, and the next action as a button."""

    def __init__(
        self,
        icon: str,
        title: str,
        text: str,
        action: QPushButton | None = None,
        second: QPushButton | None = None,
    ) -> None:
        super().__init__()
        column = layouts.column(layouts.STRETCH, parent=self, spacing=3 * SPACE, margins=None)
        self.picture = Picture(icon, 28, disc=True)
        column.addWidget(self.picture, 0, Qt.AlignmentFlag.AlignHCenter)
        self.picture.setMinimumHeight(0)  # the first to shrink
        self.title = Text(title, "heading")
        self.text = Text(text, "muted")
        for label in (self.title, self.text):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            label.setMaximumWidth(px(440))
            # a label that is aligned by a layout loses its second line
            column.addLayout(layouts.row(layouts.STRETCH, (label, 8), layouts.STRETCH, spacing=0))
        present = [button for button in (action, second) if button is not None]
        row = layouts.row(layouts.STRETCH, *present, layouts.STRETCH, spacing=2 * SPACE)
        layouts.extend(column, SPACE, row, layouts.STRETCH)


class Stack(QWidget):
    """A stack whose minimum size is that of the shown page.

    QStackedWidget takes the largest of all, and its layout cannot be replaced.
    """

    def __init__(self, *pages: QWidget) -> None:
        super().__init__()
        self._pages = _ShownPageLayout(self)
        for page in pages:
            self._pages.addWidget(page)
        self._pages.currentChanged.connect(lambda _: self.updateGeometry())

    def addWidget(self, page: QWidget) -> None:
        self._pages.addWidget(page)

    def removeWidget(self, page: QWidget) -> None:
        self._pages.removeWidget(page)

    def count(self) -> int:
        return self._pages.count()

    def currentIndex(self) -> int:
        return self._pages.currentIndex()

    def currentWidget(self) -> QWidget | None:
        return self._pages.currentWidget()

    def setCurrentIndex(self, index: int) -> None:
        self._pages.setCurrentIndex(index)

    def setCurrentWidget(self, page: QWidget) -> None:
        self._pages.setCurrentWidget(page)


def size_by_shown(pages: QStackedWidget | QTabWidget) -> None:
    """Let the shown page alone decide the least size; called once all tabs are added."""

    def follow(_: int) -> None:
        policy = QSizePolicy.Policy
        for index in range(pages.count()):
            size = policy.Preferred if index == pages.currentIndex() else policy.Ignored
            page = pages.widget(index)
            assert page is not None
            page.setSizePolicy(size, size)

    pages.currentChanged.connect(follow)
    if isinstance(pages, QStackedWidget):
        pages.widgetAdded.connect(follow)
    follow(0)


class _ShownPageLayout(QStackedLayout):
    def minimumSize(self) -> QSize:
        shown = self.currentWidget()
        return QSize() if shown is None else shown.minimumSizeHint().expandedTo(shown.minimumSize())

    def hasHeightForWidth(self) -> bool:
        shown = self.currentWidget()
        return shown is not None and shown.hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        shown = self.currentWidget()
        min_height = self.minimumSize().height()
        return min_height if shown is None else max(min_height, shown.heightForWidth(width))


def clear(layout: QLayout) -> None:
    """Remove everything from `layout`, and delete it in the next event loop round."""
    while layout.count():
        item = layout.takeAt(0)
        assert item is not None
        widget, inner = item.widget(), item.layout()
        if widget is not None:
            widget.hide()
            widget.deleteLater()
        elif inner is not None:
            clear(inner)


def labelled(label: str, field: QWidget) -> QVBoxLayout:
    """A field with its label above it."""
    name = Text(label, "strong")
    name.setBuddy(field)
    column = layouts.column(name, field, spacing=SPACE)
    if not field.accessibleName():
        field.setAccessibleName(label)
    return column


class PollingWidget(QWidget):
    """Calls `poll` when it is shown, and every `ms` until it is hidden or polling is off."""

    def __init__(self, ms: int) -> None:
        super().__init__()
        self._timer = repeated(self, ms, self.poll)
        self._is_polling = True

    def poll(self) -> None:
        """Read the new state."""
        raise NotImplementedError

    def set_polling(self, on: bool) -> None:
        """Start polling, or stop it until it is set again."""
        self._is_polling = on
        if not on:
            self._timer.stop()
        elif self.isVisible() and not self._timer.isActive():
            self._timer.start()
            self.poll()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.poll()
        if self._is_polling:
            self._timer.start()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()


Inner = TypeVar("Inner", bound=QWidget)


class LazyWidget(QWidget, Generic[Inner]):
    """Makes its widget when it is first shown, or when `widget` is read.

    With `after_its_page`, a slow widget is made after its page is shown, in a later round of the
    event loop.
    """

    def __init__(self, make: Callable[[], Inner], after_its_page: bool = False) -> None:
        super().__init__()
        self._make, self._after_its_page = make, after_its_page
        self._widget: Inner | None = None
        self._column = layouts.column(parent=self)

    @property
    def widget(self) -> Inner:
        """The widget, made on first access."""
        if self._widget is None:
            self._widget = self._make()
            self._column.addWidget(self._widget)
        return self._widget

    @property
    def is_built(self) -> bool:
        return self._widget is not None

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._after_its_page and not self.is_built:
            QTimer.singleShot(0, self, self._fill)
        else:
            self._fill()

    def _fill(self) -> None:
        self.widget.show()
        self._column.activate()  # otherwise it is painted once in another size
