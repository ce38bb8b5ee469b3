"""Bar below the panels that chooses a training step, on the loss curve of the run."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QSlider, QWidget

from app.notices import Notices
from app.pages.explore.over_training.series import PictureSeries
from app.pages.explore.over_training.state import Moments, OverTraining
from app.pages.explore.state import ExploreState
from app.resources import icon
from app.theme import SIDES, SPACE, Role, colour
from app.widgets import buttons, layouts
from app.widgets.dialogs import choose_folder
from app.widgets.help import HelpButton
from app.widgets.screen import set_shown
from app.widgets.text import numbers
from app.widgets.text.labels import Text, tooltip
from engine.runs.folder import checkpoint_step

HEIGHT = 15 * SPACE  # px
MARGIN = 3 * SPACE  # px at each end: half of a handle or number
TICK, HANDLE = 3, 5  # px
HIGH = 0.999  # quantile of the losses at the top, so that a spike does not flatten the curve


class TrainingBar(QWidget):
    """Visible if the model's run has snapshots; `shown` is the page with the figures."""

    def __init__(self, explore: ExploreState, notices: Notices, shown: QWidget) -> None:
        super().__init__()
        self._explore = explore
        self.state = OverTraining(explore, notices)
        self.series = PictureSeries(self.state, notices, shown)
        self.slider = MomentSlider()
        self.playing = buttons.icon_button("play", self.tr("Play"), self._on_play)
        self.said = Text("", "small", wraps=False)
        self.said.setMinimumWidth(40 * SPACE)
        self.compare_button = buttons.plain(
            self.tr("Compare &with this step"), self.state.compare, "columns-2"
        )
        self.save = buttons.plain(self.tr("Save a se&ries…"), self._on_save, "image-down")
        text = self.tr("Saves every figure that is seen, as PNG for each step, with one scale.")
        self.save.setToolTip(tooltip(text))
        buttons_row = layouts.row(
            self.compare_button, self.save, HelpButton("training-steps"), spacing=2 * SPACE
        )
        layouts.row(
            (self.playing, 0, Qt.AlignmentFlag.AlignTop),
            (self.slider, 1),
            layouts.column(self.said, buttons_row, spacing=SPACE),
            parent=self,
            spacing=2 * SPACE,
        )
        self.slider.valueChanged.connect(self._on_value)
        self.state.changed.connect(self._show)
        explore.sides_changed.connect(self._show)
        explore.model_changed.connect(self._show)
        self.series.changed.connect(self._show)
        self._show()

    def leave(self) -> None:
        """Stop playing and saving when the page is hidden."""
        self.state.pause()
        if self.series.is_running:
            self.series.cancel()

    def _show(self) -> None:
        state, moments = self.state, self.state.moments
        set_shown(self, moments is not None)
        if moments is None:
            return
        second = self._explore.second.checkpoint
        compared = moments.folders.index(second) if second in moments.folders else -1
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, len(moments.folders) - 1)
            self.slider.setValue(state.number)
        self.slider.show_moments(moments, compared)
        self.said.setText(self._text())
        self.slider.setAccessibleDescription(self._text())
        name = self.tr("Pause") if state.is_playing else self.tr("Play")
        self.playing.setIcon(icon("pause" if state.is_playing else "play", Role.MUTED, Role.ACCENT))
        self.playing.setAccessibleName(name)
        self.playing.setToolTip(tooltip(name))
        is_saving = self.series.is_running
        for control in (self.playing, self.slider, self.compare_button):
            control.setEnabled(not is_saving)
        text = self.tr("&Cancel saving") if is_saving else self.tr("Save a se&ries…")
        buttons.set_text(self.save, text)

    def _text(self) -> str:
        moments, checkpoint = self.state.moments, self._explore.first.checkpoint
        assert moments is not None and checkpoint is not None
        if self.series.is_running:
            text = self.tr("Saving pictures: step {0}")
            return text.format(numbers.count(checkpoint_step(checkpoint)))
        if not self.state.is_at_snapshot:
            return self.tr("Checkpoint of step {0}").format(
                numbers.count(checkpoint_step(checkpoint))
            )
        step = numbers.count(moments.steps[self.state.number])
        if not self.state.is_answered:  # the panels still show the previous step
            return self.tr("Step {0} · computing …").format(step)
        loss = moments.loss_at(self.state.number)
        if loss is None:
            return self.tr("Step {0}").format(step)
        return self.tr("Step {0} · loss {1}").format(step, numbers.decimal(loss, 2))

    def _on_play(self) -> None:
        if self.state.is_playing:
            self.state.pause()
        else:
            self.state.play()

    def _on_value(self, number: int) -> None:
        self.state.pause()
        self.state.go(number)

    def _on_save(self) -> None:
        """Ask for a folder with a non-modal dialog, or cancel saving."""
        if self.series.is_running:
            self.series.cancel()
            return
        self.state.pause()
        choose_folder(self.window(), self.tr("Folder for the pictures"), self.series.start)


