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
    """The label column, hidden unless the data set has others. `picked`: the column chosen."""

    picked = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        title = Text(self.tr("&Label column"), "muted")
        self.box = ComboBox(self.tr("Label column"), CHARACTERS)
        title.setBuddy(self.box)
        layouts.row(title, self.box, layouts.STRETCH, parent=self, spacing=2 * SPACE)
        self.box.activated.connect(lambda _: self.picked.emit(self.box.currentData()))
        self.hide()

    def show_spec(self, spec: DatasetSpec | None) -> None:
        """Show the columns to choose from, in the order of the file."""
        targets = () if spec is None else spec.targets
        current = None if spec is None else spec.mapping.label
        names = [n for n in spec.columns if n == current or n in targets] if spec else []
        if names != [self.box.itemData(index) for index in range(self.box.count())]:
            self.box.clear()
            for name in names:
                self.box.addItem(name[:100], name)
        self.box.setCurrentIndex(self.box.findData(current))
        set_shown(self, bool(targets))
