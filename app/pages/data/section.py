"""A group of controls at the side of rows."""

from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from app.theme import SPACE
from app.widgets import layouts
from app.widgets.text.labels import Text, tooltip


class Section(QWidget):
    """One group of controls at the side of the rows."""

    def __init__(self, title: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.note = Text("", "small")
        self.note.hide()
        self._grid = layouts.grid(h_spacing=3 * SPACE, v_spacing=2 * SPACE, stretch=1)
        self._grid.setColumnMinimumWidth(0, 28 * SPACE)
        self._labels: dict[QWidget, Text | None] = {}
        heading = [Text(title, "heading")] if title else []
        layouts.column(*heading, self._grid, self.note, parent=self, spacing=2 * SPACE)

    def add(self, name: str, control: QWidget, help_text: str = "") -> None:
        """Add a row; `name` may be untrusted text and is shown literally."""
        row = self._grid.rowCount()
        self._grid.addWidget(self._label(name, control), row, 0)
        self._grid.addWidget(control, row, 1)
        self._describe(name, control, help_text)

    def add_below(self, name: str, control: QWidget) -> None:
        """Add a row whose control has the full width below its label."""
        row = self._grid.rowCount()
        self._grid.addWidget(self._label(name, control), row, 0, 1, 2)
        self._grid.addWidget(control, row + 1, 0, 1, 2)
        self._describe(name, control, "")

    def _label(self, name: str, control: QWidget) -> Text:
        label = Text(name, "muted")
        label.setBuddy(control)
        self._labels[control] = label
        if isinstance(control, QComboBox):  # it may be narrower than its longest item
            policy = QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
            control.setSizeAdjustPolicy(policy)
            control.setMinimumContentsLength(6)
        return label

    def add_box(self, name: str, box: QCheckBox, help_text: str = "") -> None:
        """Add a checkbox with its own text."""
        box.setText(name)
        self._grid.addWidget(box, self._grid.rowCount(), 0, 1, 2)
        self._describe(name.replace("&", ""), box, help_text)
        self._labels[box] = None

    def show_row(self, control: QWidget, visible: bool) -> None:
        for part in (control, self._labels[control]):
            if part is not None:
                part.setVisible(visible)

    def show_note(self, text: str) -> None:
        self.note.setText(text)
        self.note.setVisible(bool(text))

    def clear(self) -> None:
        """Remove all rows."""
        for row in self._labels.items():
            for widget in row:
                if widget is not None:
                    self._grid.removeWidget(widget)
                    widget.hide()
                    widget.deleteLater()
        self._labels = {}

    def _describe(self, name: str, control: QWidget, help_text: str) -> None:
        control.setAccessibleName(name)
        if help_text:
            control.setAccessibleDescription(help_text)
            control.setToolTip(tooltip(help_text))


def box_index(column: str | None, columns: tuple[str, ...]) -> int:
    """Index of a column in a box whose first item is “none”."""
    return 0 if column is None or column not in columns else columns.index(column) + 1
