"""Names and values in two columns."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from app.theme import SPACE, px
from app.widgets import layouts
from app.widgets.text.labels import Text, TextStyle


class Facts(QWidget):
    """A list of facts; each value can be selected and wraps."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(name)
        self.values: dict[str, Text] = {}
        self._grid = layouts.grid(parent=self, h_spacing=4 * SPACE, v_spacing=SPACE, stretch=1)

    def show_facts(self, facts: Sequence[tuple[str, str] | tuple[str, str, TextStyle]]) -> None:
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self.values = {}
        for row, (name, value, *style) in enumerate(facts):
            label = Text(name, "muted", wraps=False)
            shown = Text(value, style[0] if style else "body", selectable=True)
            shown.setAccessibleName(f"{name}: {value}"[:300])
            shown.setMinimumWidth(px(20 * SPACE))
            self._grid.addWidget(label, row, 0, Qt.AlignmentFlag.AlignTop)
            self._grid.addWidget(shown, row, 1)
            self.values[name] = shown
