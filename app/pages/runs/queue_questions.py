"""What is asked of the user about the queue: its order, and after which run others start."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractItemView, QListWidget, QListWidgetItem, QWidget

from app.pages.runs.queue_order import in_order
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.translation import tr
from app.widgets.dialogs import Choice, ask
from app.widgets.forms.controls import ComboBox
from app.widgets.text.labels import visible

RUN = Qt.ItemDataRole.UserRole
LIST_HEIGHT = 260  # px
MOST_RUNS = 500  # offered in a list


class QueueList(QListWidget):
    """The runs that wait, in their order, which is changed by dragging and by Ctrl+Up and Down."""

    def __init__(self, rows: Sequence[RunRow]) -> None:
        super().__init__()
        self.setAccessibleName(tr("Order of the queue"))
        self.setAccessibleDescription(tr("Ctrl+Up and Ctrl+Down move a run."))
        self.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.setDefaultDropAction(Qt.DropAction.MoveAction)
        self.setMinimumHeight(LIST_HEIGHT)
        for row in rows:
            item = QListWidgetItem(visible(row.name))
            item.setData(RUN, row.id)
            self.addItem(item)
        self.setCurrentRow(0)

    def ids(self) -> list[str]:
        """The ids of the runs in their order."""
        return [str(self.item(place).data(RUN)) for place in range(self.count())]

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
        step = steps.get(Qt.Key(event.key()), 0)
        if not step or not event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().keyPressEvent(event)
            return
        place = self.currentRow()
        target = place + step
        if place >= 0 and 0 <= target < self.count():
            self.insertItem(target, self.takeItem(place))
            self.setCurrentRow(target)


def ask_order(owner: QWidget, runs: RunsState) -> None:
    """Let the user put the queue in another order."""
    queue = QueueList(in_order(runs.rows.values()))
    ask(
        owner,
        tr("Order of the queue"),
        tr("Drag the runs, or move them with Ctrl+Up and Ctrl+Down. The first one starts next."),
        [Choice("save", tr("&Save"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda key: runs.order(queue.ids()) if key == "save" else None,
        [queue],
    )


def ask_after(owner: QWidget, runs: RunsState, rows: Sequence[RunRow]) -> None:
    """Ask after which run these runs start."""
    chosen = {row.id for row in rows}
    others = [row for row in runs.rows.values() if row.is_active and row.id not in chosen]
    box = ComboBox()
    box.setAccessibleName(tr("Start after"))
    box.addItem(tr("Any time (no other run)"), "")
    for row in others[:MOST_RUNS]:
        box.addItem(visible(row.name), row.id)
    box.setCurrentIndex(1 if box.count() > 1 else 0)
    name = f"“{rows[0].name}”" if len(rows) == 1 else tr("%Ln run(s)", len(rows))
    ids = [row.id for row in rows]
    ask(
        owner,
        tr("Start {0} after…").format(name),
        tr("It starts when that run has finished. If that run fails, it is put on hold."),
        [Choice("save", tr("&Save"), "primary"), Choice("cancel", tr("&Cancel"))],
        lambda key: runs.start_after(ids, str(box.currentData())) if key == "save" else None,
        [box],
    )
