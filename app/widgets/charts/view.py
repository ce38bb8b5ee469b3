"""Charts in the window: static ones, with zones or a threshold, and with zoom and crosshair."""

import numpy as np
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE, Role, colour, px
from app.timers import debounced
from app.widgets.charts.chart import Chart, Span, describe_series, tick_text
from app.widgets.charts.painting import Frame, paint
from app.widgets.keys import clamp, horizontal_step, is_press
from app.widgets.text import numbers
from app.widgets.text.labels import font

REFINE_MS = 150  # after the last zoom, until the chart is drawn in full quality
MAX_DESCRIBED = 12  # lines in the accessible description
POINT = 5.0  # px, radius of the point on a threshold
HOVER_DISTANCE = 24.0  # px
MAX_CLICK_DISTANCE = 6  # px; a longer move is a drag


class ChartView(QWidget):
    """A chart that is painted once, with an overlay for the parts that move.

    Charts without `interactive` take neither the mouse nor the keyboard.
    """

    legend = True

    def __init__(self, name: str, interactive: bool = False) -> None:
        super().__init__()
        self.chart: Chart | None = None
        self.span = Span(0, 1, 0, 1)
        self._picture: QPixmap | None = None
        self._fine = True
        self.setAccessibleName(name)
        if interactive:
            self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(px(80 * SPACE), px(60 * SPACE))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(50 * SPACE), px(30 * SPACE))

    def show_chart(self, chart: Chart) -> None:
        self.chart, self.span = chart, chart.span()
        self.repaint_chart()

    def repaint_chart(self) -> None:
        """Paint the chart again, as after a change of its span."""
        self._picture = None
        self.update()

    def frame(self) -> Frame:
        assert self.chart is not None
        return Frame(QRectF(self.rect()), self.chart, font("small"), self.span, self.legend)

    def paint_overlay(self, painter: QPainter, frame: Frame) -> None:
        """Paint the moving parts over the chart."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.repaint_chart()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.repaint_chart()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.chart is None:
            return
        frame = self.frame()
        if self._picture is None:
            ratio = self.devicePixelRatioF()
            self._picture = QPixmap(round(self.width() * ratio), round(self.height() * ratio))
            self._picture.setDevicePixelRatio(ratio)
            self._picture.fill(Qt.GlobalColor.transparent)
            with QPainter(self._picture) as painter:
                paint(painter, frame, colour, font("small"), self._fine)
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawPixmap(0, 0, self._picture)
            self.paint_overlay(painter, frame)


class ZoneChart(ChartView):
    """A chart whose zones, or whose threshold, are moved by mouse and arrow keys.

    Signals:
        pressed: index of a zone.
        moved: x of the threshold.
    """

    pressed = Signal(int)
    moved = Signal(float)

    def __init__(self, name: str) -> None:
        super().__init__(name, interactive=True)
        self.current = 0
        self.marked_zone = -1  # index of the framed zone
        self.threshold: float | None = None  # None: there are zones instead
        self.point: float | None = None  # y of the point on the line of the threshold

    def show_chart(self, chart: Chart) -> None:
        super().show_chart(chart)
        self.current, self.marked_zone = 0, -1
        self._describe_zone()

    def mark(self, index: int) -> None:
        """Frame a zone; -1: none."""
        self.marked_zone = index
        self.update()

    def set_threshold(self, value: float | None, point: float | None = None) -> None:
        """Move the line to `value`, and the point on it."""
        self.threshold, self.point = value, point
        self.update()

    def _describe_zone(self) -> None:
        if self.chart is not None and self.chart.zones:
            self.setAccessibleDescription(self.chart.zones[self.current].sentence)

    def _zone_at(self, x: float) -> int:
        assert self.chart is not None
        value = self.frame().value_at(x)
        zones = enumerate(self.chart.zones)
        return next((n for n, zone in zones if zone.low <= value <= zone.high), -1)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.chart is None or event.button() != Qt.MouseButton.LeftButton:
            return
        if self.threshold is not None:
            self.moved.emit(self.frame().value_at(event.position().x()))
        elif (zone := self._zone_at(event.position().x())) >= 0:
            self.current = zone
            self._describe_zone()
            self.pressed.emit(zone)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.chart is None:
            return
        if self.threshold is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self.moved.emit(self.frame().value_at(event.position().x()))
        elif self.threshold is None and (zone := self._zone_at(event.position().x())) >= 0:
            self.setToolTip(self.chart.zones[zone].sentence)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        presses = is_press(event)
        if self.chart is None or not (step or presses):
            super().keyPressEvent(event)
        elif self.threshold is not None and step:
            low, high = self.span.left, self.span.right
            threshold = self.threshold + step * (high - low) / 100
            self.moved.emit(min(high, max(low, threshold)))
        elif self.chart.zones and step:
            self.current = clamp(self.current + step, len(self.chart.zones) - 1)
            self._describe_zone()
            self.update()
        elif self.chart.zones and presses:
            self.pressed.emit(self.current)

    def paint_overlay(self, painter: QPainter, frame: Frame) -> None:
        for index, role, shown in (
            (self.marked_zone, Role.TEXT, self.marked_zone >= 0),
            (self.current, Role.ACCENT, self.hasFocus() and bool(frame.chart.zones)),
        ):
            if shown:
                zone = frame.chart.zones[index]
                left, right = frame.x_at(zone.low), frame.x_at(zone.high)
                painter.setPen(QPen(colour(role), 2))
                painter.drawRect(QRectF(left, frame.box.top(), right - left, frame.box.height()))
        if self.threshold is not None:
            painter.setPen(QPen(colour(Role.ACCENT if self.hasFocus() else Role.TEXT), 2))
            _paint_vertical(painter, frame, frame.x_at(self.threshold))
            if self.point is not None:
                painter.setBrush(painter.pen().color())
                y = float(frame.y(np.array([self.point]))[0])
                painter.drawEllipse(QPointF(frame.x_at(self.threshold), y), POINT, POINT)


class ZoomChart(ChartView):
    """A line chart to zoom and read: dragging zooms, a double click resets, the wheel zooms at the
    mouse, arrow keys move the crosshair.

    Fifty lines of a hundred thousand points stay fluent: each is drawn from the minima and maxima
    per column of pixels, coarse while the view moves, and the crosshair moves over a picture.

    Signals:
        hovered: the key of the line nearest to the mouse, or “”, and its value there.
    """

    hovered = Signal(str, str)
    legend = False  # it is a separate widget, with values

    def __init__(self, name: str) -> None:
        super().__init__(name, interactive=True)
        self._is_zoomed = False
        self._cross: QPointF | None = None
        self._press_x: float | None = None
        self._drag_x = 0.0
        self._refine = debounced(self, REFINE_MS, self._paint_fine)

    def sizeHint(self) -> QSize:
        return QSize(px(120 * SPACE), px(70 * SPACE))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(60 * SPACE), px(40 * SPACE))

    def show_chart(self, chart: Chart) -> None:
        """Show a chart; a zoom stays while the x axis is the same."""
        same = self.chart is not None and self.chart.x.title == chart.x.title
        self._is_zoomed = same and self._is_zoomed
        self.chart = chart
        self.span = chart.span(self.span.left, self.span.right) if self._is_zoomed else chart.span()
        sentences = [
            describe_series(line.name, *_drop_repeated_x(*line.levels[-1]), chart.value_text)
            for line in chart.lines[:MAX_DESCRIBED]
        ]
        self.setAccessibleDescription(". ".join(sentences))
        self.repaint_chart()

    def zoom(self, left: float, right: float) -> None:
        if self.chart is not None and right > left:
            self.span = self.chart.span(left, right)
            self._is_zoomed = True
            self._fine = len(self.chart.lines) <= 8
            self._refine.start()
            self.repaint_chart()

    def reset(self) -> None:
        if self.chart is not None:
            self.span = self.chart.span()
            self._is_zoomed = False
            self.repaint_chart()

    def read_at(self, x: float) -> str:
        """The value of each line at or before x."""
        if self.chart is None:
            return ""
        texts = []
        for line in self.chart.lines[:MAX_DESCRIBED]:
            index = int(np.searchsorted(line.x, x, side="right")) - 1
            if index >= 0 and np.isfinite(line.y[index]):
                texts.append(f"{line.name} {self.chart.value_text(float(line.y[index]))}")
        return " · ".join(texts)

    def _paint_fine(self) -> None:
        self._fine = True
        self.repaint_chart()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._press_x = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._drag_x = event.position().x()
        self._cross = event.position()
        self._hover(event.position())
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        start, self._press_x = self._press_x, None
        if start is not None and abs(event.position().x() - start) > MAX_CLICK_DISTANCE:
            frame = self.frame()
            self.zoom(*sorted((frame.value_at(start), frame.value_at(event.position().x()))))
        self.update()

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        self.reset()

    def wheelEvent(self, event: QWheelEvent) -> None:
        delta = event.angleDelta().y()
        if self.chart is None or not delta:
            return
        x = self.frame().value_at(event.position().x())
        factor = 0.8 if delta > 0 else 1.25
        full = self.chart.span()
        left = max(full.left, x - (x - self.span.left) * factor)
        right = min(full.right, x + (self.span.right - x) * factor)
        if (left, right) == (full.left, full.right):
            self.reset()
        else:
            self.zoom(left, right)
        event.accept()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = horizontal_step(event)
        if event.key() == Qt.Key.Key_Escape and (self._cross is not None or self._is_zoomed):
            self._cross = None
            self.reset()
        elif move and self.chart is not None:
            frame = self.frame()
            before = self._cross.x() if self._cross is not None else frame.box.left()
            x = before + move * frame.box.width() / 50
            x = min(frame.box.right(), max(frame.box.left(), x))
            self._cross = QPointF(x, frame.box.center().y())
            self.hovered.emit("", self.read_at(frame.value_at(x)))
            self.update()
        else:
            super().keyPressEvent(event)

    def leaveEvent(self, event: object) -> None:
        self._cross = None
        self.hovered.emit("", "")
        self.update()

    def _hover(self, mouse: QPointF) -> None:
        if self.chart is None:
            return
        frame = self.frame()
        x = frame.value_at(mouse.x())
        nearest, distance, text = "", HOVER_DISTANCE, ""
        for line in self.chart.lines:
            index = int(np.searchsorted(line.x, x, side="right")) - 1
            if index < 0 or not np.isfinite(line.y[index]):
                continue
            offset = abs(float(frame.y(line.y[index : index + 1])[0]) - mouse.y())
            if offset < distance:
                nearest, distance = line.key or line.name, offset
                x_text = numbers.count(round(x)) if self.chart.x.integer else tick_text(x)
                text = f"{line.name}: {self.chart.value_text(float(line.y[index]))} ({x_text})"
        self.hovered.emit(nearest, text)

    def paint_overlay(self, painter: QPainter, frame: Frame) -> None:
        if self._press_x is not None:
            width = self._drag_x - self._press_x
            band = QRectF(self._press_x, frame.box.top(), width, frame.box.height())
            painter.fillRect(band, colour(Role.ACCENT, 0.15))
        if self._cross is not None and frame.box.contains(self._cross):
            painter.setPen(QPen(colour(Role.MUTED), 1, Qt.PenStyle.DashLine))
            _paint_vertical(painter, frame, self._cross.x())
        if self.hasFocus():
            painter.setPen(QPen(colour(Role.ACCENT), 1))
            painter.drawRect(frame.box)


def _drop_repeated_x(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keep only the first point at each x of a level of detail."""
    rising = np.diff(x, prepend=-np.inf) > 0
    return x[rising], y[rising]


def _paint_vertical(painter: QPainter, frame: Frame, x: float) -> None:
    painter.drawLine(QPointF(x, frame.box.top()), QPointF(x, frame.box.bottom()))
