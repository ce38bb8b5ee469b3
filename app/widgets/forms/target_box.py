"""Choice among the columns of a data set that a task can learn."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.theme import SPACE
from app.widgets import layouts
from app.widgets.forms.controls import ComboBox
from app.widgets.screen import set_shown
from app.widgets.text.labels import Text
from engine.config.dataset import DatasetSpec

CHARACTERS = 14  # width of the box


class TargetBox(QWidget):
    """The column of labels, hidden unless a data set has several.

    Signals:
        picked: another column, or None for that of the import.
    """

    picked = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        title = Text(self.tr("Label &column"), "muted")
        self.box = ComboBox(self.tr("Label column"), CHARACTERS)
        title.setBuddy(self.box)
        layouts.row(title, self.box, layouts.STRETCH, parent=self, spacing=2 * SPACE)
        self.box.activated.connect(lambda _: self.picked.emit(self.box.currentData()))
        self.hide()

    def show_spec(self, spec: DatasetSpec | None, target: str | None = None) -> None:
        """Show the label of the import and the other columns in the order of the file."""
        mapping, items = spec.mapping if spec else None, list[tuple[str, str | None]]()
        if spec is not None and mapping is not None and spec.targets:
            own = self.tr("yes/no columns") if mapping.flags else self.tr("none")
            items = [(spec.coded_column or own, None)]
            items += [(name, name) for name in spec.columns if name in spec.targets]
        if items != [(self.box.itemText(n), self.box.itemData(n)) for n in range(self.box.count())]:
            self.box.clear()
            for text, column in items:
                self.box.addItem(text[:100], column)
        self.box.setCurrentIndex([column for _, column in items].index(target) if items else -1)
        set_shown(self, bool(items))
