"""Controls in rows, as many in a row as fit."""

from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE
from app.widgets import layouts


class WrapArea(QWidget):
    """Keeps parts in order, each at its preferred width, in as many rows as necessary.

    Hidden parts take no space. `gap` is the distance between parts in px.
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
        self._lay_out()
        return part

    def sizeHint(self) -> QSize:
        return QSize(sum(part.sizeHint().width() for part in self._parts), self.height())

    def minimumSizeHint(self) -> QSize:
        widest = max((part.minimumSizeHint().width() for part in self._parts), default=0)
        return QSize(widest, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._lay_out()
        return super().event(event)

    def eventFilter(self, watched: object, event: QEvent) -> bool:
        """Lay out again when a part is shown, hidden or resized."""
        kinds = (QEvent.Type.LayoutRequest, QEvent.Type.ShowToParent, QEvent.Type.HideToParent)
        if event.type() in kinds:
            self._lay_out()
        return False

    def _lay_out(self) -> None:
        """Move the parts to their positions in rows."""
        left, top, row_height = 0, 0, 0
        rows: list[list[tuple[QWidget, QRect]]] = [[]]
        for part in self._parts:
            if part.isHidden() or not _is_filled(part):
                continue
            size = part.sizeHint()
            width = min(size.width(), max(1, self.width()))
            if left and left + width > self.width():
                left, top, row_height = 0, top + row_height + SPACE, 0
                rows.append([])
            rows[-1].append((part, QRect(left, top, width, size.height())))
            left, row_height = left + width + self._gap, max(row_height, size.height())
        for row in rows:
            tallest = max((box.height() for _, box in row), default=0)
            for part, box in row:
                box.setHeight(tallest)
                if part.geometry() != box:
                    part.setGeometry(box)
        if top + row_height != self.height():
            self.setFixedHeight(top + row_height)


def _is_filled(part: QWidget) -> bool:
    children = part.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    return any(not widget.isHidden() for widget in children)
