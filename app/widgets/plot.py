"""The drawing in a curve: axes with their names, crosshair, zoom."""

import re

import numpy as np
import pyqtgraph
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtWidgets import QWidget

from app import theme
from app.theme import Role
from app.widgets.text import numbers
from app.widgets.text.labels import font

LEFT_AXIS, BOTTOM_AXIS = 72, 40  # px: numbers, and the name of the axis
THOUSANDS = re.compile(r"-?\d{4,}")


class Plot(pyqtgraph.PlotWidget):  # type: ignore[misc]  # it has no types
    """The drawing itself.

    Signals:
        hovered: the step under the mouse; NaN when it left.
        left: a double click, to leave the zoom.
    """

    hovered = Signal(float)
    left = Signal()

    def __init__(self, parent: QWidget, values: str, steps: str) -> None:
        """`values` and `steps` are the names of the two axes."""
        axes = {"left": _Values(orientation="left"), "bottom": _Steps(orientation="bottom")}
        super().__init__(parent, axisItems=axes, enableMenu=False)
        self.hideButtons()
        self.setMouseEnabled(x=True, y=False)
        self.setFrameShape(self.Shape.NoFrame)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.NoContextMenu)
        self.getViewBox().setMouseMode(pyqtgraph.ViewBox.RectMode)
        self.disableAutoRange()
        self.setDownsampling(auto=True, mode="peak")
        self.setClipToView(True)
        self.getAxis("left").setWidth(LEFT_AXIS)
        self.getAxis("bottom").setHeight(BOTTOM_AXIS)
        self._names = {"left": values, "bottom": steps}
        parent.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._free = False
        self._cross = pyqtgraph.InfiniteLine(angle=90, movable=False)
        self._cross.setZValue(5)
        self._marks = pyqtgraph.ScatterPlotItem(size=8)
        self._marks.setZValue(6)
        for item in (self._cross, self._marks):
            self.addItem(item, ignoreBounds=True)
            item.hide()
        self.scene().sigMouseMoved.connect(self._on_moved)
        self.getViewBox().sigRangeChangedManually.connect(lambda: self.set_free(True))

    def apply_style(self) -> None:
        self.setBackground(None)
        self.viewport().setAutoFillBackground(False)
        self.setStyleSheet("background: transparent")
        small = font("small")
        for side in ("left", "bottom"):
            axis = self.getAxis(side)
            axis.setPen(pyqtgraph.mkPen(theme.colour(Role.BORDER), width=1))
            axis.setTextPen(pyqtgraph.mkPen(theme.colour(Role.MUTED)))
            axis.setTickFont(small)
            axis.setStyle(tickLength=0, tickTextOffset=6)
            axis.label.setFont(small)
            axis.setLabel(self._names[side], color=theme.colour(Role.MUTED).name())
        self.showGrid(x=False, y=True, alpha=0.5)
        dashes = Qt.PenStyle.DashLine
        self._cross.setPen(pyqtgraph.mkPen(theme.colour(Role.MUTED), width=1, style=dashes))
        self._marks.setBrush(theme.colour(Role.SURFACE))
        self._marks.setPen(pyqtgraph.mkPen(theme.colour(Role.TEXT), width=1.5))
        band = self.getViewBox().rbScaleBox
        band.setPen(pyqtgraph.mkPen(theme.colour(Role.ACCENT), width=1))
        band.setBrush(theme.colour(Role.ACCENT, 0.15))

    def is_free(self) -> bool:
        """Whether the user has zoomed, so that new points must not move the view."""
        return self._free

    def set_free(self, free: bool) -> None:
        self._free = free

    def show_crosshair(self, step: float, points: list[tuple[float, float]]) -> None:
        """A line at `step`, and a mark at each of these points; NaN takes both away."""
        there = step == step
        self._cross.setVisible(there)
        self._marks.setVisible(there)
        if there:
            self._cross.setPos(step)
            log = self.getPlotItem().getAxis("left").logMode
            seen = [(x, y) for x, y in points if y == y and not (log and y <= 0)]
            heights = [y for _, y in seen]
            self._marks.setData([x for x, _ in seen], list(np.log10(heights) if log else heights))

    def sizeHint(self) -> QSize:
        return QSize(360, 180)

    def mouseDoubleClickEvent(self, event: object) -> None:
        self.left.emit()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.hovered.emit(float("nan"))

    def _on_moved(self, place: QPointF) -> None:
        box = self.getViewBox()
        if QRectF(box.sceneBoundingRect()).contains(place):
            self.hovered.emit(float(box.mapSceneToView(place).x()))


class _Values(pyqtgraph.AxisItem):  # type: ignore[misc]  # it has no types
    """Numbers as short as they can be told apart; from 1,000 on with marks of thousands."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.enableAutoSIPrefix(False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        told: list[str] = super().tickStrings(values, scale, spacing)
        return [numbers.count(int(text)) if THOUSANDS.fullmatch(text) else text for text in told]


class _Steps(pyqtgraph.AxisItem):  # type: ignore[misc]  # it has no types
    """Whole numbers with the user's own marks of thousands."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self.enableAutoSIPrefix(False)

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        return [numbers.count(round(v)) if float(v).is_integer() else "" for v in values]
