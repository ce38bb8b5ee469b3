"""Files with their sizes, before they are fetched or sent."""

from collections.abc import Sequence

from PySide6.QtWidgets import QPlainTextEdit

from app.resources import mono_font
from app.theme import SPACE
from app.widgets import numbers
from engine.messages.hub import HubFile

MOST_FILES = 200  # that a list names


def list_of(files: Sequence[HubFile], name: str) -> QPlainTextEdit:
    """A list that can be read and copied; `name` is for a screen reader."""
    shown = QPlainTextEdit()
    shown.setReadOnly(True)
    shown.setAccessibleName(name)
    shown.setFont(mono_font())
    shown.setTabChangesFocus(True)
    shown.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
    lines = [f"{numbers.size(file.bytes):>10}  {file.name}" for file in files[:MOST_FILES]]
    shown.setPlainText("\n".join(lines))
    shown.setFixedHeight(min(len(lines), 9) * 5 * SPACE + 6 * SPACE)
    return shown
