"""Start of runs, and actions when one ends."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QLineEdit, QWidget

from app.pages.settings.controls import combo_box, spin_box, switch
from app.studio import Studio
from engine.desktop.on_end import split_command
from engine.errors import StudioError

COMMAND_WIDTH = 280  # px


class RunSettings(QObject):
    """Controls; `rows` gives each with title and explanation."""

    def __init__(self, studio: Studio) -> None:
        super().__init__(studio)
        self._studio = studio
        settings = studio.settings
        self.per_device = spin_box(settings, "runs_per_device", 1, 64)
        self.keep_awake = switch(settings, "keep_awake")
        self.notify = switch(settings, "notify")
        self.sound = switch(settings, "sound")
        self.sound.setEnabled(self.notify.isChecked())
        self.notify.toggled.connect(self.sound.setEnabled)
        titles = {
            "off": self.tr("Off"),
            "tensorboard": self.tr("TensorBoard files"),
            "mlflow": self.tr("MLflow runs"),
            "both": self.tr("Both"),
        }
        self.live = combo_box(settings, "live_curves", titles)
        self.on_end = QLineEdit(settings.preferences.on_end)
        self.on_end.setMaxLength(4_000)
        self.on_end.setMinimumWidth(COMMAND_WIDTH)
        self.on_end.setPlaceholderText(self.tr("None"))
        self.on_end.editingFinished.connect(self._on_command)

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

    def _on_command(self) -> None:
        command = self.on_end.text().strip()
        try:
            split_command(command)
        except StudioError as error:
            self._studio.notices.show(error)
            return
        self._studio.settings.set("on_end", command)
