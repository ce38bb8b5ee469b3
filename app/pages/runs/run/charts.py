"""Live curves of a run."""

import numpy as np
from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app import background
from app.notices import Notices
from app.pages.runs.run.machine_tab import MachineLine
from app.pages.runs.run.state import RunState
from app.settings import Settings
from app.theme import SPACE, Role
from app.timers import debounced
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.charts.chart import Marker
from app.widgets.charts.live import LiveChart, link_crosshairs
from app.widgets.charts.series import Floats
from app.widgets.forms.controls import Switch
from app.widgets.help import set_help
from app.widgets.page import Card, LazyArea
from app.widgets.text import numbers, run_texts
from app.widgets.text.labels import Text
from engine.record.metrics import Points
from engine.runs.alerts import Alert, explosions, no_improvement, spikes

SMOOTHED = ("loss", "loss_mlm", "loss_nsp", "gradient_norm", "tokens_per_second")
MAX_NAMED_STEPS = 5  # in the sentence about a loss that is not finite
MAX_NAMED_ALERTS = 3
ALERT_DELAY_MS = 1_000  # between searches for alerts while a run trains
FILES = ("loss", "validation", "learning-rate", "speed", "gradient-norm")  # file names of figures
MAX_MARKERS = 20  # lines for values that were not finite
SMOOTHINGS = (1, 9, 49, 249)  # steps; 1 is off
WINDOWS = (0, 200, 2000)  # steps; 0 is all
SETTING = "runs.charts"


