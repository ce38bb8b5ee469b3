"""The question where a file is to be saved, in one of several forms."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QWidget


def ask_where(
    owner: QWidget, title: str, name: str, suffixes: Sequence[str], save: Callable[[Path], object]
) -> None:
    """Ask for a file without stopping the program, and give it to `save`.

    `suffixes` are those of the forms, as in “.csv”; the one that is chosen is also the end of the
    name. The first one is the usual.
    """
    dialog = QFileDialog(owner.window(), title, name)
    dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setDefaultSuffix(suffixes[0].removeprefix("."))
    dialog.setNameFilters([f"{end.removeprefix('.').upper()} (*{end})" for end in suffixes])
    dialog.filterSelected.connect(
        lambda chosen: dialog.setDefaultSuffix(chosen.rpartition("*.")[2].removesuffix(")"))
    )
    dialog.fileSelected.connect(lambda path: save(Path(path)))
    dialog.open()
