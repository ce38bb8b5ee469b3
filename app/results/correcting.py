"""The question for the correct label of rows."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QWidget

from app.results.corrections import StoredRows
from app.theme import px
from app.translation import tr
from app.widgets.dialogs import Choice, confirm
from app.widgets.forms.controls import ComboBox
from app.widgets.text.labels import one_line

MAX_LIST_HEIGHT = 280  # px


def ask_for_label(
    owner: QWidget,
    stored: StoredRows,
    rows: int,
    predicted: Sequence[str],
    correct: Callable[[Sequence[str]], object],
) -> None:
    """Ask for the label of some rows, or for several, and pass them to `correct`.

    The predicted ones are proposed.
    """
    template = tr("The label of %Ln row(s) changes in version {0} of “{1}”, as an edit.", rows)
    text = template.format(stored.folder.name, stored.spec.name)
    title, choice = tr("Correct label"), Choice("correct", tr("Correct"), "primary")
    if stored.has_sets:
        boxes = _checklist(stored.labels, predicted)
        confirm(owner, title, text, choice, lambda: correct(_checked(boxes)), [boxes])
        return
    box = ComboBox(tr("Label"))
    box.setEditable(True)
    box.addItems(list(stored.labels))
    box.setCurrentText(predicted[0] if predicted else "")

    def answered() -> None:
        if label := box.currentText().strip():
            correct([label])

    confirm(owner, title, text, choice, answered, [box])


def _checklist(labels: Sequence[str], chosen: Sequence[str]) -> QListWidget:
    boxes = QListWidget()
    boxes.setAccessibleName(tr("Labels"))
    boxes.setMaximumHeight(px(MAX_LIST_HEIGHT))
    for label in labels:
        item = QListWidgetItem(one_line(label), boxes)
        item.setData(Qt.ItemDataRole.UserRole, label)
        state = Qt.CheckState.Checked if label in chosen else Qt.CheckState.Unchecked
        item.setCheckState(state)
    return boxes


def _checked(boxes: QListWidget) -> list[str]:
    items = [boxes.item(row) for row in range(boxes.count())]
    checked = [item for item in items if item.checkState() == Qt.CheckState.Checked]
    return [str(item.data(Qt.ItemDataRole.UserRole)) for item in checked]