class Charts(QWidget):
    """Loss, validation metrics, learning rate, speed and gradient norm over the steps."""

    def __init__(self, state: RunState, settings: Settings, notices: Notices) -> None:
        super().__init__()
        set_help(self, "charts")
        self.loss = LiveChart(self.tr("Loss"))
        self.validation = LiveChart(self.tr("Validation metrics"), self.tr("Score"))
        self.rate = LiveChart(self.tr("Learning rate"), self.tr("Rate"))
        self.speed = LiveChart(self.tr("Speed"), self.tr("Tokens/s"), decimals=0)
        self.gradient = LiveChart(self.tr("Gradient norm"), self.tr("Norm"))
        for name, curve in zip(FILES, self.curves(), strict=True):
            curve.offer_figure(name, notices)
        link_crosshairs(self.curves())
        self._alerts: list[Alert] = []
        self._searching: background.Job | None = None
        self._alert_pause = debounced(self, ALERT_DELAY_MS, self._find_alerts)
        self._not_finite = list[tuple[int, str]]()
        self._has_numbers = False  # among the validation metrics, which are no proportions
        self._queue: list[tuple[str, Points]] = []
        self._is_read = False
        self.options = ChartOptions(settings)
        self.options.hide()
        self.options.changed.connect(self._apply)
        self.not_finite = Text("", "bad")
        self.not_finite.hide()
        self.alerts = Text("", "muted")
        self.alerts.hide()
        self.machine = MachineLine(state, notices)
        layouts.tab(
            self,
            self._options_row(),
            self.options,
            self.not_finite,
            self.alerts,
            self.machine,
            (self._grid(), 1),
        )
        state.curves_read.connect(self._on_read)
        state.measured.connect(self._on_measured)
        state.changed.connect(self._set_empty_texts)
        self._state = state
        self._apply()

    def _options_row(self) -> QHBoxLayout:
        self.open_options = buttons.quiet(self.tr("Chart &options"), icon="sliders-horizontal")
        self.open_options.setCheckable(True)
        self.open_options.toggled.connect(self.options.setVisible)
        hint = self.tr("Drag to zoom, double-click to reset, ← → to read the values.")
        return layouts.row((Text(hint, "muted"), 1), self.open_options)

    def _grid(self) -> QWidget:
        """A grid of curves that fills the window, or scrolls if the window is too small."""
        inner, area = QWidget(), LazyArea()
        grid = layouts.grid(parent=inner, h_spacing=3 * SPACE, v_spacing=3 * SPACE)
        cells = {
            self.loss: (0, 0, 1, 6),
            self.validation: (0, 6, 1, 6),
            self.rate: (1, 0, 1, 4),
            self.speed: (1, 4, 1, 4),
            self.gradient: (1, 8, 1, 4),
        }
        for curve, cell in cells.items():
            card = Card(padding=3 * SPACE)
            card.body.addWidget(curve)
            grid.addWidget(card, *cell)
        for column in range(12):
            grid.setColumnStretch(column, 1)
        grid.setRowStretch(0, 3)
        grid.setRowStretch(1, 2)
        area.set_content(inner)
        return area

    def _set_empty_texts(self) -> None:
        row = self._state.row
        if row is None:
            return
        if row.is_active:
            training = self.tr("Waiting for the first step…")
            evaluation = self.tr("Waiting for the first evaluation…")
        elif row.step:
            training = self.tr("This run did not record these values.")
            evaluation = self.tr(
                "The run was not evaluated: it has no validation set, or it ended before the"
                " first evaluation."
            )
        else:
            training = self.tr("The run ended before its first step.")
            evaluation = training
        for curve in self.curves():
            curve.set_empty_text(evaluation if curve is self.validation else training)

    def curves(self) -> tuple[LiveChart, ...]:
        return self.loss, self.validation, self.rate, self.speed, self.gradient

    def is_filling(self) -> bool:
        """True while curves are not read or drawn yet."""
        return not self._is_read or bool(self._queue)

    def last_speed(self) -> float | None:
        """Latest tokens per second; None before the first measurement."""
        name = run_texts.metric_title("tokens_per_second")
        if name not in self.speed.names() or not len(self.speed.series(name)):
            return None
        return float(self.speed.series(name).values[-1])

    def _apply(self) -> None:
        for curve in self.curves():
            curve.set_smoothing(self.options.smoothed_steps())
            curve.set_window(self.options.window_steps())
            curve.set_clip(self.options.clip.isChecked())
        self.loss.set_log(self.options.log.isChecked())
        self._place_markers()

    # ── points ───────────────────────────────────────────────────────────────────────────────

    def _on_read(self, curves: dict[str, Points]) -> None:
        """Show all curves, one per turn of the event loop."""
        self._is_read = True
        self._queue = sorted(curves.items(), key=lambda item: item[0] != "loss")
        QTimer.singleShot(0, self, self._show_next)

    def _show_next(self) -> None:
        if not self._queue:
            return
        name, points = self._queue.pop(0)
        target = self._find_curve(name)
        if target is not None:
            curve, title = target
            curve.set_series(title, points.steps, points.values)
            _restrict_smoothing(curve, title, name)
        self._mark(name, points)
        self._alert_pause.start()
        QTimer.singleShot(0, self, self._show_next)

    def _on_measured(self, curves: dict[str, Points]) -> None:
        while self._queue:  # stored points come first
            self._show_next()
        for name, points in curves.items():
            target = self._find_curve(name)
            if target is not None:
                curve, title = target
                curve.append(title, points.steps, points.values)
                _restrict_smoothing(curve, title, name)
            self._mark(name, points)
        if not self._alert_pause.isActive():
            self._alert_pause.start()

    def _find_curve(self, name: str) -> tuple[LiveChart, str] | None:
        title = run_texts.metric_title(name)
        match name:
            case "loss":
                return self.loss, self.tr("training")
            case "validation_loss":
                return self.loss, self.tr("validation")
            case _ if name.startswith(("loss_", "validation_loss_")):
                return self.loss, title
            case "learning_rate":
                return self.rate, title
            case "tokens_per_second":
                return self.speed, title
            case "gradient_norm":
                return self.gradient, title
            case _ if name.startswith(run_texts.VALIDATION):
                self._has_numbers |= not run_texts.is_share(name)
                self.validation.set_percent(not self._has_numbers)
                return self.validation, run_texts.evaluation_title(name)
        return None

    # ── alerts ───────────────────────────────────────────────────────────────────────────────

    def _find_alerts(self) -> None:
        if self._searching is not None and not self._searching.is_finished():
            self._alert_pause.start()
            return
        row = self._state.row
        loss = self._get_values(self.loss, self.tr("training"))
        norms = self._get_values(self.gradient, run_texts.metric_title("gradient_norm"))
        best = row.best_metric if row is not None else ""
        curve = self.loss if best == "validation_loss" else self.validation
        name = run_texts.evaluation_title(best)
        scores = self._get_values(curve, self.tr("validation") if curve is self.loss else name)
        best_step = row.best_step if row is not None else 0

        def work() -> list[Alert]:
            alerts = [*spikes(*loss), *explosions(*norms)]
            return [*alerts, *no_improvement(*scores, best_step)]

        self._searching = background.run(self, work, self._on_alerts)

    def _get_values(self, curve: LiveChart, name: str) -> tuple[Floats, Floats]:
        if name not in curve.names():
            return np.empty(0), np.empty(0)
        series = curve.series(name)
        return series.steps.copy(), series.values.copy()

    def _on_alerts(self, alerts: list[Alert]) -> None:
        if alerts == self._alerts:
            return
        self._alerts = alerts
        sentences = [translated(alert.text) for alert in alerts[:MAX_NAMED_ALERTS]]
        text, rest = ". ".join(sentences), len(alerts) - len(sentences)
        if rest:
            text = self.tr("{0}, and %Ln more", "", rest).format(text)
        self.alerts.setText(f"{text}.")
        self.alerts.setVisible(bool(alerts))
        self._place_markers()

    # ── markers ──────────────────────────────────────────────────────────────────────────────

    def _mark(self, name: str, points: Points) -> None:
        if name in ("loss", "validation_loss") and points.not_finite:
            self._not_finite += points.not_finite
            self._place_markers()

    def _place_markers(self) -> None:
        """Mark alerts and steps with a non-finite loss, and show a sentence about them."""
        markers: dict[LiveChart, list[Marker]] = {curve: [] for curve in self.curves()}
        markers[self.loss] = [Marker(step) for step, _ in self._not_finite[:MAX_MARKERS]]
        curves = {"spike": self.loss, "explosion": self.gradient, "no improvement": self.validation}
        for alert in self._alerts:
            marker = Marker(alert.step, Role.WARN, tooltip=translated(alert.text))
            markers[curves[alert.kind]].append(marker)
        for curve, curve_markers in markers.items():
            curve.set_markers(curve_markers)
        self.not_finite.setVisible(bool(self._not_finite))
        self.not_finite.setText(self._not_finite_text())

    def _not_finite_text(self) -> str:
        steps = ", ".join(numbers.count(step) for step, _ in self._not_finite[:MAX_NAMED_STEPS])
        if len(self._not_finite) > MAX_NAMED_STEPS:
            steps += ", …"
        if any(status != "nan" for _, status in self._not_finite):
            return self.tr("The loss was infinite or not a number at step {0}.").format(steps)
        return self.tr("The loss was not a number (NaN) at step {0}.").format(steps)


