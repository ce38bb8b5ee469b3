"""Start of runs, and actions when one ends."""

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLineEdit, QWidget

from app.studio import Studio
from app.widgets.forms.controls import ComboBox, SpinBox, Switch, pad
from engine.desktop.on_end import split_command
from engine.errors import StudioError

COMMAND_WIDTH = 280  # px


class RunSettings(QObject):
    """Controls; `rows` gives each with title and explanation."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        self._studio = studio
        settings, preferences = studio.settings, studio.settings.preferences
        self.per_device = SpinBox(self.tr("Runs at the same time"))
        self.per_device.setRange(1, 64)
        self.per_device.setValue(preferences.runs_per_device)
        self.per_device.setMinimumWidth(160)
        pad(self.per_device)
        self.per_device.valueChanged.connect(partial(settings.set, "runs_per_device"))
        self.notify = Switch(self.tr("Desktop notifications"), preferences.notify)
        self.notify.toggled.connect(partial(settings.set, "notify"))
        self.notify.toggled.connect(lambda _: self._enable())
        self.sound = Switch(self.tr("With a sound"), preferences.sound)
        self.sound.toggled.connect(partial(settings.set, "sound"))
        self.keep_awake = Switch(self.tr("Keep the system awake"), preferences.keep_awake)
        self.keep_awake.toggled.connect(partial(settings.set, "keep_awake"))
        self.live = ComboBox()
        for title, key in (
            (self.tr("Off"), "off"),
            (self.tr("TensorBoard files"), "tensorboard"),
            (self.tr("MLflow runs"), "mlflow"),
            (self.tr("Both"), "both"),
        ):
            self.live.addItem(title, key)
        self.live.setCurrentIndex(self.live.findData(preferences.live_curves))
        self.live.setAccessibleName(self.tr("Live curves"))
        self.live.activated.connect(lambda _: settings.set("live_curves", self.live.currentData()))
        self.on_end = QLineEdit(preferences.on_end)
        self.on_end.setMaxLength(4_000)
        self.on_end.setMinimumWidth(COMMAND_WIDTH)
        self.on_end.setPlaceholderText(self.tr("None"))
        self.on_end.setAccessibleName(self.tr("Command when a run ends"))
        self.on_end.editingFinished.connect(self._on_command)
        self._enable()

    def rows(self) -> list[tuple[str, QWidget, str]]:
        """Title, control and explanation of each setting, in order."""
        return [
            (
                self.tr("Runs at the same time"),
                self.per_device,
                self.tr("At most this many on each device; others stay in the queue."),
            ),
            (
                self.tr("Keep the system awake"),
                self.keep_awake,
                self.tr("While a run trains, where the system allows it."),
            ),
            (
                self.tr("Desktop notifications"),
                self.notify,
                self.tr("When a run finishes, fails or stops, also without the window."),
            ),
            (
                self.tr("With a sound"),
                self.sound,
                self.tr("If your desktop plays sounds with notifications."),
            ),
            (
                self.tr("Live curves"),
                self.live,
                self.tr("Written for other programs while a run trains, in {0}.").format(
                    self._studio.home.curves
                ),
            ),
            (
                self.tr("Command when a run ends"),
                self.on_end,
                self.tr(
                    "Started without a shell. Its environment says which run:"
                    " BERT_STUDIO_RUN_NAME, _STATE, _FOLDER, _SCORE and more."
                ),
            ),
        ]

    def _enable(self) -> None:
        self.sound.setEnabled(self.notify.isChecked())

    def _on_command(self) -> None:
        command = self.on_end.text().strip()
        try:
            split_command(command)
        except StudioError as error:
            self._studio.notices.show(error)
            return
        self._studio.settings.set("on_end", command)
