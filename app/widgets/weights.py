"""A number for each of some names, such as the weights of classes."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QWidget

from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.combo_box import ComboBox
from app.widgets.field import Field
from app.widgets.number_field import NumberField

USUAL = 2.0  # of a name that was just added
LISTED_NAMES = 1_000  # names to choose from


class Weights(Field):
    """A row for each name that has a number of its own; others are added from a list of names."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self._names: tuple[str, ...] = ()
        self.rows: list[_Row] = []
        self._column = layouts.column(spacing=SPACE)
        self.add = buttons.quiet(self.tr("Add a weight"), self._on_add, "plus")
        self.add.setAccessibleName(self.tr("Add to: {0}").format(title))
        self._column.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
        self.row.addLayout(self._column)

    def set_names(self, names: Sequence[str]) -> None:
        """The names to choose from."""
        names = tuple(names[:LISTED_NAMES])
        if names != self._names:
            self._names = names
            for row in self.rows:
                row.set_names(names)

    def get(self) -> object:
        return {row.name.currentText(): row.number_or_text() for row in self.rows}

    def put(self, value: object) -> None:
        assert isinstance(value, dict)
        if value == self.get() and len(value) == len(self.rows):
            return
        while self.rows:
            self._drop(self.rows[-1])
        for name, number in value.items():
            self._append(name, number)

    def controls(self) -> list[QWidget]:
        return [self.add]

    def _append(self, name: str, number: float) -> "_Row":
        row = _Row(name, number, self._names, self._title)
        row.name.currentTextChanged.connect(lambda _: self.changed.emit())
        row.number.changed.connect(self.changed)
        row.remove.clicked.connect(lambda: self._on_remove(row))
        self._column.insertWidget(len(self.rows), row)
        self.rows.append(row)
        return row

    def _drop(self, row: "_Row") -> None:
        self.rows.remove(row)
        self._column.removeWidget(row)
        row.hide()
        row.deleteLater()

    def _on_add(self) -> None:
        used = {row.name.currentText() for row in self.rows}
        free = next((name for name in self._names if name not in used), "")
        self._append(free, USUAL).name.setFocus()
        self.changed.emit()

    def _on_remove(self, row: "_Row") -> None:
        self._drop(row)
        self.add.setFocus()
        self.changed.emit()


class _Row(QWidget):
    """A name, its number, and a button that takes both away."""

    def __init__(self, name: str, number: float, names: Sequence[str], title: str) -> None:
        super().__init__()
        line = layouts.row(parent=self, spacing=2 * SPACE)
        self.name = ComboBox()
        self.name.setEditable(True)
        self.name.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.name.setMinimumWidth(55 * SPACE)
        self.name.setAccessibleName(self.tr("Label, for: {0}").format(title))
        self.set_names(names)
        self.name.setCurrentText(name)
        self.number = NumberField(number, 0.5, False, 0.0)
        self.number.setAccessibleName(self.tr("Weight, for: {0}").format(title))
        self.remove = buttons.icon_button("x", self.tr("Remove this weight"))
        for part in (self.name, self.number, self.remove):
            line.addWidget(part)

    def set_names(self, names: Sequence[str]) -> None:
        """The names to choose from; the one that is there stays."""
        present = self.name.currentText()
        self.name.blockSignals(True)
        self.name.clear()
        self.name.addItems(list(names))
        self.name.setCurrentText(present)
        self.name.blockSignals(False)

    def number_or_text(self) -> object:
        """The number; where there is none, what was typed."""
        number = self.number.number()
        return self.number.text() if number is None else number
