"""Deleting that can be undone: what goes lies in the system's trash until the user empties it."""

import os
from pathlib import Path

from PySide6.QtCore import QFile, QStandardPaths

from engine.errors import StudioError
from engine.phrases import phrase


def move_to_trash(folder: Path) -> Path:
    """Move a folder there and say where it lies now; not for the window's thread.

    Raises StudioError where the system has no trash for this disk; the folder is then untouched.
    """
    data = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation)
    Path(data).mkdir(mode=0o700, parents=True, exist_ok=True)  # where desktops keep their trash
    file = QFile(str(folder))
    if not file.moveToTrash():
        raise StudioError(
            phrase("{folder} could not be moved to the system trash.", folder=folder.name),
            phrase(
                "To remove it permanently, delete this folder yourself: {folder}.", folder=folder
            ),
        )
    return Path(file.fileName())


def bring_back(place: Path, folder: Path) -> None:
    """Undo `move_to_trash`.

    Raises StudioError where it is gone from the trash, or its old place is taken.
    """
    if folder.exists():
        raise StudioError(
            phrase("Another folder now exists at {folder}.", folder=folder),
            phrase("Move it elsewhere and try again."),
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.rename(place, folder)
    except OSError as error:
        raise StudioError(
            phrase("{folder} could not be restored from the trash.", folder=folder.name),
            phrase("It was at {place}.", place=place),
        ) from error
    # a desktop's trash keeps a note beside each thing that lies in it
    note = place.parent.parent / "info" / f"{place.name}.trashinfo"
    note.unlink(missing_ok=True)
