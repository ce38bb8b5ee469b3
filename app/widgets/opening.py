"""Open files and folders with the programs of the desktop, and notices that offer it."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QWidget

from app.notices import Notices
from app.translation import tr


def open_path(path: Path) -> None:
    """Open a file with the program of the desktop for its kind, a folder in its file manager."""
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


def open_address(address: str) -> None:
    """Open an address in the browser of the desktop."""
    QDesktopServices.openUrl(QUrl(address))


def notify_saved(notices: Notices, path: Path) -> None:
    """Show a notice that a file was written, with a button that shows its folder."""
    text = tr("Saved as {0}.").format(path)
    notices.info(text, tr("Show in folder"), partial(open_path, path.parent))


def find_notices(widget: QWidget) -> Notices | None:
    """The notices of the window that has a widget, or that owns its dialog."""
    owner: QWidget | None = widget
    while owner is not None:
        if isinstance(found := getattr(owner, "notices", None), Notices):
            return found
        owner = owner.parentWidget()
    return None
