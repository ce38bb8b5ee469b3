"""Bar below the panels that chooses a training step, on the loss curve of the run."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSignalBlocker, QSize, Qt
from PySide6.QtGui import QMouseEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QSlider, QWidget

from app.notices import Notices
from app.pages.explore.over_training.series import PictureSeries
from app.pages.explore.over_training.state import SnapshotBrowser, Snapshots
from app.pages.explore.state import ExploreState
from app.resources import icon
from app.theme import SIDES, SPACE, Role, colour, px
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
TOP_QUANTILE = 0.999  # the loss at the top of the curve, so that spikes do not flatten it


class TrainingBar(QWidget):
    """A bar that is visible if the model's run has snapshots; `page` contains the figures."""

    def __init__(self, explore: ExploreState, notices: Notices, page: QWidget) -> None:
        super().__init__()
        self._explore = explore
        self.state = SnapshotBrowser(explore, notices)
        self.series = PictureSeries(self.state, notices, page)
        self.slider = SnapshotSlider()
        self.play = buttons.icon_button("play", self.tr("Play"), self._on_play)
        self.status = Text("", "small", wraps=False)
        self.status.setMinimumWidth(px(40 * SPACE))
        self.compare_button = buttons.plain(
            self.tr("Compare &with this step"), self.state.compare, "columns-2"
        )
        self.save = buttons.plain(self.tr("Save a se&ries…"), self._on_save, "image-down")
        text = self.tr("Saves every visible figure as a PNG for each step, with the same scales.")
        self.save.setToolTip(tooltip(text))
        buttons_row = layouts.row(
            self.compare_button, self.save, HelpButton("training-steps"), spacing=2 * SPACE
        )
        layouts.row(
            (self.play, 0, Qt.AlignmentFlag.AlignTop),
            (self.slider, 1),
            layouts.column(self.status, buttons_row, spacing=SPACE),
            parent=self,
            spacing=2 * SPACE,
        )
        self.slider.valueChanged.connect(self._on_value)
        self.state.changed.connect(self._show)
        explore.sides_changed.connect(self._show)
        explore.model_changed.connect(self._show)
        self.series.changed.connect(self._show)
        self._show()

    def stop(self) -> None:
        """Stop playing and saving when the page is hidden."""
        self.state.pause()
        if self.series.is_running:
            self.series.cancel()

    def _show(self) -> None:
        state, snapshots = self.state, self.state.snapshots
        set_shown(self, snapshots is not None)
        if snapshots is None:
            return
        second = self._explore.second.checkpoint
        compared = snapshots.folders.index(second) if second in snapshots.folders else -1
        with QSignalBlocker(self.slider):
            self.slider.setRange(0, len(snapshots.folders) - 1)
            self.slider.setValue(state.index)
        self.slider.show_snapshots(snapshots, compared)
        self.status.setText(self._text())
        self.slider.setAccessibleDescription(self._text())
        name = self.tr("Pause") if state.is_playing else self.tr("Play")
        self.play.setIcon(icon("pause" if state.is_playing else "play", Role.MUTED, Role.ACCENT))
        self.play.setAccessibleName(name)
        self.play.setToolTip(tooltip(name))
        is_saving = self.series.is_running
        for control in (self.play, self.slider, self.compare_button):
            control.setEnabled(not is_saving)
        text = self.tr("&Cancel saving") if is_saving else self.tr("Save a se&ries…")
        buttons.set_text(self.save, text)

    def _text(self) -> str:
        snapshots, checkpoint = self.state.snapshots, self._explore.first.checkpoint
        assert snapshots is not None and checkpoint is not None
        if self.series.is_running:
            text = self.tr("Saving pictures: step {0}")
            return text.format(numbers.count(checkpoint_step(checkpoint)))
        if not self.state.is_at_snapshot:
            return self.tr("Checkpoint of step {0}").format(
                numbers.count(checkpoint_step(checkpoint))
            )
        step = numbers.count(snapshots.steps[self.state.index])
        if not self.state.is_answered:  # the panels still show the previous step
            return self.tr("Step {0} · computing …").format(step)
        loss = snapshots.loss_at(self.state.index)
        if loss is None:
            return self.tr("Step {0}").format(step)
        return self.tr("Step {0} · loss {1}").format(step, numbers.decimal(loss, 2))

    def _on_play(self) -> None:
        if self.state.is_playing:
            self.state.pause()
        else:
            self.state.play()

    def _on_value(self, index: int) -> None:
        self.state.pause()
        self.state.show(index)

    def _on_save(self) -> None:
        """Ask for a folder with a non-modal dialog, or cancel saving."""
        if self.series.is_running:
            self.series.cancel()
            return
        self.state.pause()
        choose_folder(self.window(), self.tr("Folder for the pictures"), self.series.start)


