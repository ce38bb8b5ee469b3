"""Data sets and models that the wizard offers, and new versions of a data set. No widgets."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.library import DataEntry, ModelEntry, datasets
from app.pages.train.obstacles import Edit
from app.studio import Studio
from app.translation import tr
from engine.data.datasets.deriving import derive
from engine.errors import StudioError
from engine.files.home import Home, free_folder


class Lists(QObject):
    """The data sets and models of the home.

    Signals:
        changed: `datasets` or `models` changed.
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
        """Read both off the GUI thread."""
        if self._reading is not None:
            self._reading.cancel()
        studio = self._studio
        self._reading = background.run(
            self, lambda: (studio.datasets(), studio.models()), self._on_read
        )

    @property
    def usable_models(self) -> list[ModelEntry]:
        return [entry for entry in self.models or () if entry.info is not None]

    def when_read(self, act: Callable[[], None]) -> None:
        """Call `act` after the lists have been read again."""
        self._waiting.append(act)
        self.read()

    def _on_read(self, lists: tuple[list[DataEntry], list[ModelEntry]]) -> None:
        self._reading = None
        if lists != (self.datasets, self.models):
            self.datasets, self.models = lists
            self.changed.emit()
        waiting, self._waiting = self._waiting, []
        for act in waiting:
            act()


class VersionMaker(QObject):
    """Makes new versions of data sets, one at a time.

    Signals:
        ended: the version is made, or failed.
    """

    ended = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.is_busy = False

    def make(self, folder: Path, edit: Edit, done: Callable[[DataEntry], None]) -> None:
        """Make the version and pass it to `done`; an error is shown as a notice."""
        if self.is_busy:
            return
        self.is_busy = True
        home = self._studio.home

        def finish(entry: DataEntry) -> None:
            self.is_busy = False
            done(entry)
            self._studio.datasets_changed.emit()
            self.ended.emit()

        def fail(error: BaseException) -> None:
            self.is_busy = False
            self._studio.notices.show(error)
            self.ended.emit()

        background.run(self, lambda: _new_version(home, folder, edit), finish, fail)


def _new_version(home: Home, folder: Path, edit: Edit) -> DataEntry:
    known = datasets(home)
    old = next((entry for entry in known if entry.folder == folder), None)
    if old is None or old.spec is None:
        raise StudioError(
            tr("The data set no longer exists."),
            tr("Choose another one, or import it again."),
        )
    versions = [entry.version for entry in known if entry.folder.parent == folder.parent]
    version = max(versions) + 1
    into = free_folder(folder.parent, str(version))
    derive(folder, into, version, edit.mapping, edit.cleaning)
    return next(entry for entry in datasets(home) if entry.folder == into)
