"""Controls in rows: as many in a row as there is room for."""

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE
from app.widgets import layouts


class Wrapping(QWidget):
    """Keeps parts in order, each at its preferred width, in as many rows as necessary.

    Hidden parts take no room. `gap` is the distance of two parts in px.
    """

    def __init__(self, gap: int = 4 * SPACE) -> None:
        super().__init__()
        self._gap = gap
        self._parts: list[QWidget] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def add(self, *widgets: QWidget) -> QWidget:
        """Add widgets that stay together; returns the part that holds them."""
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
        """Lay out again when a part is shown, hidden or resized."""
        kinds = (QEvent.Type.LayoutRequest, QEvent.Type.ShowToParent, QEvent.Type.HideToParent)
        if event.type() in kinds:
            self._place()
        return False

    def _place(self) -> None:
        """Move each part to its position, unless all are there already."""
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
            tallest = max((box.height() for _, box in row), default=0)
            for part, box in row:
                box.setHeight(tallest)
                if part.geometry() != box:
                    part.setGeometry(box)
        if top + high != self.height():
            self.setFixedHeight(top + high)


def _has_something(part: QWidget) -> bool:
    inside = part.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return any(not widget.isHidden() for widget in inside)