def _restrict_smoothing(curve: LiveChart, title: str, name: str) -> None:
    """Allow smoothing only for noisy values that are measured at every step."""
    if name not in SMOOTHED:
        curve.never_smooth(title)


class ChartOptions(Card):
    """Options, saved in the settings.

    Signals:
        changed: an option changed.
    """

    changed = Signal()

    def __init__(self, settings: Settings) -> None:
        super().__init__(padding=3 * SPACE)
        self._settings = settings
        self.smoothing = buttons.Segments(
            [self.tr("off"), *map(numbers.count, SMOOTHINGS[1:])], self.tr("Smoothing (steps)")
        )
        self.window_ = buttons.Segments(
            [self.tr("all"), *map(numbers.count, WINDOWS[1:])], self.tr("Last steps")
        )
        self.log = Switch(self.tr("Log scale"))
        self.clip = Switch(self.tr("Ignore outliers"))
        row = layouts.wrap(spacing=3 * SPACE)
        for name, control in (
            (self.tr("Smoothing (steps)"), self.smoothing),
            (self.tr("Last steps"), self.window_),
            (self.tr("Log scale"), self.log),
            (self.tr("Ignore outliers"), self.clip),
        ):
            row.addLayout(layouts.row(Text(name, "muted", wraps=False), control, spacing=3 * SPACE))
        self.body.addLayout(row)
        self._restore()
        self.smoothing.chosen.connect(self._on_changed)
        self.window_.chosen.connect(self._on_changed)
        self.log.toggled.connect(self._on_changed)
        self.clip.toggled.connect(self._on_changed)

    def smoothed_steps(self) -> int:
        """Steps averaged for smoothing; 1 is off."""
        return SMOOTHINGS[max(0, self.smoothing.choice())]

    def window_steps(self) -> int:
        """Number of last steps shown; 0 is all."""
        return WINDOWS[max(0, self.window_.choice())]

    def _restore(self) -> None:
        stored = self._settings.get_state(SETTING, [1, 0, False, False])
        try:
            smoothing, window, log, clip = stored
            self.smoothing.choose(min(int(smoothing), len(SMOOTHINGS) - 1))
            self.window_.choose(min(int(window), len(WINDOWS) - 1))
            self.log.setChecked(bool(log))
            self.clip.setChecked(bool(clip))
        except (TypeError, ValueError):
            self.smoothing.choose(1)
            self.window_.choose(0)

    def _on_changed(self) -> None:
        smoothing, window = max(0, self.smoothing.choice()), max(0, self.window_.choice())
        self._settings.set_state(
            SETTING, [smoothing, window, self.log.isChecked(), self.clip.isChecked()]
        )
        self.changed.emit()