class SnapshotSlider(QSlider):
    """Arrow keys, page keys, Home, End and the mouse choose a snapshot."""

    def __init__(self) -> None:
        super().__init__(Qt.Orientation.Horizontal)
        self._snapshots: Snapshots | None = None
        self._compared_index = -1  # of the compared snapshot
        self.setAccessibleName(self.tr("Training step"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(px(HEIGHT))
        self.setPageStep(4)

    def show_snapshots(self, snapshots: Snapshots | None, compared: int) -> None:
        """Show a run's curve, with a mark at the snapshot `compared`, -1 for none."""
        if (snapshots, compared) != (self._snapshots, self._compared_index):
            self._snapshots, self._compared_index = snapshots, compared
            self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(60 * SPACE), px(HEIGHT))

    def to_x(self, position: float) -> float:
        """x in px of a snapshot index, which may be fractional."""
        return MARGIN + position / max(1, self.maximum()) * (self.width() - 2 * MARGIN)

    # ── mouse ────────────────────────────────────────────────────────────────────────────────

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self._go_to(event.position().x())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            self._go_to(event.position().x())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        event.accept()

    def _go_to(self, x: float) -> None:
        width = max(1, self.width() - 2 * MARGIN)
        index = min(max(round((x - MARGIN) / width * self.maximum()), 0), self.maximum())
        if index != self.value():
            self.setValue(index)
        else:  # from a checkpoint to its snapshot
            self.valueChanged.emit(index)

    # ── drawing ──────────────────────────────────────────────────────────────────────────────

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        bottom = self.height() - self.fontMetrics().height() - 1.0
        if self._snapshots is not None:
            self._paint_curve(painter, self._snapshots, QRectF(0, 4, self.width(), bottom - 8))
            self._paint_steps(painter, self._snapshots, bottom)
        if self._compared_index >= 0:
            self._paint_mark(
                painter, self.to_x(self._compared_index), bottom, SIDES[1], Qt.PenStyle.DashLine
            )
        mark = Role.TEXT if self.hasFocus() else Role.ACCENT
        self._paint_mark(painter, self.to_x(self.value()), bottom, mark, Qt.PenStyle.SolidLine)

    def _paint_curve(self, painter: QPainter, snapshots: Snapshots, area: QRectF) -> None:
        if not len(snapshots.losses):
            return
        pixels = self.to_x(1) - self.to_x(0)
        columns = np.round(MARGIN + snapshots.positions(snapshots.losses[:, 0]) * pixels)
        unique, group = np.unique(columns, return_inverse=True)
        means = np.bincount(group, snapshots.losses[:, 1]) / np.bincount(group)
        low, high = float(means.min()), float(np.quantile(means, TOP_QUANTILE))
        heights = np.clip((means - low) / max(high - low, 1e-12), 0, 1)
        path = QPainterPath()
        for index, (x, fraction) in enumerate(zip(unique, heights, strict=True)):
            point = QPointF(float(x), area.bottom() - float(fraction) * area.height())
            path.lineTo(point) if index else path.moveTo(point)
        painter.setPen(QPen(colour(Role.MUTED), 1.5))
        painter.drawPath(path)

    def _paint_steps(self, painter: QPainter, snapshots: Snapshots, bottom: float) -> None:
        """Paint a tick for each snapshot, and as many step numbers as fit."""
        painter.setPen(QPen(colour(Role.EDGE), 1))
        painter.drawLine(QPointF(self.to_x(0), bottom), QPointF(self.to_x(self.maximum()), bottom))
        for index in range(len(snapshots.steps)):
            x = self.to_x(index)
            painter.drawLine(QPointF(x, bottom), QPointF(x, bottom - TICK))
        painter.setPen(colour(Role.MUTED))
        metrics, next_left = self.fontMetrics(), -1.0
        last = len(snapshots.steps) - 1
        texts = [numbers.count(step) for step in snapshots.steps]
        end = self._box(last, metrics.horizontalAdvance(texts[last]), bottom)
        for index, text in enumerate(texts):
            box = self._box(index, metrics.horizontalAdvance(text), bottom)
            if index == last or (box.left() > next_left and box.right() + SPACE < end.left()):
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)
                next_left = box.right() + 2 * SPACE

    def _box(self, index: int, width: int, bottom: float) -> QRectF:
        left = min(max(0.0, self.to_x(index) - width / 2), self.width() - width)
        return QRectF(left, bottom + 1, width, self.height() - bottom - 1)

    def _paint_mark(
        self, painter: QPainter, x: float, bottom: float, role: Role, style: Qt.PenStyle
    ) -> None:
        painter.setPen(QPen(colour(role), 1.5, style))
        painter.drawLine(QPointF(x, 0), QPointF(x, bottom))
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(role))
        painter.drawEllipse(QPointF(x, bottom), HANDLE, HANDLE)
