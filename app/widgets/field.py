"""What all controls of a form have in common."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.theme import SPACE
from app.widgets import layouts


class Field(QWidget):
    """The control of one field: `get`, `put`, and `changed` when the user changes it."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.row = layouts.row(parent=self, spacing=2 * SPACE)

    def get(self) -> object:
        raise NotImplementedError

    def put(self, value: object) -> None:
        raise NotImplementedError

    def controls(self) -> list[QWidget]:
        """What takes the focus and needs a name."""
        raise NotImplementedError
