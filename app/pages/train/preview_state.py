"""The first rows of the chosen data as the chosen network will read them. No widgets."""

from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.notices import Notices
from app.pages.train.preview import Preview, preview
from app.timers import debounced
from engine.config.task import TaskSpec
from engine.errors import StudioError

CHOICE_PAUSE_MS = 250  # after the last choice, before files are read for it


@dataclass(frozen=True)
class Previewed:
    """What a preview depends on."""

    folder: Path
    vocabulary: Path | None
    task: TaskSpec


class PreviewState(QObject):
    """Signals:
    changed: `found`, `problem` or `is_reading` is another now.
    """

    changed = Signal()

    def __init__(self, notices: Notices, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._notices = notices
        self._wanted: Previewed | None = None
        self.found: Preview | None = None
        self.problem: StudioError | None = None
        self._reading: background.Job | None = None
        self._pause = debounced(self, CHOICE_PAUSE_MS, self._read)

    @property
    def is_reading(self) -> bool:
        return self._pause.isActive() or self._reading is not None

    def show(self, wanted: Previewed | None) -> None:
        """Read this after a short pause, unless it was read already; None: there is nothing."""
        if wanted == self._wanted:
            return
        self._wanted = wanted
        self.found = self.problem = None
        if self._reading is not None:
            self._reading.cancel()
        self._pause.start()
        self.changed.emit()

    def _read(self) -> None:
        wanted = self._wanted
        if wanted is None:
            self.changed.emit()
            return
        self._reading = background.run(
            self,
            lambda: preview(wanted.folder, wanted.vocabulary, wanted.task),
            self._on_read,
            self._on_failed,
        )

    def _on_read(self, found: Preview) -> None:
        self._reading, self.found = None, found
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self._reading = None
        if isinstance(error, StudioError):
            self.problem = error
        else:
            self._notices.show(error)
        self.changed.emit()
