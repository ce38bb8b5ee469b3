"""A new version of the chosen data set, made off the window's thread. No widgets."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, Signal

from app import background
from app.library import DataEntry, datasets
from app.pages.train.fixes import Edit
from app.studio import Studio
from engine.data.datasets.deriving import derive
from engine.errors import StudioError
from engine.files.home import Home, free_folder

translate = QCoreApplication.translate


class Editing(QObject):
    """Makes one version at a time.

    Signals:
        ended: it is made, or could not be.
    """

    ended = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.is_busy = False

    def start(self, folder: Path, edit: Edit, done: Callable[[DataEntry], None]) -> None:
        """Make the version; `done` gets it. What goes wrong is shown as a notice."""
        if self.is_busy:
            return
        self.is_busy = True
        home = self._studio.home

        def made(entry: DataEntry) -> None:
            self.is_busy = False
            done(entry)
            self._studio.datasets_changed.emit()
            self.ended.emit()

        def failed(error: BaseException) -> None:
            self.is_busy = False
            self._studio.notices.show(error)
            self.ended.emit()

        background.run(self, lambda: _new_version(home, folder, edit), made, failed)


def _new_version(home: Home, folder: Path, edit: Edit) -> DataEntry:
    """The version after the newest of the data set.

    Raises StudioError where the data set cannot be read.
    """
    known = datasets(home)
    old = next((entry for entry in known if entry.folder == folder), None)
    if old is None or old.spec is None:
        raise StudioError(
            translate("Train", "The data set no longer exists."),
            translate("Train", "Choose another one, or import it again."),
        )
    versions = [one.version for one in known if one.folder.parent == folder.parent]
    version = max(versions) + 1
    into = free_folder(folder.parent, str(version))
    derive(folder, into, version, edit.mapping, edit.cleaning)
    return next(entry for entry in datasets(home) if entry.folder == into)
