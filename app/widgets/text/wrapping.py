"""Controls in rows: as many beside one another as there is room for, the others below them."""

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE
from app.widgets import layouts


class Wrapping(QWidget):
    """Keeps its parts in their order, each as wide as it wants to be, and is as high as its rows.

    A part that is hidden takes no room. `gap` px lie between two parts.
    """

    def __init__(self, parent: QWidget | None = None, gap: int = 4 * SPACE) -> None:
        super().__init__(parent)
        self._gap = gap
        self._parts: list[QWidget] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def add(self, *widgets: QWidget) -> QWidget:
        """Add widgets that stay beside one another; gives the part that they make."""
        part = QWidget(self)
        row = layouts.row(parent=part, spacing=SPACE)
        for widget in widgets:
            row.addWidget(widget)
        self._parts.append(part)
        part.installEventFilter(self)
        self._place()
        return part

    def sizeHint(self) -> QSize:
        return QSize(sum(part.sizeHint().width() for part in self._parts), self.height())

    def minimumSizeHint(self) -> QSize:
        widest = max((part.minimumSizeHint().width() for part in self._parts), default=0)
        return QSize(widest, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().event(event)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """A part may have come, gone, or changed its width."""
        kinds = (QEvent.Type.LayoutRequest, QEvent.Type.ShowToParent, QEvent.Type.HideToParent)
        if event.type() in kinds:
            self._place()
        return False

    def _place(self) -> None:
        """Give each part its place; nothing where all of them stand there already."""
        left, top, high = 0, 0, 0
        rows: list[list[tuple[QWidget, QRect]]] = [[]]
        for part in self._parts:
            if part.isHidden() or not _has_something(part):
                continue
            size = part.sizeHint()
            wide = min(size.width(), max(1, self.width()))
            if left and left + wide > self.width():
                left, top, high = 0, top + high + SPACE, 0
                rows.append([])
            rows[-1].append((part, QRect(left, top, wide, size.height())))
            left, high = left + wide + self._gap, max(high, size.height())
        for row in rows:
            tallest = max((place.height() for _, place in row), default=0)
            for part, place in row:
                place.setHeight(tallest)
                if part.geometry() != place:
                    part.setGeometry(place)
        if top + high != self.height():
            self.setFixedHeight(top + high)


def _has_something(part: QWidget) -> bool:
    """Whether not all that it holds is hidden."""
    inside = part.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return any(not widget.isHidden() for widget in inside)
