"""Display options of curves: smoothing, number of steps, scale and outliers."""

from PySide6.QtCore import Signal

from app.settings import Settings
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.forms.controls import Switch
from app.widgets.page import Card
from app.widgets.text import numbers
from app.widgets.text.labels import Text

SMOOTHINGS = (1, 9, 49, 249)  # steps; 1 is off
WINDOWS = (0, 200, 2000)  # steps; 0 is all
SETTING = "runs.charts"


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
        row = layouts.row(spacing=3 * SPACE)
        for name, control in (
            (self.tr("Smoothing (steps)"), self.smoothing),
            (self.tr("Last steps"), self.window_),
            (self.tr("Log scale"), self.log),
            (self.tr("Ignore outliers"), self.clip),
        ):
            layouts.extend(row, Text(name, "muted", wraps=False), control)
        row.addStretch()
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
        """Restore the options of the last session."""
        kept = self._settings.place(SETTING, [1, 0, False, False])
        try:
            smoothing, window, log, clip = kept
            self.smoothing.choose(min(int(smoothing), len(SMOOTHINGS) - 1))
            self.window_.choose(min(int(window), len(WINDOWS) - 1))
            self.log.setChecked(bool(log))
            self.clip.setChecked(bool(clip))
        except (TypeError, ValueError):
            self.smoothing.choose(1)
            self.window_.choose(0)

    def _on_changed(self) -> None:
        smoothing, window = max(0, self.smoothing.choice()), max(0, self.window_.choice())
        self._settings.keep(
            SETTING, [smoothing, window, self.log.isChecked(), self.clip.isChecked()]
        )
        self.changed.emit()
