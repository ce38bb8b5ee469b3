"""The data sets and the models that the wizard offers. No widgets."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import DataEntry, ModelEntry
from app.studio import Studio


class Lists(QObject):
    """Signals:
    changed: `datasets` and `models` are others now.
    """

    changed = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.datasets: list[DataEntry] | None = None  # None: not read yet
        self.models: list[ModelEntry] | None = None
        self._reading: background.Job | None = None
        self._waiting: list[Callable[[], None]] = []
        studio.datasets_changed.connect(self.read)
        studio.models_changed.connect(self.read)

    def read(self) -> None:
        """Read the data sets and the models of the home, off the window's thread."""
        if self._reading is not None:
            self._reading.cancel()
        studio = self._studio
        self._reading = background.run(
            self, lambda: (studio.datasets(), studio.models()), self._on_read
        )

    def when_read(self, act: Callable[[], None]) -> None:
        """Read the lists, and then do this."""
        self._waiting.append(act)
        self.read()

    def _on_read(self, lists: tuple[list[DataEntry], list[ModelEntry]]) -> None:
        self._reading = None
        self.datasets, self.models = lists
        self.changed.emit()
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()
