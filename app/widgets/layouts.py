"""Box layouts as one expression: `layouts.column(title, layouts.row(cancel, start), parent=self)`.

Each item is a widget, a layout, a space in pixels, `STRETCH`, or a tuple of a widget or layout with
its stretch factor and optionally its alignment. Margins default to 0; None takes the style's.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QLayoutItem,
    QSpacerItem,
    QSplitter,
    QVBoxLayout,
    QWidget,
    QWidgetItem,
)

from app.theme import SPACE

MAX_WIDTH = 1 << 20  # px of a row without an end
ROW_GAP = SPACE  # px between the rows of a `Wrap`


class _Stretch:
    pass


STRETCH: Final = _Stretch()

Part = QWidget | QLayout
Item = Part | int | _Stretch | tuple[Part, int] | tuple[Part, int, Qt.AlignmentFlag]
Margins = int | tuple[int, int, int, int] | None
NO_ALIGNMENT = Qt.AlignmentFlag(0)


class Wrap(QLayout):
    """Items in reading direction at their preferred widths, in as many rows as they need.

    Items with a stretch, and gaps, share the rest of their row. The least height is that of the
    present width, which splitters, tabs and stacks respect, unlike `heightForWidth`.
    """

    def __init__(self) -> None:
        super().__init__()
        self._items: list[tuple[QLayoutItem, int]] = []
        self._height = 0  # px at the present width

    def addItem(self, item: QLayoutItem) -> None:
        self._items.append((item, 0))

    def addWidget(
        self, widget: QWidget, stretch: int = 0, alignment: Qt.AlignmentFlag = NO_ALIGNMENT
    ) -> None:
        self.addChildWidget(widget)
        item = QWidgetItem(widget)
        item.setAlignment(alignment)
        self._items.append((item, stretch))
        self.invalidate()

    def addLayout(self, layout: QLayout, stretch: int = 0) -> None:
        self.addChildLayout(layout)
        self._items.append((layout, stretch))
        self.invalidate()

    def addSpacing(self, size: int) -> None:
        self._items.append((QSpacerItem(size, 0), 0))

    def addStretch(self, stretch: int) -> None:
        self._items.append((QSpacerItem(0, 0), stretch))

    def count(self) -> int:
        return len(self._items)

    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index][0] if 0 <= index < len(self._items) else None

    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index)[0] if 0 <= index < len(self._items) else None

    def expandingDirections(self) -> Qt.Orientation:
        stretches = any(stretch for _, stretch in self._items)
        return Qt.Orientation.Horizontal if stretches else Qt.Orientation(0)

    def sizeHint(self) -> QSize:
        boxes = self._boxes(MAX_WIDTH, stretched=False)
        size = QSize(
            max((box.right() + 1 for _, box in boxes), default=0),
            max((box.bottom() + 1 for _, box in boxes), default=0),
        )
        return QSize(size.width(), self._height or size.height())

    def minimumSize(self) -> QSize:
        sizes = [item.minimumSize() for item, _ in self._items if not _is_left_out(item)]
        width = max((size.width() for size in sizes), default=0)
        height = self._height or max((size.height() for size in sizes), default=0)
        return QSize(width, height)

    def row_width(self) -> int:
        """The least width of one row in px."""
        items = [item for item, _ in self._items if not _is_left_out(item)]
        return sum(item.minimumSize().width() for item in items) + sum(self._gaps(items))

    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        for item, _ in self._items:
            if _is_left_out(item):  # it would cover others with the size that it has
                item.setGeometry(QRect(rect.topLeft(), QSize(0, 0)))
        boxes = self._boxes(rect.width())
        for item, box in boxes:
            item.setGeometry(box.translated(rect.topLeft()))
        height = max((box.bottom() + 1 for _, box in boxes), default=0)
        if height != self._height:
            self._height = height
            self.update()

    def _boxes(self, width: int, stretched: bool = True) -> list[tuple[QLayoutItem, QRect]]:
        """Every item with its place in `width` px."""
        boxes: list[tuple[QLayoutItem, QRect]] = []
        top = 0
        for row in self._rows(width):
            gaps = self._gaps([item for item, _, _ in row])
            free = width - sum(base for _, base, _ in row) - sum(gaps) if stretched else 0
            total = sum(stretch for _, _, stretch in row)
            left, heights = 0, []
            first = len(boxes)
            for (item, base, stretch), gap in zip(row, gaps, strict=True):
                left += gap
                more = free * stretch // total if total else 0
                free, total = free - more, total - stretch
                heights.append(_height(item, base + more))
                boxes.append((item, QRect(left, top, base + more, 0)))
                left += base + more
            for _, box in boxes[first:]:
                box.setHeight(max(heights))
            top += max(heights) + ROW_GAP
        return boxes

    def _rows(self, width: int) -> list[list[tuple[QLayoutItem, int, int]]]:
        """The items of each row with their widths in px and their stretches."""
        rows: list[list[tuple[QLayoutItem, int, int]]] = [[]]
        used = 0
        for item, stretch in self._items:
            if _is_left_out(item):
                continue
            wanted = max(item.sizeHint().width(), item.minimumSize().width())
            base = min(wanted, item.maximumSize().width(), width)
            gap = self._gaps([*(other for other, _, _ in rows[-1]), item])[-1]
            if rows[-1] and used + gap + base > width and not _is_space(item):
                rows.append([])
                used, gap = 0, 0
            rows[-1].append((item, base, stretch))
            used += gap + base
        return rows if rows[0] else []

    def _gaps(self, items: Sequence[QLayoutItem]) -> list[int]:
        """The distance before each item of a row in px."""
        gaps, has_part = [], False
        for item in items:
            gaps.append(self.spacing() if has_part and not _is_space(item) else 0)
            has_part = has_part or not _is_space(item)
        return gaps


def _is_space(item: QLayoutItem) -> bool:
    return isinstance(item, QSpacerItem)


def _is_left_out(item: QLayoutItem) -> bool:
    """Hidden, or around hidden widgets alone."""
    widget = item.widget()
    inner = None if widget is None else widget.layout()
    is_hollow = inner is not None and inner.count() > 0 and inner.isEmpty()
    return (item.isEmpty() or is_hollow) and not _is_space(item)


def _height(item: QLayoutItem, width: int) -> int:
    if item.hasHeightForWidth():
        return item.heightForWidth(width)
    return max(item.sizeHint().height(), item.minimumSize().height())


Box = TypeVar("Box", bound=QBoxLayout | Wrap)


def column(
    *items: Item, parent: QWidget | None = None, spacing: int | None = None, margins: Margins = 0
) -> QVBoxLayout:
    """Items from top to bottom; `spacing` in pixels defaults to the style's."""
    return _fill(QVBoxLayout(), items, parent, spacing, margins)


