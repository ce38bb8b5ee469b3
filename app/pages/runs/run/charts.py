"""The live curves of a run, read together, and the drawer with what changes how they are drawn."""

import pyqtgraph
from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QPen
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app import theme
from app.pages.runs.run.state import Points, RunState
from app.settings import Settings
from app.theme import SPACE, Role
from app.widgets import buttons, numbers
from app.widgets import run_texts as run_words
from app.widgets.curves import Curve
from app.widgets.page import Card
from app.widgets.switch import Switch
from app.widgets.text import Text

SMOOTHINGS = (1, 9, 49, 249)  # points
WINDOWS = (0, 200, 2000)  # steps; 0 is all
SMOOTHED = (
    "loss",
    "loss_masked_words",
    "loss_next_sentence",
    "gradient_norm",
    "tokens_per_second",
)
MOST_TOLD = 5  # steps in the sentence
MOST_MARKS = 20  # lines for values that were not finite
PLACE = "runs.charts"  # in the settings


class Charts(QWidget):
    """Loss, dev metrics, learning rate, speed and gradient over the steps."""

    def __init__(self, state: RunState, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self.loss = Curve(self.tr("Loss"))
        self.dev = Curve(self.tr("Dev metrics"))
        self.rate = Curve(self.tr("Learning rate"))
        self.speed = Curve(self.tr("Speed"), self.tr("tokens per second"), places=0)
        self.gradient = Curve(self.tr("Gradient norm"))
        self.marks: list[pyqtgraph.InfiniteLine] = []
        self._marked = list[tuple[int, str]]()
        grid = QGridLayout()
        grid.setSpacing(3 * SPACE)
        places = {
            self.loss: (0, 0, 1, 6),
            self.dev: (0, 6, 1, 6),
            self.rate: (1, 0, 1, 4),
            self.speed: (1, 4, 1, 4),
            self.gradient: (1, 8, 1, 4),
        }
        for curve, place in places.items():
            card = Card(padding=3 * SPACE)
            card.body.addWidget(curve)
            grid.addWidget(card, *place)
            curve.looked_at.connect(self._look_at)
        for column in range(12):
            grid.setColumnStretch(column, 1)
        grid.setRowStretch(0, 3)
        grid.setRowStretch(1, 2)
        self.not_finite = Text("", "bad")
        self.not_finite.hide()
        column_ = QVBoxLayout(self)
        column_.setContentsMargins(0, 3 * SPACE, 0, 0)
        column_.setSpacing(3 * SPACE)
        column_.addLayout(self._drawer_row())
        column_.addWidget(self._drawer())
        column_.addWidget(self.not_finite)
        column_.addLayout(grid, 1)
        state.curves_read.connect(self._on_read)
        state.measured.connect(self._on_measured)
        self._queue: list[tuple[str, Points]] = []
        self._is_read = False
        self._bring_back()

    def curves(self) -> tuple[Curve, ...]:
        return self.loss, self.dev, self.rate, self.speed, self.gradient

    def is_filling(self) -> bool:
        """Whether curves still wait to be drawn, or were not read yet."""
        return not self._is_read or bool(self._queue)

    def last_speed(self) -> float | None:
        """The last tokens per second; None before the first."""
        name = run_words.metric_word("tokens_per_second")
        if name not in self.speed.names() or not len(self.speed.series(name)):
            return None
        return float(self.speed.series(name).values[-1])

    # ── the drawer ───────────────────────────────────────────────────────────────────────────

    def _drawer_row(self) -> QHBoxLayout:
        self.open_drawer = buttons.quiet(self.tr("&Drawing"), icon="sliders-horizontal")
        self.open_drawer.setCheckable(True)
        self.open_drawer.toggled.connect(self._on_drawer)
        row = QHBoxLayout()
        row.addWidget(
            Text(
                self.tr("Drag to zoom in, double-click for all, ← → to read the values."), "muted"
            ),
            1,
        )
        row.addWidget(self.open_drawer)
        return row

    def _drawer(self) -> QWidget:
        self.drawer = Card(padding=3 * SPACE)
        self.smoothing = buttons.Segments(
            [self.tr("none"), self.tr("little"), self.tr("some"), self.tr("much")],
            self.tr("Smoothing"),
        )
        self.window_ = buttons.Segments(
            [
                self.tr("all"),
                self.tr("last {0}").format(numbers.count(WINDOWS[1])),
                self.tr("last {0}").format(numbers.count(WINDOWS[2])),
            ],
            self.tr("Steps"),
        )
        self.log = Switch(self.tr("Logarithmic loss"))
        self.clip = Switch(self.tr("Leave outliers outside"))
        row = QHBoxLayout()
        row.setSpacing(3 * SPACE)
        for name, control in (
            (self.tr("Smoothing"), self.smoothing),
            (self.tr("Steps"), self.window_),
            (self.tr("Logarithmic loss"), self.log),
            (self.tr("Leave outliers outside"), self.clip),
        ):
            row.addWidget(Text(name, "muted", wraps=False))
            row.addWidget(control)
        row.addStretch()
        self.drawer.body.addLayout(row)
        self.drawer.hide()
        self.smoothing.chosen.connect(self._apply)
        self.window_.chosen.connect(self._apply)
        self.log.toggled.connect(self._apply)
        self.clip.toggled.connect(self._apply)
        return self.drawer

    def _on_drawer(self, is_open: bool) -> None:
        self.drawer.setVisible(is_open)

    def _bring_back(self) -> None:
        """Draw as the user liked it the last time."""
        kept = self._settings.place(PLACE, [1, 0, False, False])
        try:
            smoothing, window, log, clip = kept
            self.smoothing.choose(min(int(smoothing), len(SMOOTHINGS) - 1))
            self.window_.choose(min(int(window), len(WINDOWS) - 1))
            self.log.setChecked(bool(log))
            self.clip.setChecked(bool(clip))
        except (TypeError, ValueError):
            self.smoothing.choose(1)
            self.window_.choose(0)
        self._apply()

    def _apply(self) -> None:
        smoothing, window = max(0, self.smoothing.choice()), max(0, self.window_.choice())
        log, clip = self.log.isChecked(), self.clip.isChecked()
        for curve in self.curves():
            curve.set_smoothing(SMOOTHINGS[smoothing])
            curve.set_window(WINDOWS[window])
            curve.set_clip(clip)
        self.loss.set_log(log)
        self._place_marks()
        self._settings.keep(PLACE, [smoothing, window, log, clip])

    # ── points ───────────────────────────────────────────────────────────────────────────────

    def _on_read(self, found: dict[str, Points]) -> None:
        """Take all curves, one in each round of the event loop, so that none holds it."""
        self._is_read = True
        self._queue = sorted(found.items(), key=lambda item: item[0] != "loss")
        QTimer.singleShot(0, self, self._take_one)

    def _take_one(self) -> None:
        if not self._queue:
            return
        name, points = self._queue.pop(0)
        place = self._place(name)
        if place is not None:
            curve, shown = place
            curve.set_series(shown, points.steps, points.values)
            self._settle(curve, shown, name)
        self._mark(name, points)
        QTimer.singleShot(0, self, self._take_one)

    def _on_measured(self, found: dict[str, Points]) -> None:
        while self._queue:  # what was read comes first
            self._take_one()
        for name, points in found.items():
            place = self._place(name)
            if place is not None:
                curve, shown = place
                curve.append(shown, points.steps, points.values)
                self._settle(curve, shown, name)
            self._mark(name, points)

    def _settle(self, curve: Curve, shown: str, name: str) -> None:
        """Only what is measured at each step and jumps is smoothed."""
        if name not in SMOOTHED:
            curve.keep_sharp(shown)

    def _place(self, name: str) -> tuple[Curve, str] | None:
        """On which curve a metric is drawn, and under which name."""
        match name:
            case "loss":
                return self.loss, self.tr("training")
            case "validation_loss":
                return self.loss, self.tr("validation")
            case _ if name.startswith(("loss_", "validation_loss_")):
                return self.loss, run_words.metric_word(name)
            case "learning_rate":
                return self.rate, run_words.metric_word(name)
            case "tokens_per_second":
                return self.speed, run_words.metric_word(name)
            case "gradient_norm":
                return self.gradient, run_words.metric_word(name)
            case _ if name.startswith("dev_"):
                return self.dev, run_words.metric_word(name)
        return None

    def _look_at(self, step: float) -> None:
        """One crosshair for all."""
        for curve in self.curves():
            if curve is not self.sender():
                curve.look_at(step)

    # ── what was not finite ──────────────────────────────────────────────────────────────────

    def _mark(self, name: str, points: Points) -> None:
        if name in ("loss", "validation_loss") and points.not_finite:
            self._marked += points.not_finite
            self._place_marks()

    def _place_marks(self) -> None:
        """A line at every step whose loss was no number, and a sentence."""
        for line in self.marks:
            self.loss.plot.removeItem(line)
        pen = QPen(theme.colour(Role.BAD), 1.5, Qt.PenStyle.DotLine)
        pen.setCosmetic(True)
        self.marks = [
            pyqtgraph.InfiniteLine(pos=step, angle=90, pen=pen, movable=False)
            for step, _ in self._marked[:MOST_MARKS]
        ]
        for line in self.marks:
            self.loss.plot.addItem(line, ignoreBounds=True)
        self.not_finite.setVisible(bool(self._marked))
        self.not_finite.setText(self._told())

    def _told(self) -> str:
        """Where the loss was no number, in a sentence."""
        steps = ", ".join(numbers.count(step) for step, _ in self._marked[:MOST_TOLD])
        if len(self._marked) > MOST_TOLD:
            steps += ", …"
        if any(status != "nan" for _, status in self._marked):
            return self.tr("The loss was infinite or not a number at step {0}.").format(steps)
        return self.tr("The loss was not a number at step {0}.").format(steps)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if theme.repaints(event):
            self._place_marks()