class MomentSlider(QSlider):
    """Arrow keys, page keys, Home, End and the mouse choose a snapshot."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._moments: Moments | None = None
        self._compared = -1  # snapshot of the comparison
        self.setAccessibleName(self.tr("Training step"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)
        self.setPageStep(4)

    def show_moments(self, moments: Moments | None, compared: int) -> None:
        """Show a run's curve, with a mark at the snapshot `compared`, -1 for none."""
        if (moments, compared) != (self._moments, self._compared):
            self._moments, self._compared = moments, compared
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(60 * SPACE, HEIGHT)

    def x_of(self, moment: float) -> float:
        """x in px of a snapshot, or of a position between two."""
        return MARGIN + moment / max(1, self.maximum()) * (self.width() - 2 * MARGIN)

    # ── the mouse ────────────────────────────────────────────────────────────────────────────

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._go_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go_to(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _go_to(self, x: float) -> None:
        room = max(1, self.width() - 2 * MARGIN)
        number = min(max(round((x - MARGIN) / room * self.maximum()), 0), self.maximum())
        if number != self.value():
            self.setValue(number)
        else:  # from a checkpoint to its snapshot
            self.valueChanged.emit(number)

    # ── drawing ──────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        foot = self.height() - self.fontMetrics().height() - 1.0
        if self._moments is not None:
            self._paint_curve(painter, self._moments, QRectF(0, 4, self.width(), foot - 8))
            self._paint_steps(painter, self._moments, foot)
        if self._compared >= 0:
            self._paint_mark(
                painter, self.x_of(self._compared), foot, SIDES[1], Qt.PenStyle.DashLine
            )
        mark = Role.TEXT if self.hasFocus() else Role.ACCENT
        self._paint_mark(painter, self.x_of(self.value()), foot, mark, Qt.PenStyle.SolidLine)

    def _paint_curve(self, painter: QPainter, moments: Moments, area: QRectF) -> None:
        if not len(moments.losses):
            return
        pixels = self.x_of(1) - self.x_of(0)
        columns = np.round(MARGIN + moments.place(moments.losses[:, 0]) * pixels)
        unique, group = np.unique(columns, return_inverse=True)
        means = np.bincount(group, moments.losses[:, 1]) / np.bincount(group)
        low, high = float(means.min()), float(np.quantile(means, HIGH))
        heights = np.clip((means - low) / max(high - low, 1e-12), 0, 1)
        path = QPainterPath()
        for number, (x, up) in enumerate(zip(unique, heights, strict=True)):
            point = QPointF(float(x), area.bottom() - float(up) * area.height())
            path.lineTo(point) if number else path.moveTo(point)
        painter.setPen(QPen(colour(Role.MUTED), 1.5))
        painter.drawPath(path)

    def _paint_steps(self, painter: QPainter, moments: Moments, foot: float) -> None:
        """Paint a tick for each snapshot, and as many steps as fit."""
        painter.setPen(QPen(colour(Role.EDGE), 1))
        painter.drawLine(QPointF(self.x_of(0), foot), QPointF(self.x_of(self.maximum()), foot))
        for number in range(len(moments.steps)):
            x = self.x_of(number)
            painter.drawLine(QPointF(x, foot), QPointF(x, foot - TICK))
        painter.setPen(colour(Role.MUTED))
        metrics, free = self.fontMetrics(), -1.0
        last = len(moments.steps) - 1
        texts = [numbers.count(step) for step in moments.steps]
        end = self._box(last, metrics.horizontalAdvance(texts[last]), foot)
        for number, text in enumerate(texts):
            box = self._box(number, metrics.horizontalAdvance(text), foot)
            if number == last or (box.left() > free and box.right() + SPACE < end.left()):
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
                free = box.right() + 2 * SPACE

    def _box(self, number: int, wide: int, foot: float) -> QRectF:
        left = min(max(0.0, self.x_of(number) - wide / 2), self.width() - wide)
        return QRectF(left, foot + 1, wide, self.height() - foot - 1)

    def _paint_mark(
        self, painter: QPainter, x: float, foot: float, role: Role, style: Qt.PenStyle
    ) -> None:
        painter.setPen(QPen(colour(role), 1.5, style))
        painter.drawLine(QPointF(x, 0), QPointF(x, foot))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(role))
        painter.drawEllipse(QPointF(x, foot), HANDLE, HANDLE)