def row(
    *items: Item, parent: QWidget | None = None, spacing: int | None = None, margins: Margins = 0
) -> QHBoxLayout:
    """Items in reading direction; `spacing` in pixels defaults to the style's."""
    return _fill(QHBoxLayout(), items, parent, spacing, margins)


def wrap(*items: Item, parent: QWidget | None = None, spacing: int = 2 * SPACE) -> Wrap:
    """Items in reading direction, in as many rows as they need; `spacing` in pixels."""
    return _fill(Wrap(), items, parent, spacing, 0)


def page(*items: Item, spacing: int | None = None, margins: Margins = 0) -> QWidget:
    """A widget with a `column`."""
    widget = QWidget()
    column(*items, parent=widget, spacing=spacing, margins=margins)
    return widget


def splitter(*parts: QWidget, sizes: Sequence[int], stretch: int = 1) -> QSplitter:
    """Resizable parts side by side, `sizes` in px; part `stretch` gets spare width."""
    widget = QSplitter(Qt.Orientation.Horizontal)
    widget.setChildrenCollapsible(False)
    for part in parts:
        widget.addWidget(part)
    widget.setSizes(sizes)
    widget.setStretchFactor(stretch, 1)
    return widget


def tab(page: QWidget, *items: Item, spacing: int = 3 * SPACE) -> QVBoxLayout:
    """Items of a tab from top to bottom, with a gap below the tab bar."""
    return column(*items, parent=page, spacing=spacing, margins=(0, 3 * SPACE, 0, 0))


def grid(
    parent: QWidget | None = None,
    h_spacing: int | None = None,
    v_spacing: int | None = None,
    stretch: int = -1,
    margins: Margins = 0,
) -> QGridLayout:
    """An empty grid, spacings in px; column `stretch` gets spare width."""
    cells = QGridLayout()
    _set_up(cells, parent, margins)
    if h_spacing is not None:
        cells.setHorizontalSpacing(h_spacing)
    if v_spacing is not None:
        cells.setVerticalSpacing(v_spacing)
    if stretch >= 0:
        cells.setColumnStretch(stretch, 1)
    return cells


def _set_up(layout: QLayout, parent: QWidget | None, margins: Margins) -> None:
    if parent is not None:
        parent.setLayout(layout)
    if margins is not None:
        sides = margins if isinstance(margins, tuple) else (margins,) * 4
        layout.setContentsMargins(*sides)


def _fill(
    box: Box, items: tuple[Item, ...], parent: QWidget | None, spacing: int | None, margins: Margins
) -> Box:
    _set_up(box, parent, margins)
    if spacing is not None:
        box.setSpacing(spacing)
    extend(box, *items)
    return box


def extend(box: QBoxLayout | Wrap, *items: Item) -> None:
    """Append items to a layout."""
    for item in items:
        if isinstance(item, _Stretch):
            box.addStretch(1)
        elif isinstance(item, int):
            box.addSpacing(item)
        elif isinstance(item, tuple):
            part, stretch, *alignment = item
            if isinstance(part, QLayout):
                box.addLayout(part, stretch)
            else:
                box.addWidget(part, stretch, *alignment)
        elif isinstance(item, QLayout):
            box.addLayout(item)
        else:
            box.addWidget(item)
