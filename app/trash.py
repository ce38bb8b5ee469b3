"""Deletion with undo, through the system's trash."""

import os
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QFile, QObject, QStandardPaths

from app import background
from app.notices import Notices
from app.translation import tr
from engine.errors import StudioError
from engine.phrases import phrase


def move_to_trash(folder: Path) -> Path:
    """Move a folder to the trash and return its new path. Call it outside the GUI thread.

    Raises StudioError if the system has no trash for this disk; the folder stays untouched.
    """
    data = QStandardPaths.writableLocation(QStandardPaths.StandardLocation.GenericDataLocation)
    # parent of the trash on Linux desktops
    Path(data).mkdir(mode=0o700, parents=True, exist_ok=True)
    file = QFile(str(folder))
    if not file.moveToTrash():
        raise StudioError(
            phrase("{folder} could not be moved to the system trash.", folder=folder.name),
            phrase(
                "To remove it permanently, delete this folder yourself: {folder}.", folder=folder
            ),
        )
    return Path(file.fileName())


def delete(
    owner: QObject, notices: Notices, folder: Path, sentence: str, on_change: Callable[[], None]
) -> None:
    """Move a folder to the trash, and show a notice that offers to undo it.

    `on_change` is called after the deletion, and after an undo.
    """

    def restore(trashed: Path) -> None:
        background.run(
            owner, lambda: restore_from_trash(trashed, folder), lambda _: on_change(), notices.show
        )

    def removed(trashed: Path) -> None:
        on_change()
        notices.info(sentence, tr("Undo"), lambda: restore(trashed))

    background.run(owner, lambda: move_to_trash(folder), removed, notices.show)


def restore_from_trash(trashed: Path, folder: Path) -> None:
    """Undo `move_to_trash`.

    Raises StudioError if it is no longer in the trash or its old path is occupied.
    """
    if folder.exists():
        raise StudioError(
            "Another folder now exists at {folder}.",
            "Move it elsewhere and try again.",
            folder=folder,
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        os.rename(trashed, folder)
    except OSError as error:
        raise StudioError(
            "{folder} could not be restored from the trash.",
            "It was at {place}.",
            folder=folder.name,
            place=trashed,
        ) from error
    # desktops describe each item of the trash in a file
    info_file = trashed.parent.parent / "info" / f"{trashed.name}.trashinfo"
    info_file.unlink(missing_ok=True)
