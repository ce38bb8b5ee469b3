"""Controls in rows, as many in a row as fit."""

from PySide6.QtWidgets import QSizePolicy, QWidget

from app.theme import SPACE
from app.widgets import layouts


class WrapArea(QWidget):
    """Keeps parts in order, each at its preferred width, in as many rows as necessary.

    Hidden parts take no space. `gap` is the distance between parts in px.
    """

    def __init__(self, gap: int = 4 * SPACE) -> None:
        super().__init__()
        self._row = layouts.wrap(parent=self, spacing=gap)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def add(self, *widgets: QWidget) -> QWidget:
        """Add widgets that stay together; returns the part that holds them."""
        part = QWidget()
        layouts.row(*widgets, parent=part, spacing=SPACE)
        self._row.addWidget(part)
        return part
