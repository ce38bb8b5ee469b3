"""Box layouts as one expression: `layouts.column(title, layouts.row(cancel, start), parent=self)`.

Each item is a widget, a layout, a space in pixels, `STRETCH`, or a tuple of a widget or layout with
its stretch factor and optionally its alignment. Margins default to 0; None takes the style's.
"""

from collections.abc import Sequence
from typing import Final, TypeVar

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QBoxLayout,
    QGridLayout,
    QHBoxLayout,
    QLayout,
    QSplitter,
    QVBoxLayout,
    QWidget,
)

from app.theme import SPACE


class _Stretch:
    pass


STRETCH: Final = _Stretch()

Part = QWidget | QLayout
Item = Part | int | _Stretch | tuple[Part, int] | tuple[Part, int, Qt.AlignmentFlag]
Margins = int | tuple[int, int, int, int] | None
Box = TypeVar("Box", bound=QBoxLayout)


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


def extend(box: QBoxLayout, *items: Item) -> None:
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
