"""Saves another threshold or temperature with a model, with Undo."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.notices import Notices
from app.widgets.text import numbers
from engine.checkpoints.prediction_settings import prediction_settings, save_settings
from engine.config.prediction import PredictionSettings

SettingsChange = Callable[[PredictionSettings], PredictionSettings]
MAX_NAMED = 3  # thresholds named in the notice


class ModelSettings(QObject):
    """Reads and writes the files in the background.

    Signals:
        changed: the prediction settings of the model have changed.
    """

    changed = Signal()

    def __init__(self, notices: Notices, parent: QObject) -> None:
        super().__init__(parent)
        self._notices = notices

    def change(self, checkpoint: Path, change: SettingsChange) -> None:
        """Save the changed settings of a checkpoint."""
        self._run(checkpoint, change, can_undo=True)

    def _run(self, checkpoint: Path, change: SettingsChange, can_undo: bool) -> None:
        def work() -> tuple[PredictionSettings, PredictionSettings]:
            before = prediction_settings(checkpoint)
            after = change(before)
            save_settings(checkpoint, after)
            return before, after

        def done(found: tuple[PredictionSettings, PredictionSettings]) -> None:
            before, after = found
            undo = self.tr("Undo") if can_undo else ""
            self._notices.say(
                self._told(after), undo, lambda: self._run(checkpoint, lambda _: before, False)
            )
            self.changed.emit()

        background.run(self, work, done, self._notices.show)

    def _told(self, settings: PredictionSettings) -> str:
        if settings.is_usual:
            return self.tr("The model predicts as it was trained again.")
        parts = []
        if settings.temperature != 1:
            parts.append(
                self.tr("a temperature of {0}").format(numbers.decimal(settings.temperature, 2))
            )
        if settings.threshold != 0.5:
            parts.append(self.tr("a threshold of {0}").format(numbers.percent(settings.threshold)))
        named = list(settings.thresholds.items())
        parts += [
            self.tr("a threshold of {0} for “{1}”").format(numbers.percent(one), label)
            for label, one in named[:MAX_NAMED]
        ]
        if len(named) > MAX_NAMED:
            parts.append(self.tr("%n more threshold(s)", "", len(named) - MAX_NAMED))
        if settings.no_answer_threshold is not None:
            parts.append(
                self.tr("a no-answer threshold of {0}").format(
                    numbers.decimal(settings.no_answer_threshold, 2)
                )
            )
        return self.tr("The model now predicts with {0}.").format(", ".join(parts))
